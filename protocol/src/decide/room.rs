//! Checks that the status has room for a further run, and for all that it may yet bring. Pure.

use cartouche_crds::{MAX_STATUS_BYTES, StatusBytes, stored_bytes};
use serde_json::json;

use super::Step;
use crate::{
    category::Category,
    facts::Facts,
    ledger::Ledger,
    messages::{
        diagnosis::Diagnosis,
        reconcile_error::{ReconcileError, Requeue},
    },
    status::status,
};

/// Returns an error for a number whose status would leave no room for the run's confirmation,
/// result and outputs. The API server refuses an object that is too large, and a run whose end
/// cannot be written would be at work for ever.
pub(super) fn check_room(facts: &Facts, ledger: &Ledger) -> Result<(), Step> {
    let sources = facts.dependencies.of_intent();
    // They are stored beside the new entry, and then beside its outputs.
    let of_sources = sources.filter(|it| !it.is_empty()).map_or(0, |it| {
        2 * stored_bytes(json!(it.to_status()).to_string().as_bytes())
    });
    let next = status(facts, ledger, None);
    match next.bytes_above(MAX_STATUS_BYTES.saturating_sub(of_sources)) {
        Some(bytes) => Err(Step::Stuck(full(bytes))),
        None => Ok(()),
    }
}

fn full(bytes: StatusBytes) -> ReconcileError {
    let cause = Diagnosis::StatusFull(bytes);
    ReconcileError::from_diagnosis(Category::UnknownError, Requeue::Backoff, cause, None)
}
