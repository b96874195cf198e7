//! A stored status, edited as no controller would.

use cartouche_crds::RunnableStatus;
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use serde_json::Value;

/// Fields that only Cartouche keeps in a status.
pub const LEDGER: [&str; 5] = [
    "currentRun",
    "outputsFrom",
    "unfinishedRuns",
    "history",
    "breaker",
];

/// Removes the ledger from a status: the original's has none.
pub fn without_ledger(status: &mut Value) {
    if let Value::Object(fields) = status {
        for ours in LEDGER {
            fields.remove(ours);
        }
    }
}

/// Returns a status after an edit.
///
/// # Errors
///
/// If the value is no status.
pub fn edited(status: Value, edit: impl FnOnce(&mut RunnableStatus)) -> serde_json::Result<Value> {
    let mut status: RunnableStatus = serde_json::from_value(status)?;
    edit(&mut status);
    serde_json::to_value(status)
}

/// Returns a status with all times set to the first day of the Unix epoch.
///
/// # Errors
///
/// If the value is no status.
pub fn aged(status: Value) -> serde_json::Result<Value> {
    let age = |time: &mut Option<Time>| *time = time.take().map(|_| Time(Timestamp::UNIX_EPOCH));
    edited(status, |status| {
        if let Some(run) = &mut status.current_run {
            let times = [
                &mut run.intent_at,
                &mut run.started_at,
                &mut run.finished_at,
            ];
            times.into_iter().for_each(age);
        }
        for run in status.history_mut() {
            let times = [
                &mut run.intent_at,
                &mut run.started_at,
                &mut run.finished_at,
            ];
            times.into_iter().for_each(age);
        }
    })
}
