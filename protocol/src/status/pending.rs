//! The run that is due and waits. Pure.

use cartouche_crds::PendingRun;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::{
    facts::Facts,
    ledger::Ledger,
    reconcile_error::{Category, ReconcileError},
};

/// What is due and waits, if it is a hold that somebody has asked for by a policy. A suspended Runnable shows by itself
/// that it waits.
pub(super) fn pending(
    facts: &Facts,
    ledger: &Ledger,
    error: &ReconcileError,
) -> Option<PendingRun> {
    if error.category != Category::RunAtWork {
        return None;
    }
    let rendering = facts.rendering.as_ref().ok()?;
    let (hash, reason) = (rendering.document.input_hash(), error.category.as_str());
    let before = facts.stored.pending.as_ref();
    let is_same = |before: &&PendingRun| before.reason == reason && before.input_hash == hash;
    let since = before.filter(is_same).map(|before| before.since.clone());
    Some(PendingRun {
        sequence: ledger.next_sequence(),
        input_hash: hash.to_owned(),
        reason: reason.to_owned(),
        since: since.or_else(|| facts.now.map(Time))?,
    })
}
