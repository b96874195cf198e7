//! What may well come in a moment: a template, an account, a kind or an object of another delivery. Pure.

use std::time::Duration;

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::SignedDuration};

use super::{RECONCILING, STALLED, find};
use crate::{diagnosis::Diagnosis, facts::Facts, reconcile_error::ReconcileError};

/// So long is it waited for before a Runnable is Stalled, which tools take for a failure (kstatus: Failed).
const PATIENCE: SignedDuration = SignedDuration::from_mins(1);

/// How long what is missing is still waited for. `None` if it is not of that sort, or was waited for long enough.
#[must_use]
pub fn awaited_for(facts: &Facts, error: &ReconcileError) -> Option<Duration> {
    if !may_come(error) {
        return None;
    }
    let is_same = |condition: &&Condition| {
        condition.reason == error.category.as_str()
            && condition.observed_generation == Some(facts.runnable.generation)
    };
    if find(&facts.stored, STALLED).as_ref().is_some_and(is_same) {
        return None;
    }
    let since = find(&facts.stored, RECONCILING).filter(is_same);
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
