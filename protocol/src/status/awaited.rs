//! Objects that may well arrive in a moment: a template, an account, a kind or an object of another delivery, or an
//! image. Pure.

use std::time::Duration;

use cartouche_crds::conditions::{RECONCILING, STALLED, UNKNOWN, find};
use cartouche_engines::RunReason;
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::SignedDuration};

use crate::{
    facts::Facts,
    messages::{
        diagnosis::{Diagnosis, is_of_quota},
        reconcile_error::ReconcileError,
    },
};

/// Time for which a missing object is awaited before a Runnable is `Stalled`, which tools take for a failure
/// (kstatus: Failed).
const PATIENCE: SignedDuration = SignedDuration::from_mins(1);

/// Reason of `Reconciling` while an input is missing. `Ready` has the same reason while a source is at work, which
/// may take hours: the minute starts when that has ended.
const SOURCE_MISSING: &str = "SourceMissing";

/// Returns the reason of `Reconciling` for this error, if it differs from that of `Ready`.
pub(super) fn own_reason(error: &ReconcileError) -> Option<&'static str> {
    let is_missing = matches!(
        error.diagnosis.as_deref(),
        Some(Diagnosis::SourcesMissing(_))
    );
    is_missing.then_some(SOURCE_MISSING)
}

/// Returns the time for which the missing object is still awaited. `None` if the error has another cause, or the
/// wait was long enough.
#[must_use]
pub fn awaited_for(facts: &Facts, error: &ReconcileError) -> Option<Duration> {
    if !may_come(error) {
        return None;
    }
    let category = error.category.as_str();
    left(facts, own_reason(error).unwrap_or(category), category)
}

/// Returns the time for which the image of a run at work is still awaited, given the status and reason of `Ready`.
/// `None` if the run waits for no image, or has for long enough: its name may be misspelt.
#[must_use]
pub fn image_awaited_for(facts: &Facts, status: &str, reason: &str) -> Option<Duration> {
    let is_of_image = waits_for_image(status, reason);
    is_of_image.then(|| left(facts, reason, reason)).flatten()
}

/// Returns true for the status and reason of `Ready` while an image of the run cannot be pulled.
pub(super) fn waits_for_image(status: &str, reason: &str) -> bool {
    status == UNKNOWN && RunReason::parse(reason).is_some_and(RunReason::is_of_image)
}

/// Returns the rest of the minute since `Reconciling` has its reason. `None` once it is over, or once `Stalled` has
/// its own.
fn left(facts: &Facts, reconciling: &str, stalled: &str) -> Option<Duration> {
    let is_same = |condition: &&Condition, reason: &str| {
        condition.reason == reason
            && condition.observed_generation == Some(facts.runnable.generation)
    };
    if find(&facts.stored, STALLED).is_some_and(|it| is_same(&it, stalled)) {
        return None;
    }
    let since = find(&facts.stored, RECONCILING).filter(|it| is_same(it, reconciling));
    let waited = match (since, facts.now) {
        (Some(since), Some(now)) => now.duration_since(since.last_transition_time.0),
        _ => SignedDuration::ZERO,
    };
    let left = PATIENCE.checked_sub(waited)?;
    (left > SignedDuration::ZERO).then(|| left.unsigned_abs())
}

/// Returns true if another delivery may bring what is missing, such as a policy that admits the run, or a valid
/// template.
pub(super) fn may_come(error: &ReconcileError) -> bool {
    match error.diagnosis.as_deref() {
        // A quota has room again when runs end.
        Some(Diagnosis::NotAdmitted(why)) => !is_of_quota(why),
        Some(
            Diagnosis::TemplateMissing(_)
            | Diagnosis::AccountMissing(..)
            | Diagnosis::KindMissing(..)
            | Diagnosis::NothingSelected(..)
            | Diagnosis::SourcesMissing(_)
            | Diagnosis::Invalid { .. },
        ) => true,
        _ => false,
    }
}
