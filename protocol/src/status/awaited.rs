//! What may well come in a moment: a template, an account, a kind or an object of another delivery. Pure.

use std::time::Duration;

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::SignedDuration};

use super::{RECONCILING, STALLED, find};
use crate::{diagnosis::Diagnosis, facts::Facts, reconcile_error::ReconcileError};

/// So long is it waited for before a Runnable is Stalled, which tools take for a failure (kstatus: Failed).
const PATIENCE: SignedDuration = SignedDuration::from_mins(1);

/// The reason of `Reconciling` while an input is not there. `Ready` has the same reason while a source is at work, which may take
/// hours: the minute begins when that has ended.
const SOURCE_MISSING: &str = "SourceMissing";

/// The reason of `Reconciling` for this, if it is another one than that of `Ready`.
pub(super) fn own_reason(error: &ReconcileError) -> Option<&'static str> {
    let is_missing = matches!(
        error.diagnosis.as_deref(),
        Some(Diagnosis::SourcesMissing(_))
    );
    is_missing.then_some(SOURCE_MISSING)
}

/// How long what is missing is still waited for. `None` if it is not of that sort, or was waited for long enough.
#[must_use]
pub fn awaited_for(facts: &Facts, error: &ReconcileError) -> Option<Duration> {
    if !may_come(error) {
        return None;
    }
    let category = error.category.as_str();
    let is_same = |condition: &&Condition, reason: &str| {
        condition.reason == reason
            && condition.observed_generation == Some(facts.runnable.generation)
    };
    let stalled = find(&facts.stored, STALLED);
    if stalled.is_some_and(|it| is_same(&it, category)) {
        return None;
    }
    let reason = own_reason(error).unwrap_or(category);
    let since = find(&facts.stored, RECONCILING).filter(|it| is_same(it, reason));
    let waited = match (since, facts.now) {
        (Some(since), Some(now)) => now.duration_since(since.last_transition_time.0),
        _ => SignedDuration::ZERO,
    };
    let left = PATIENCE.checked_sub(waited)?;
    (left > SignedDuration::ZERO).then(|| left.unsigned_abs())
}

/// Whether it is something that another delivery may bring.
pub(super) fn may_come(error: &ReconcileError) -> bool {
    matches!(
        error.diagnosis.as_deref(),
        Some(
            Diagnosis::TemplateMissing(_)
                | Diagnosis::AccountMissing(..)
                | Diagnosis::KindMissing(..)
                | Diagnosis::NothingSelected(..)
                | Diagnosis::SourcesMissing(_)
        )
    )
}
