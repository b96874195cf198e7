//! A run that has worked for longer than its timeout is told to stop.

use cartouche_crds::{Stop, StopReason};
use cartouche_templating::kinds::StopRequest;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::{Change, Step, ToStop};
use crate::{
    diagnosis::Diagnosis,
    facts::{Facts, NameRead, PolicyFrom, StopOutcome},
    ledger::{Asked, AtWork, FetchedRun, LANDED_BY},
    reconcile_error::{Category, ReconcileError, Requeue},
};

/// How long a run that was told to stop may take before that is said, and how long until it is told once more.
pub const STOPS_WITHIN: SignedDuration = SignedDuration::from_mins(5);

/// What is left to do once all else is done: each run past its deadline is put down as one that is stopped, then told to
/// stop; that the current one does not is what is wrong with the Runnable.
pub(super) fn stopped(facts: &Facts) -> Step {
    let mut at_work = facts.ledger.at_work();
    let next = at_work.find_map(|run| overdue(facts, &run).or_else(|| told(facts, &run)));
    next.unwrap_or_else(|| {
        let mut at_work = facts.ledger.at_work();
        let current = at_work.find(|run| run.is_current);
        let problem = current.and_then(|run| problem(facts, &run));
        problem.map_or(Step::Settled, Step::Stuck)
    })
}

/// Before a run is told to stop that is written, and before that it is read: it may have ended.
fn overdue(facts: &Facts, run: &AtWork<'_>) -> Option<Step> {
    if facts.now? < deadline(facts, run)? {
        return None;
    }
    // A cached template may give less time than the present one.
    if facts.policy_from == PolicyFrom::Cache {
        return Some(Step::RenderAgain);
    }
    match facts.reads.get(&run.name) {
        None => Some(Step::ReadRun(run.name.clone())),
        Some(NameRead::Found(found)) if is_to_stop(found, run) => {
            let ledger = facts.ledger.clone();
            let next = ledger.stop(run.uid, StopReason::TimedOut, facts.now?);
            Some(Step::Write(Box::new(next), Change::Stop))
        }
        // Whatever else there is to say of it, others say.
        Some(NameRead::Found(_) | NameRead::Absent | NameRead::Denied) => None,
    }
}

/// Whether a read says that the run works, and that no person has told it to stop, who would then be forgotten.
fn is_to_stop(found: &FetchedRun, run: &AtWork<'_>) -> bool {
    found.run.uid == run.uid && found.result().is_none() && found.asked == Asked::No
}

/// Until when a run may work that was not told to stop yet.
fn deadline(facts: &Facts, run: &AtWork<'_>) -> Option<Timestamp> {
    match run.stop {
        None => facts.policy.deadline(run.started_at?),
        Some(_) => None,
    }
}

fn told(facts: &Facts, run: &AtWork<'_>) -> Option<Step> {
    let stop = timed_out(run)?;
    if facts.stops.contains_key(run.uid) {
        return None;
    }
    match facts.policy_from {
        PolicyFrom::Nowhere => return None,
        // A cached template may say another way.
        PolicyFrom::Cache => return Some(Step::RenderAgain),
        PolicyFrom::Read => {}
    }
    if told_from(facts, run, stop).is_some_and(|at| facts.now.is_none_or(|now| now < at)) {
        return None;
    }
    let request = way(facts, run)?;
    let (name, uid) = (run.name.clone(), run.uid.to_owned());
    Some(Step::Stop(Box::new(ToStop { name, uid, request })))
}

/// From when on a run is told, if not at once. Another create for its number may be on its way until a while after the
/// ledger has said that the run is there: were its name free by then, that would make a second one.
fn told_from(facts: &Facts, run: &AtWork<'_>, stop: &Stop) -> Option<Timestamp> {
    let is_deleted = way(facts, run)? == StopRequest::Delete;
    is_deleted.then(|| stop.at.0.checked_add(LANDED_BY).unwrap_or(Timestamp::MAX))
}

/// That a run was told to stop because of its timeout. Whatever else stops one is not told again.
fn timed_out<'a>(run: &AtWork<'a>) -> Option<&'a Stop> {
    run.stop.filter(|stop| stop.reason == StopReason::TimedOut)
}

fn way(facts: &Facts, run: &AtWork<'_>) -> Option<StopRequest> {
    let of_run = (run.name.api_version.as_str(), run.name.kind.as_str());
    let rendering = facts.rendering.as_ref().ok();
    let rendered = rendering.map(|it| (it.document.api_version(), it.document.kind()));
    let literal = facts.literal_kind.as_ref();
    let literal = literal.map(|(api_version, kind)| (api_version.as_str(), kind.as_str()));
    facts.policy.way_to_stop(of_run, literal.or(rendered))
}

/// Why a run that was told to stop is still at work.
fn problem(facts: &Facts, run: &AtWork<'_>) -> Option<ReconcileError> {
    let stop = timed_out(run).filter(|_| facts.policy_from != PolicyFrom::Nowhere)?;
    let object = format!(
        "{} {}/{}",
        run.name.kind, facts.runnable.namespace, run.name.name
    );
    let cause = match facts.stops.get(run.uid) {
        Some(StopOutcome::Failed(error)) => return Some(error.clone()),
        _ if way(facts, run).is_none() => Diagnosis::NoWayToStop(object, stop.at.0.to_string()),
        Some(StopOutcome::Sent) if is_over(stop, facts.now?) => {
            Diagnosis::NotStopped(object, stop.at.0.to_string())
        }
        Some(StopOutcome::Sent) | None => return None,
    };
    let again = Requeue::After(STOPS_WITHIN.unsigned_abs());
    Some(ReconcileError::caused(
        Category::StopFailed,
        again,
        cause,
        None,
    ))
}

fn is_over(stop: &Stop, now: Timestamp) -> bool {
    now.duration_since(stop.at.0) >= STOPS_WITHIN
}

/// Earlier runs, by uid, that were told to stop and are still at work: what is wrong with each. They keep the Runnable from
/// nothing.
#[must_use]
pub fn earlier_that_do_not_stop(facts: &Facts) -> Vec<(String, ReconcileError)> {
    let at_work = facts.ledger.at_work().filter(|run| !run.is_current);
    let problems = at_work.filter_map(|run| Some((run.uid.to_owned(), problem(facts, &run)?)));
    problems.collect()
}

/// When time alone makes something to do of a run at work, be it to say that it does not stop: the next such time.
#[must_use]
pub fn next_stop(facts: &Facts) -> Option<Timestamp> {
    let is_ahead = |at: &Timestamp| facts.now.is_none_or(|now| now < *at);
    let at_work = facts.ledger.at_work();
    let times = at_work.filter_map(|run| match timed_out(&run) {
        Some(stop) => told_from(facts, &run, stop)
            .filter(is_ahead)
            .or_else(|| stop.at.0.checked_add(STOPS_WITHIN).ok()),
        // One that is over, and was looked at, waits for something else.
        None => {
            deadline(facts, &run).filter(|at| is_ahead(at) || !facts.reads.contains_key(&run.name))
        }
    });
    times.min()
}
