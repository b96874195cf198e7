//! Follows the current run, which exists or existed: its result, its outputs and its end.

use cartouche_crds::{CurrentRun, RunResult};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{Beginning, Next, Step, Waiting, intend, overlap, superseded};
use crate::{
    facts::{CreateOutcome, Facts, NameRead, Rendering},
    ledger::{
        CachedRun, Change, Fate, FetchedRun, Ledger, OutputsDigest, RunIdentity, RunName, digest,
        result_of,
    },
    status,
};

/// The message in the history for a run that was deleted while it ran.
pub(super) const DELETED_UNFINISHED: &str = "deleted before it finished";

/// Returns the next step for the current run. Without a rendering no new run is intended.
pub(super) fn current_run(
    facts: &Facts,
    rendering: Option<&Rendering>,
    current: &CurrentRun,
) -> Step {
    let name = RunName::from_current(current);
    let uid = current.uid.as_deref().unwrap_or_default();
    // A read under its name is older than the run: runs with a fixed name follow one another under
    // the same name.
    let is_new = matches!(facts.created, Some(CreateOutcome::Created(_)));
    if is_new && facts.created_run(uid).is_some() {
        return superseded::record_results(facts);
    }
    let step = match facts.reads.get(&name) {
        Some(NameRead::Found(found)) if found.run.uid == uid => note(facts, found),
        Some(NameRead::Found(found)) if is_late_run(facts, current, &found.run) => {
            let next = facts
                .ledger
                .clone()
                .record_sighting(&found.run, None, found.asked, facts.now)
                .record(found, facts.now);
            Some(Step::Write(Box::new(next), Change::Record))
        }
        Some(_) => gone(facts, rendering, current),
        None => match facts.fetched_run(uid) {
            Some(found) => note(facts, found),
            None if !must_read(facts, rendering, current) => None,
            None => Some(must_render(rendering, current).unwrap_or(Step::ReadRun(name))),
        },
    };
    step.unwrap_or_else(|| superseded::record_results(facts))
}

/// Requires a consistent rendering if the rules have changed: they are written with the run, and a
/// cached template may be an earlier one.
fn must_render(rendering: Option<&Rendering>, current: &CurrentRun) -> Option<Step> {
    let rendering = rendering.filter(|rendering| !rendering.consistent)?;
    is_followed_anew(rendering, current).then_some(Step::RenderAgain)
}

/// Returns true if a run at work was followed by other rules than these. The ledger says so,
/// whatever rules a watch has judged it by since.
fn is_followed_anew(rendering: &Rendering, current: &CurrentRun) -> bool {
    let followed_by = current.rules_hash.as_deref();
    current.result.is_none() && followed_by.is_some_and(|rules| rules != &*rendering.rules_hash)
}

/// Returns true if the run has to be read: it differs from what is stored, or it may be gone.
fn must_read(facts: &Facts, rendering: Option<&Rendering>, current: &CurrentRun) -> bool {
    let uid = current.uid.as_deref().unwrap_or_default();
    match facts.cached_run(uid) {
        Some(cached_run) if cached_run.deleted => current.result.is_none(),
        Some(cached_run) => differs(facts, rendering, current, cached_run),
        None if facts.unobserved_run.as_deref() == Some(uid) => false,
        None => {
            current.result.is_none()
                || facts
                    .cached_runs
                    .iter()
                    .any(|it| !it.deleted && is_late_run(facts, current, &it.run))
        }
    }
}

/// Returns true if a read would add anything to the status.
fn differs(
    facts: &Facts,
    rendering: Option<&Rendering>,
    current: &CurrentRun,
    cached_run: &CachedRun,
) -> bool {
    let Some(rendering) = rendering else {
        // The template may have changed since: what was read by its former rules stays.
        return current.result.is_none() && cached_run.is_finished();
    };
    if is_followed_anew(rendering, current)
        || cached_run.rules_hash != rendering.rules_hash
        || result_of(cached_run.health.verdict) != current.result
        || !status::reports(&facts.stored, &cached_run.health)
    {
        return true;
    }
    let read_before = facts.ledger.outputs_from.as_ref().is_some_and(|from| {
        from.sequence == current.sequence && *from.rules_hash == *rendering.rules_hash
    });
    match cached_run.outputs {
        OutputsDigest::None => false,
        OutputsDigest::Unsatisfied => true,
        OutputsDigest::Elsewhere => !read_before,
        OutputsDigest::Values(values) => {
            !read_before || facts.ledger.outputs.as_ref().map(digest) != Some(values)
        }
    }
}

/// Records what was read, if it is new. The result of a run that the next one may wait for is
/// final, like that of any earlier run: the template may already have the rules of the next.
fn note(facts: &Facts, found: &FetchedRun) -> Option<Step> {
    let current = facts.ledger.current.as_ref();
    if current.is_some_and(|current| current.result.is_some() && facts.is_waited_for(current)) {
        return None;
    }
    let next = facts.ledger.clone().record(found, facts.now);
    (next != facts.ledger).then(|| Step::Write(Box::new(next), Change::Record))
}

/// Returns true if this run comes from a create of ours without an answer, which landed after the
/// confirmed object was deleted. Once the end of the current run is known, another object gives no
/// outputs: any client can create one under a name that is free again.
fn is_late_run(facts: &Facts, current: &CurrentRun, run: &RunIdentity) -> bool {
    current.result.is_none() && facts.is_run_of(run, current) && run.is_late_for(current)
}

/// Handles a run that is gone with an unknown result, unless another controller that saw it deleted
/// reports the result in time. A run that was stopped has failed.
fn vanished(facts: &Facts) -> Step {
    if !facts.grace_over {
        return Step::Wait(Waiting::GracePeriod);
    }
    let ledger = facts.ledger.clone().record_loss(facts.now);
    Step::Write(Box::new(ledger), Change::Record)
}

/// Handles a consistent read that does not find the run.
fn gone(facts: &Facts, rendering: Option<&Rendering>, current: &CurrentRun) -> Option<Step> {
    if current.result.is_some() {
        return None;
    }
    let seen = current.uid.as_deref().and_then(|uid| facts.cached_run(uid));
    let Some(cached_run) = seen else {
        return Some(vanished(facts));
    };
    // The rule that would have judged it is unknown: a person decides, as for a run that went
    // unseen.
    let waited_for = || {
        facts
            .rendering
            .as_ref()
            .ok()
            .filter(|_| overlap::may_wait(facts))
    };
    // The rules of the next run do not count either.
    let by_others = facts.is_waited_for(current)
        && (current.rules_hash.as_deref()).is_some_and(|it| it != &*cached_run.rules_hash);
    let unjudged = (cached_run.rules_hash.is_empty() || by_others)
        && rendering
            .or_else(waited_for)
            .is_none_or(|rendering| rendering.has_health_rule);
    if unjudged && cached_run.deleted {
        return Some(vanished(facts));
    }
    if unjudged && by_others {
        return Some(Step::Wait(Waiting::Watch));
    }
    let asked = cached_run.asked;
    let record = |result| {
        let ledger = facts.ledger.clone();
        let next = ledger.record_sighting(&cached_run.run, Some(result), asked, facts.now);
        Some(Step::Write(Box::new(next), Change::Record))
    };
    if let Some(result) = result_of(cached_run.health.verdict) {
        return record(result);
    }
    // A user who has stopped the run wants no other one for the same document.
    let is_stopped =
        current.stop.is_some() || facts.ledger.is_cancelled(&cached_run.run.uid, asked);
    if cached_run.deleted && is_stopped {
        return record(RunResult::Failed);
    }
    if !cached_run.deleted {
        // The read is ahead of the watch, which will say how the run went.
        return Some(Step::Wait(Waiting::Watch));
    }
    let rendering = rendering?;
    if !rendering.consistent {
        return Some(Step::RenderAgain);
    }
    // The run was seen deleted while unfinished: it runs once more, under the next number.
    let ended = ended_by_deletion(facts);
    let next = Next {
        beginning: Beginning::Again,
        attempt: current.attempt,
        fate: &Fate::Known,
        message: DELETED_UNFINISHED,
    };
    Some(intend(facts, rendering, ended, &next))
}

fn ended_by_deletion(facts: &Facts) -> Ledger {
    let mut ended = facts.ledger.clone();
    if let Some(run) = &mut ended.current {
        run.result = Some(RunResult::Failed);
        run.finished_at = facts.now.map(Time);
    }
    ended
}

/// Returns the ledger in which the current run has ended, if the run was seen deleted while
/// unfinished and a read confirms that it is gone.
///
/// That ledger is not written on its own: if this document were wanted again before another one is
/// intended, it would run again.
pub(super) fn deleted_unfinished(facts: &Facts, current: &CurrentRun) -> Option<Ledger> {
    let uid = current
        .uid
        .as_deref()
        .filter(|_| current.result.is_none())?;
    let is_gone = match facts.reads.get(&RunName::from_current(current))? {
        NameRead::Found(found) => found.run.uid != uid,
        NameRead::Absent => true,
        NameRead::Denied => false,
    };
    facts
        .cached_run(uid)
        .filter(|seen| is_gone && seen.deleted)
        .map(|_| ended_by_deletion(facts))
}
