//! Debounce: checks that what is rendered has stayed the same for long enough.

use super::Step;
use crate::{
    category::Category,
    facts::{Facts, Settling},
    messages::{
        diagnosis::Diagnosis,
        reconcile_error::{ReconcileError, Requeue},
    },
};

/// Returns `Ok` once what is rendered has stayed the same for long enough, or once changes were held
/// back for long enough. Otherwise returns the error that waits.
pub(super) fn check(facts: &Facts) -> Result<(), Step> {
    let Some(pause) = facts.policy.debounce else {
        return Ok(());
    };
    let pause = pause.unsigned_abs();
    let left = facts.settling.time_left(pause);
    if left.is_zero() {
        return Ok(());
    }
    let longest = Settling::longest(pause);
    Err(Step::Stuck(ReconcileError::from_diagnosis(
        Category::Debouncing,
        Requeue::After(left),
        Diagnosis::Debouncing { pause, longest },
        None,
    )))
}
