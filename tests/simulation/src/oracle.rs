//! The judge: reads what the API server's store went through, never the controller's own word.
//!
//! The rules are those of everybody, `cartouche-oracle`; what is here in addition is what only a world can tell
//! that knows of which inputs a run was made, and what the original did. Of the exceptions of
//! `docs/exactly-once.md`, people delete only runs that are confirmed and settled, so that I1 cannot occur, and
//! what they delete may be `Lost` but is then not asked for outputs (I2). Statuses are emptied and put back
//! at any moment (I3): what follows from that is excused by name, and counted, so that an excuse that is used
//! for everything is seen.

mod beginnings;
mod chain;
mod events;
mod history;
mod rest;
mod runs;
pub use runs::spared;
mod settled;
mod settling;
mod sinks;
mod stops;
mod waiting;

use std::time::Duration;

use cartouche_crds::{RUN_SEQUENCE_LABEL, RunnableStatus};
use serde_json::Value;

use crate::{
    plan::Plan,
    store::{Change, Happened, Store},
    strangers::STRANGER,
};

pub use cartouche_oracle::{Excuse, Verdict, Violation};
pub use chain::counts as of_chain;
pub use events::counts as of_events;
pub use settled::unsettled;
pub use sinks::counts as of_sinks;

/// What broke S1 to S5, or S7.
#[must_use]
pub fn forbidden(store: &Store, plan: &Plan) -> Verdict {
    let mut found = history::past(store, plan).verdict();
    if let Some(times) = found.excused.remove(&Excuse::DeletedUnrecorded) {
        found.broken("S1", format!("{times} runs were made again (I1)"));
    }
    runs::judge(store, plan, &mut found);
    chain::judge(store, plan, &mut found);
    beginnings::judge(store, &mut found);
    stops::judge(store, plan, &mut found);
    settling::judge(store, plan, &mut found);
    sinks::judge(store, plan, &mut found);
    events::judge(store, plan, &mut found);
    found
}

/// What was written where all had been at rest.
#[must_use]
pub fn restless(store: &Store, plan: &Plan, since: Duration) -> Verdict {
    let mut found = Verdict::default();
    rest::judge(store, plan, since, &mut found);
    sinks::restless(store, plan, since, &mut found);
    found
}

/// Whether a change made a run with a number. What a stranger made is none.
#[must_use]
pub fn makes_a_run(change: &Change) -> bool {
    change.happened == Happened::Created
        && change.key.resource.is_run()
        && change.actor != STRANGER
        && number(&change.object).is_some()
}

/// Whether a run has ended.
fn has_ended(run: &Value) -> bool {
    run.pointer("/status/conditions").is_some()
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
