//! The judge: reads what the API server's store went through, never the controller's own word.
//!
//! The names are those of `docs/exactly-once.md`. None of its exceptions can occur: users delete
//! only runs that are confirmed and settled (I1), what they delete may be `Lost` but is then not asked
//! for outputs (I2), and no status is restored (I3).

mod ledgers;
mod runs;
mod settled;

use cartouche_crds::{RUN_SEQUENCE_LABEL, RunnableStatus};
use serde_json::Value;

use crate::store::{Change, Happened, Store};

pub use settled::unsettled;

/// Something that must never happen, and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property.
    pub property: &'static str,
    /// What happened.
    pub what: String,
}

impl Violation {
    /// A violation of a property.
    #[must_use]
    pub fn new(property: &'static str, what: String) -> Self {
        Self { property, what }
    }
}

/// What broke S1 to S5.
#[must_use]
pub fn forbidden(store: &Store) -> Vec<Violation> {
    let mut found = runs::judged(store);
    found.extend(ledgers::judged(store));
    found
}

/// Whether a change made a run with a number.
#[must_use]
pub fn makes_a_run(change: &Change) -> bool {
    change.happened == Happened::Created
        && change.key.resource.is_run()
        && number(&change.object).is_some()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

fn owner(object: &Value) -> &str {
    text(object, "/metadata/ownerReferences/0/uid")
}

/// The sequence on the label of a run.
fn number(object: &Value) -> Option<i64> {
    object["metadata"]["labels"]
        .get(RUN_SEQUENCE_LABEL)?
        .as_str()?
        .parse()
        .ok()
}

fn input_hash(object: &Value) -> &str {
    object["metadata"]["annotations"]
        .get(cartouche_crds::INPUT_HASH_ANNOTATION)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The status of a Runnable.
fn status(object: &Value) -> RunnableStatus {
    object
        .get("status")
        .and_then(|status| serde_json::from_value(status.clone()).ok())
        .unwrap_or_default()
}
