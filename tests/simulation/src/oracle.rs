//! The judge: reads the history of the API server's store, never the controller's own reports.
//!
//! The rules are those of the oracle that all suites share, `cartouche-oracle`. This module adds the rules
//! that need the world's knowledge: the inputs of each run, and the actions of the original. Of the
//! exceptions of `docs/concepts/exactly-once.md`, users delete only runs that are confirmed and settled, so that I1
//! cannot occur. The runs that they delete may be `Lost` but then need no outputs (I2). Statuses are emptied
//! and restored at any moment (I3). The consequences are excused by name, and counted, so that an excuse for
//! everything shows.

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

/// Returns the breaches of S1 to S5, and of S7.
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

/// Returns the writes where all had been at rest.
#[must_use]
pub fn restless(store: &Store, plan: &Plan, since: Duration) -> Verdict {
    let mut found = Verdict::default();
    rest::judge(store, plan, since, &mut found);
    sinks::restless(store, plan, since, &mut found);
    found
}

/// Returns true if a change made a run with a number. An object of a stranger is no run.
#[must_use]
pub fn makes_a_run(change: &Change) -> bool {
    change.happened == Happened::Created
        && change.key.resource.is_run()
        && change.actor != STRANGER
        && number(&change.object).is_some()
}

/// Returns true if a run has ended.
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

/// Returns the sequence on the label of a run.
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

/// Returns the status of a Runnable.
fn status(object: &Value) -> RunnableStatus {
    object
        .get("status")
        .and_then(|status| serde_json::from_value(status.clone()).ok())
        .unwrap_or_default()
}
