//! The checks before an intent is written and before each create is sent. Every run passes both. A
//! number that is given up for the next is not checked: the create that met it was.

use std::time::Duration;

use cartouche_crds::{Breaker, ConcurrencyPolicy, CurrentRun, PinnedProfile, RunPhase};
use k8s_openapi::jiff::Timestamp;

use super::{
    Step, approval, debounce, overlap, permissions,
    profile::{self, Fitting},
};
use crate::{
    category::Category,
    facts::{Facts, Rendering},
    ledger::{Ledger, Pace, SLOW_INTERVAL},
    messages::{
        diagnosis::Diagnosis,
        reconcile_error::{ReconcileError, Requeue},
    },
};

/// The purpose of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Something new: a change, or a request.
    Run,
    /// A run that was deleted before it had ended. Its approval serves again, while the run is made
    /// of what was approved.
    Again,
    /// A further attempt at what failed. It has a limit of its own, so it neither counts as an
    /// unrequested run nor waits for those. Its approval serves again as well.
    Attempt,
}

/// The data of an intent that passed all checks.
pub(super) struct Passed {
    /// The state of the rate limit.
    pub breaker: Option<Breaker>,
    /// The profile of the run.
    pub profile: Option<PinnedProfile>,
    /// The hash that a person has approved, if it is not the input hash.
    pub approved: Option<String>,
}

/// Returns the data of the intent if nothing holds it back. Otherwise returns the error that does,
/// or the step that finds it out. An intent that waits for time or approval stops no run at work:
/// those are checked last.
pub(super) fn intent(
    facts: &Facts,
    rendering: &Rendering,
    ledger: &Ledger,
    beginning: Beginning,
) -> Result<Passed, Step> {
    defined(facts)?;
    resumed(facts)?;
    ready(facts)?;
    let Fitting { pinned, made } = profile::fitting(facts, rendering, ledger)?;
    let breaker = match beginning {
        Beginning::Run | Beginning::Again => {
            slowed(facts, rendering, ledger).map_err(Step::Stuck)?
        }
        Beginning::Attempt => ledger.breaker.clone(),
    };
    if beginning == Beginning::Run {
        debounce::check(facts)?;
    }
    let approved =
        approval::check_approval(facts, rendering, ledger, (pinned.as_ref(), beginning))?;
    // No run is stopped for one whose pods may not do their work. A run that only waits for its
    // turn makes no request meanwhile.
    if facts.policy.concurrency != ConcurrencyPolicy::Replace {
        overlap::over(facts, ledger)?;
    }
    permissions::check(facts, &made)?;
    overlap::over(facts, ledger)?;
    Ok(Passed {
        breaker,
        profile: pinned,
        approved,
    })
}

/// Checks the first run of a Runnable without any, as far as that is possible before runs are
/// listed.
pub(super) fn first(facts: &Facts, rendering: &Rendering) -> Result<(), Step> {
    defined(facts)?;
    resumed(facts)?;
    ready(facts)?;
    let next = profile::fitting(facts, rendering, &facts.ledger)?;
    debounce::check(facts)?;
    let next = (next.pinned.as_ref(), Beginning::Run);
    approval::check_approval(facts, rendering, &facts.ledger, next).map(drop)
}

/// Requires a consistent rendering, unless the caches show that the sources of the inputs hold the
/// run back, which costs no read. If the sources disagree on what this Runnable itself reads, only
/// a consistent read decides.
pub(super) fn consistent(facts: &Facts, rendering: &Rendering) -> Result<(), Step> {
    if rendering.consistent {
        return Ok(());
    }
    defined(facts)?;
    if !facts.runnable.suspended && !facts.dependencies.rests_on_own_reads {
        ready(facts)?;
    }
    Err(Step::RenderAgain)
}

/// Checks the create of an entry that has its number. What it is made of may differ by now from
/// what was approved. Unless the create directly follows its own intent, earlier runs may be at
/// work beside it: the policy may have changed since.
pub(super) fn create(
    facts: &Facts,
    rendering: &Rendering,
    current: &CurrentRun,
) -> Result<(), Step> {
    defined(facts)?;
    resumed(facts)?;
    approval::still_given(facts, rendering, current)?;
    if current.phase == RunPhase::Rejected || !facts.only_attempt {
        overlap::earlier_are_over(facts)?;
    }
    Ok(())
}

/// Rejects definitions of an older release, under which the API server may drop what is written
/// about a run, and fields of its spec.
fn defined(facts: &Facts) -> Result<(), Step> {
    let outdated = facts.definitions.clone();
    outdated.map_or(Ok(()), |error| Err(Step::Stuck(error)))
}

fn resumed(facts: &Facts) -> Result<(), Step> {
    if facts.runnable.suspended {
        return Err(Step::Stuck(suspended()));
    }
    Ok(())
}

/// Checks that the sources of the inputs have no pending change and agree on one revision.
/// Otherwise no approval is requested and no run is stopped for what derives from them.
fn ready(facts: &Facts) -> Result<(), Step> {
    let held = facts.dependencies.readiness.error();
    held.map_or(Ok(()), |error| Err(Step::Stuck(error)))
}

fn suspended() -> ReconcileError {
    ReconcileError::from_diagnosis(
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
    ReconcileError::from_diagnosis(Category::RunawayDetected, Requeue::After(wait), cause, None)
}
