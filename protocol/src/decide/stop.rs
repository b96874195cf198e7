//! A run that has worked for longer than its timeout, or makes way for a later one, is told to stop.

use cartouche_crds::{Stop, StopReason};
use cartouche_templating::kinds::{StopRequest, queue_of};
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::{Step, ToStop};
use crate::{
    category::Category,
    diagnosis::Diagnosis,
    facts::{Facts, NameRead, PolicyFrom, StopOutcome, is_ahead, way_to_stop},
    ledger::{Asked, AtWork, Change, FetchedRun, LANDED_BY},
    reconcile_error::{ReconcileError, Requeue},
};

/// How long a run that was told to stop may take before that is said, and how long until it is told once more.
pub const STOPS_WITHIN: SignedDuration = SignedDuration::from_mins(5);

/// What is left to do once all else is done: each run past its deadline is put down as one that is stopped, then told to
/// stop; that the current one does not is what is wrong with the Runnable.
pub(super) fn stopped(facts: &Facts) -> Step {
    let mut at_work = facts.ledger.at_work();
    let next = at_work.find_map(|run| {
        overdue(facts, &run)
            .or_else(|| cancelled(facts, &run))
            .or_else(|| told(facts, &run))
    });
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
    put_down(facts, run, |found| reason(found, StopReason::TimedOut))
}

/// A person's word that the run itself does not heed is put down, so that it goes the way of those that were told to stop.
fn cancelled(facts: &Facts, run: &AtWork<'_>) -> Option<Step> {
    let standing = facts.standing(run.uid)?;
    let is_held = run.stop.is_none() && !standing.heeds_stop;
    if !is_held || !facts.is_asked_by_person(run.uid) || facts.now.is_none() {
        return None;
    }
    put_down(facts, run, |_| StopReason::Cancelled)
}

/// By the present template, and after a read that finds the run at work.
fn put_down(
    facts: &Facts,
    run: &AtWork<'_>,
    reason: impl FnOnce(&FetchedRun) -> StopReason,
) -> Option<Step> {
    match facts.policy_from {
        PolicyFrom::Nowhere => return None,
        // A cached template may give less time than the present one.
        PolicyFrom::Cache => return Some(Step::RenderAgain),
        PolicyFrom::Read => {}
    }
    match facts.reads.get(&run.name) {
        None => Some(Step::ReadRun(run.name.clone())),
        Some(NameRead::Found(found)) if is_at_work(found, run) => {
            let next = facts.ledger.clone();
            let next = next.stop(run.uid, reason(found), facts.now?);
            // In a ledger that was edited by hand two entries may have one uid: what changes nothing is not written.
            (next != facts.ledger).then(|| Step::Write(Box::new(next), Change::Stop))
        }
        // Whatever else there is to say of it, others say.
        Some(NameRead::Found(_) | NameRead::Absent | NameRead::Denied) => None,
    }
}

/// Whether a read says that the run works.
pub(super) fn is_at_work(found: &FetchedRun, run: &AtWork<'_>) -> bool {
    found.run.uid == run.uid && found.result().is_none()
}

/// Why a run that works is told to stop, if it was for this. A person who has told it so is not forgotten.
pub(super) fn reason(found: &FetchedRun, ours: StopReason) -> StopReason {
    match found.asked {
        Asked::No => ours,
        Asked::InItsWay | Asked::ByPerson => StopReason::Cancelled,
    }
}

/// Until when a run may work that was not told to stop yet.
fn deadline(facts: &Facts, run: &AtWork<'_>) -> Option<Timestamp> {
    match run.stop {
        None => facts.policy.deadline(facts.works_since(run)?),
        Some(_) => None,
    }
}

fn told(facts: &Facts, run: &AtWork<'_>) -> Option<Step> {
    let stop = to_be_told(run)?;
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
    let request = way_to_stop(facts, run)?;
    let version = match (&request, facts.reads.get(&run.name)) {
        (_, Some(NameRead::Found(found))) if is_at_work(found, run) => found.version,
        // A patch would be lost on one that a queue holds.
        (StopRequest::Patch(_), None) if is_unknown(facts, run) => {
            return Some(Step::ReadRun(run.name.clone()));
        }
        (StopRequest::Patch(_), None | Some(NameRead::Denied)) => None,
        // What has ended meanwhile is not taken away.
        (StopRequest::Delete, None) => return Some(Step::ReadRun(run.name.clone())),
        // It has ended, or another object has its name.
        (_, Some(_)) => return None,
    };
    let (name, uid) = (run.name.clone(), run.uid.to_owned());
    Some(Step::Stop(Box::new(ToStop {
        name,
        uid,
        request,
        version,
    })))
}

/// Nothing tells yet whether the run heeds its stop, as some of its kind do not.
fn is_unknown(facts: &Facts, run: &AtWork<'_>) -> bool {
    let queue = queue_of(&run.name.api_version, &run.name.kind);
    facts.standing(run.uid).is_none() && queue.is_some_and(|queue| queue.may_ignore_stop)
}

/// From when on a run is told, if not at once. Another create for its number may be on its way until a while after the
/// ledger has said that the run is there: were its name free by then, that would make a second one.
fn told_from(facts: &Facts, run: &AtWork<'_>, stop: &Stop) -> Option<Timestamp> {
    let is_deleted = way_to_stop(facts, run)? == StopRequest::Delete;
    let is_ahead = is_ahead(facts, stop.at.0);
    (is_deleted && !is_ahead).then(|| stop.at.0.checked_add(LANDED_BY).unwrap_or(Timestamp::MAX))
}

/// That a run at work is to be told to stop, since its time was over. What only another release knows is not told again.
fn to_be_told<'a>(run: &AtWork<'a>) -> Option<&'a Stop> {
    run.stop
        .filter(|stop| !matches!(stop.reason, StopReason::Other(_)))
}

/// Why a run that was told to stop is still at work.
fn problem(facts: &Facts, run: &AtWork<'_>) -> Option<ReconcileError> {
    let stop = to_be_told(run).filter(|_| facts.policy_from != PolicyFrom::Nowhere)?;
    let object = run.name.object(&facts.runnable.namespace);
    let cause = match facts.stops.get(run.uid) {
        Some(StopOutcome::Failed(error)) => return Some(error.clone()),
        _ if way_to_stop(facts, run).is_none() => Diagnosis::NoWayToStop(object, stop.clone()),
        Some(StopOutcome::Sent) if is_over(stop, facts.now?) => {
            Diagnosis::NotStopped(object, stop.clone())
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
    // Once there is a template that can be read, that is heard of.
    if facts.policy_from == PolicyFrom::Nowhere {
        return None;
    }
    let is_ahead = |at: &Timestamp| facts.now.is_none_or(|now| now < *at);
    let at_work = facts.ledger.at_work();
    let times = at_work.filter_map(|run| match to_be_told(&run) {
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
