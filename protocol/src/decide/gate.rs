//! What holds a run back: asked before an intent is written, and before each create is sent. Between them these make
//! every run. A number that is given up for the next asks nothing: the create that met it has asked.

use std::time::Duration;

use cartouche_crds::Breaker;
use k8s_openapi::jiff::Timestamp;

use crate::{
    diagnosis::Diagnosis,
    facts::{Facts, Rendering},
    ledger::{Ledger, Pace, SLOW_INTERVAL},
    reconcile_error::{Category, ReconcileError, Requeue},
};

/// What is about to begin.
#[derive(Clone, Copy, Debug)]
pub(super) enum Beginning<'a> {
    /// A number for something new: a change, a request, or a run that somebody deleted before it had ended.
    Number(&'a Rendering, &'a Ledger),
    /// A further attempt at what failed. Its limit bounds it, so that it neither counts as a run that nobody
    /// asked for nor waits for those.
    Attempt(&'a Ledger),
    /// The create of an entry that has its number.
    Create,
}

/// What is to be counted with the intent, if nothing holds it back; else what does.
pub(super) fn open(
    facts: &Facts,
    beginning: Beginning<'_>,
) -> Result<Option<Breaker>, ReconcileError> {
    if facts.runnable.suspended {
        return Err(suspended());
    }
    match beginning {
        Beginning::Number(rendering, ledger) => slowed(facts, rendering, ledger),
        Beginning::Attempt(ledger) => Ok(ledger.breaker.clone()),
        Beginning::Create => Ok(None),
    }
}

fn suspended() -> ReconcileError {
    ReconcileError::caused(
        Category::Suspended,
        Requeue::OnChange,
        Diagnosis::Suspended,
        None,
    )
}

fn slowed(
    facts: &Facts,
    rendering: &Rendering,
    ledger: &Ledger,
) -> Result<Option<Breaker>, ReconcileError> {
    let current = ledger.current.as_ref();
    let last =
        current.and_then(|current| current.intent_at.as_ref().or(current.started_at.as_ref()));
    let last = last.map(|at| at.0);
    let (breaker, cause) = (ledger.breaker.as_ref(), &rendering.cause);
    match facts.limits.pace(breaker, cause, last, facts.now) {
        Pace::Go(breaker) => Ok(breaker),
        Pace::Slow { until, runs } => Err(runaway(facts, runs, until)),
    }
}

fn runaway(facts: &Facts, runs: i64, until: Timestamp) -> ReconcileError {
    let wait = facts.now.map_or(Duration::from_secs(1), |now| {
        until.duration_since(now).unsigned_abs()
    });
    let cause = Diagnosis::Runaway {
        runs,
        until: until.to_string(),
        minutes: SLOW_INTERVAL.as_mins(),
    };
    ReconcileError::caused(Category::RunawayDetected, Requeue::After(wait), cause, None)
}
