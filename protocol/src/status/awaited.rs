//! What may well come in a moment: a template, an account, a kind or an object of another delivery, or an image. Pure.

use std::time::Duration;

use cartouche_templating::RunReason;
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::SignedDuration};

use crate::{
    conditions::{RECONCILING, STALLED, UNKNOWN, find},
    diagnosis::{Diagnosis, is_of_quota},
    facts::Facts,
    reconcile_error::ReconcileError,
};

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
    left(facts, own_reason(error).unwrap_or(category), category)
}

/// How long the image of a run at work is still waited for whose `Ready` has this status and reason. `None` if it waits for no image, or
/// has for long enough: its name may be misspelt.
#[must_use]
pub fn image_awaited_for(facts: &Facts, status: &str, reason: &str) -> Option<Duration> {
    let is_of_image = waits_for_image(status, reason);
    is_of_image.then(|| left(facts, reason, reason)).flatten()
}

/// True of the status and the reason of `Ready` while an image of the run cannot be pulled.
pub(super) fn waits_for_image(status: &str, reason: &str) -> bool {
    status == UNKNOWN && RunReason::parse(reason).is_some_and(RunReason::is_of_image)
}

/// What is left of the minute since `Reconciling` has its reason. `None` once `Stalled` has the other one.
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

/// True if it is something that another delivery may bring, be it a policy that admits the run, or a template that is valid.
pub(super) fn may_come(error: &ReconcileError) -> bool {
    match error.diagnosis.as_deref() {
        // Room comes when runs end.
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
