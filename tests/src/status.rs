//! A stored status, edited as no controller would.

use cartouche_crds::RunnableStatus;
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use serde_json::Value;

/// What only Cartouche keeps in a status.
pub const LEDGER: [&str; 5] = [
    "currentRun",
    "outputsFrom",
    "unfinishedRuns",
    "history",
    "breaker",
];

/// A status after an edit of what it says.
///
/// # Panics
///
/// If it is none, or nothing that can be written.
#[must_use]
pub fn edited(status: Value, edit: impl FnOnce(&mut RunnableStatus)) -> Value {
    let status: Result<RunnableStatus, _> = serde_json::from_value(status);
    let mut status = status.unwrap_or_else(|error| panic!("reading a status: {error}"));
    edit(&mut status);
    serde_json::to_value(status).unwrap_or_else(|error| panic!("writing a status: {error}"))
}

/// A status that remembers everything as of long ago: of the first day of the Unix epoch.
#[must_use]
pub fn aged(status: Value) -> Value {
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
        for run in &mut status.history {
            let times = [
                &mut run.intent_at,
                &mut run.started_at,
                &mut run.finished_at,
            ];
            times.into_iter().for_each(age);
        }
    })
}
