//! Mistakes in retries and stops of runs.

use cartouche_crds::{CurrentRun, RunResult};
use cartouche_protocol::{
    decide::{Step, decide},
    facts::{Facts, NameRead},
    ledger::{Asked, Change, Ledger},
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::SignedDuration};

use super::{Mutant, makes};

/// Returns the step of the decision, changed by the mistakes.
pub(super) fn change_step(step: Step, facts: &Facts) -> Step {
    let step = if makes(Mutant::CancelledRetried) {
        decide(&without_marks(facts))
    } else {
        step
    };
    match step {
        Step::Write(ledger, Change::Intent) => intended(ledger, facts),
        Step::Write(ledger, Change::Stop) if makes(Mutant::StopUnwritten) => {
            unwritten(ledger, facts)
        }
        Step::Write(ledger, change @ (Change::Record | Change::Confirm)) => {
            recorded(ledger, change, facts)
        }
        Step::Settled | Step::Stuck(_) if makes(Mutant::StopEarly) => early(step, facts),
        step => step,
    }
}

/// Returns the facts without any request to stop a run.
fn without_marks(facts: &Facts) -> Facts {
    let mut facts = facts.clone();
    facts
        .cached_runs
        .iter_mut()
        .for_each(|run| run.asked = Asked::No);
    let listed = facts.listed.iter_mut().flatten();
    listed.for_each(|run| run.asked = Asked::No);
    for read in facts.reads.values_mut() {
        if let NameRead::Found(run) = read {
            run.asked = Asked::No;
        }
    }
    facts
}

fn intended(mut ledger: Box<Ledger>, facts: &Facts) -> Step {
    let before = facts.ledger.current.as_ref();
    let is_ahead = |run: &CurrentRun| {
        let at = run.retry_at.as_ref();
        at.is_some_and(|at| facts.now.is_some_and(|now| now < at.0))
    };
    if makes(Mutant::ChangeWaits) && before.is_some_and(is_ahead) {
        return Step::Settled;
    }
    if makes(Mutant::RetryUncounted)
        && let (Some(current), Some(before)) = (&mut ledger.current, before)
        && current.attempt == before.attempt + 1
    {
        current.attempt = before.attempt;
    }
    Step::Write(ledger, Change::Intent)
}

fn recorded(mut ledger: Box<Ledger>, change: Change, facts: &Facts) -> Step {
    let Some(current) = &mut ledger.current else {
        return Step::Write(ledger, change);
    };
    if makes(Mutant::RetryAtOnce) && current.retry_at.is_some() {
        current.retry_at = facts.now.map(Time);
    }
    let is_stopped = current.result == Some(RunResult::Failed) && current.stop.is_some();
    if makes(Mutant::StoppedMadeAgain) && is_stopped {
        let mut facts = facts.clone();
        if let Some(current) = &mut facts.ledger.current {
            current.stop = None;
        }
        // It is another step only if the run is gone.
        if let again @ (Step::RenderAgain | Step::Write(_, Change::Intent)) = decide(&facts) {
            return again;
        }
    }
    Step::Write(ledger, change)
}

/// Returns the request instead of the write; the write once that was sent.
fn unwritten(ledger: Box<Ledger>, facts: &Facts) -> Step {
    let mut written = facts.clone();
    written.ledger = (*ledger).clone();
    match decide(&written) {
        stop @ Step::Stop(_) => stop,
        _ => Step::Write(ledger, Change::Stop),
    }
}

/// Returns the step for a timeout of zero, if that is one of a stop.
fn early(step: Step, facts: &Facts) -> Step {
    let mut hasty = facts.clone();
    hasty.policy.timeout = facts.policy.timeout.map(|_| SignedDuration::ZERO);
    match decide(&hasty) {
        hasty @ (Step::RenderAgain | Step::ReadRun(_) | Step::Write(_, Change::Stop)) => hasty,
        _ => step,
    }
}
