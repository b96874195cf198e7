//! Mistakes in retries.

use cartouche_crds::RunResult;
use cartouche_protocol::{
    facts::{CreateOutcome, Facts, NameRead},
    ledger::{Asked, Ledger},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::cast::NOW;

/// Plans a retry of any failure now.
pub(super) fn plan(facts: &mut Facts) {
    if let Some(current) = &mut facts.ledger.current
        && current.result == Some(RunResult::Failed)
    {
        current.retry_at = Some(Time(NOW));
    }
}

/// Ignores all cancellations.
pub(super) fn forget_cancels(facts: &mut Facts) {
    for cached_run in &mut facts.cached_runs {
        cached_run.asked = Asked::No;
    }
    for read in facts.reads.values_mut() {
        if let NameRead::Found(found) = read {
            found.asked = Asked::No;
        }
    }
    if let Some(CreateOutcome::Created(made) | CreateOutcome::MadeBefore(made)) = &mut facts.created
    {
        made.asked = Asked::No;
    }
}

/// Returns true if the next attempt is still to come.
pub(super) fn is_ahead(facts: &Facts) -> bool {
    let ahead = facts.policy.ahead(&facts.ledger);
    ahead.is_some_and(|ahead| ahead.at > NOW)
}

/// Gives a further attempt the number and the name of the previous one.
pub(super) fn keep_number(facts: &Facts, ledger: &mut Ledger) {
    if let (Some(before), Some(current)) = (&facts.ledger.current, &mut ledger.current)
        && current.attempt > before.attempt
    {
        let number = before.sequence;
        current.sequence = number;
        current.name.clone_from(&before.name);
        ledger
            .history_mut()
            .retain(|entry| entry.sequence != number);
    }
}
