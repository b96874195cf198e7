//! What holds a run back: asked before an intent is written, and before each create is sent. Between them these make
//! every run. A number that is given up for the next asks nothing: the create that met it has asked.

use std::time::Duration;

use cartouche_crds::{Breaker, ConcurrencyPolicy, CurrentRun, PinnedProfile, RunPhase};
use k8s_openapi::jiff::Timestamp;

use super::{
    Step, approval, debounce, overlap, permissions,
    profile::{self, Fitting},
};
use crate::{
    category::Category,
    diagnosis::Diagnosis,
    facts::{Facts, Rendering},
    ledger::{Ledger, Pace, SLOW_INTERVAL},
    reconcile_error::{ReconcileError, Requeue},
};

/// What a number is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Something new: a change, or a request.
    Run,
    /// What somebody deleted before it had ended. Its approval serves again, while the run is made of what was approved.
    Again,
    /// A further attempt at what failed. Its limit bounds it, so that it neither counts as a run that nobody
    /// asked for nor waits for those. Its approval serves again as well.
    Attempt,
}

/// What goes with an intent that nothing holds back.
pub(super) struct Passed {
    /// What is to be counted.
    pub breaker: Option<Breaker>,
    /// The profile that the run is made with.
    pub profile: Option<PinnedProfile>,
    /// The hash that a person has approved, if it is not the input hash.
    pub approved: Option<String>,
}

/// What goes with an intent, if nothing holds it back; else what does, or the step that finds it out. Whoever
/// is held by time or by a person stops no run at work: only then is asked for those.
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
        debounce::settled(facts)?;
    }
    let approved = approval::given(facts, rendering, ledger, (pinned.as_ref(), beginning))?;
    // No run is stopped for one whose pods may not do their work; one that only waits for its turn asks nobody meanwhile.
    if facts.policy.concurrency != ConcurrencyPolicy::Replace {
        overlap::over(facts, ledger)?;
    }
    permissions::granted(facts, &made)?;
    overlap::over(facts, ledger)?;
    Ok(Passed {
        breaker,
        profile: pinned,
        approved,
    })
}

/// What holds back the first run of a Runnable without any, of what can be told before anything is listed.
pub(super) fn first(facts: &Facts, rendering: &Rendering) -> Result<(), Step> {
    defined(facts)?;
    resumed(facts)?;
    ready(facts)?;
    let next = profile::fitting(facts, rendering, &facts.ledger)?;
    debounce::settled(facts)?;
    let next = (next.pinned.as_ref(), Beginning::Run);
    approval::given(facts, rendering, &facts.ledger, next).map(drop)
}

/// Asked before what a run is made of is read consistently: that, unless what its inputs come from holds it back as far as
/// caches show. To hold costs no read, unless that is about what may have been read before others have looked at it.
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

/// What holds back the create of an entry that has its number, if anything does. What it is made of may be something else than
/// what was approved by now. Unless it follows its own intent at once,
/// earlier runs may be at work beside it: the policy may have come since.
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

/// Under definitions of an older release the API server may drop what is written of a run, and what was asked for in its spec.
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

/// What the inputs come from is about to change, or is of more than one state: neither is anybody asked to approve what comes of
/// that, nor a run stopped for it.
fn ready(facts: &Facts) -> Result<(), Step> {
    let held = facts.dependencies.readiness.error();
    held.map_or(Ok(()), |error| Err(Step::Stuck(error)))
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
