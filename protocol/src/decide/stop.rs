//! Stops a run that has worked for longer than its timeout, or that makes way for a later one.

use cartouche_crds::{Stop, StopReason};
use cartouche_engines::kinds::{StopRequest, queue_of};
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::{Step, ToStop};
use crate::{
    category::Category,
    facts::{Facts, NameRead, PolicyFrom, StopOutcome, is_ahead, way_to_stop},
    ledger::{Asked, AtWork, Change, FetchedRun, LANDED_BY},
    messages::{
        diagnosis::Diagnosis,
        reconcile_error::{ReconcileError, Requeue},
    },
};

/// The time after which a run that does not stop is reported, and after which the request is
/// repeated.
pub const STOPS_WITHIN: SignedDuration = SignedDuration::from_mins(5);

/// Handles runs at work once all else is done. Each run past its deadline gets a stop in the
/// ledger, then the request to stop. If the current run does not stop, that is the error of the
/// Runnable.
pub(super) fn next_step(facts: &Facts) -> Step {
    let mut at_work = facts.ledger.at_work();
    let next = at_work.find_map(|run| {
        overdue(facts, &run)
            .or_else(|| cancelled(facts, &run))
            .or_else(|| send_stop(facts, &run))
    });
    next.unwrap_or_else(|| {
        let mut at_work = facts.ledger.at_work();
        let current = at_work.find(|run| run.is_current);
        let problem = current.and_then(|run| problem(facts, &run));
        problem.map_or(Step::Settled, Step::Stuck)
    })
}

/// Records the stop of a run past its deadline before the request is sent. Before that the run is
/// read: it may have ended.
fn overdue(facts: &Facts, run: &AtWork<'_>) -> Option<Step> {
    if facts.now? < deadline(facts, run)? {
        return None;
    }
    put_down(facts, run, |found| reason(found, StopReason::TimedOut))
}

/// Records a person's request that the run itself does not heed, so that the run is stopped like
/// any other.
fn cancelled(facts: &Facts, run: &AtWork<'_>) -> Option<Step> {
    let standing = facts.standing(run.uid)?;
    let is_held = run.stop.is_none() && !standing.heeds_stop;
    if !is_held || !facts.is_asked_by_person(run.uid) || facts.now.is_none() {
        return None;
    }
    put_down(facts, run, |_| StopReason::Cancelled)
}

/// Records a stop by the present template, after a read that finds the run at work.
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
            // In a ledger that was edited by hand two entries may have one uid; no empty change is
            // written.
            (next != facts.ledger).then(|| Step::Write(Box::new(next), Change::Stop))
        }
        // Other code handles all else about it.
        Some(NameRead::Found(_) | NameRead::Absent | NameRead::Denied) => None,
    }
}

/// Returns true if a read finds the run at work.
pub(super) fn is_at_work(found: &FetchedRun, run: &AtWork<'_>) -> bool {
    found.run.uid == run.uid && found.result().is_none()
}

/// Returns the reason for the stop: ours, unless a person has already requested it in the run.
pub(super) fn reason(found: &FetchedRun, ours: StopReason) -> StopReason {
    match found.asked {
        Asked::No => ours,
        Asked::InItsWay | Asked::ByPerson => StopReason::Cancelled,
    }
}

/// Returns the deadline of a run without a stop.
fn deadline(facts: &Facts, run: &AtWork<'_>) -> Option<Timestamp> {
    match run.stop {
        None => facts.policy.deadline(facts.works_since(run)?),
        Some(_) => None,
    }
}

fn send_stop(facts: &Facts, run: &AtWork<'_>) -> Option<Step> {
    let stop = stop_to_request(run)?;
    if facts.stops.contains_key(run.uid) {
        return None;
    }
    match facts.policy_from {
        PolicyFrom::Nowhere => return None,
        // A cached template may say another way.
        PolicyFrom::Cache => return Some(Step::RenderAgain),
        PolicyFrom::Read => {}
    }
    if request_time(facts, run, stop).is_some_and(|at| facts.now.is_none_or(|now| now < at)) {
        return None;
    }
    let request = way_to_stop(facts, run)?;
    let version = match (&request, facts.reads.get(&run.name)) {
        (_, Some(NameRead::Found(found))) if is_at_work(found, run) => found.version,
        // A patch would be lost on a run that a queue holds.
        (StopRequest::Patch(_), None) if is_unknown(facts, run) => {
            return Some(Step::ReadRun(run.name.clone()));
        }
        (StopRequest::Patch(_), None | Some(NameRead::Denied)) => None,
        // A run that has ended meanwhile is not deleted.
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

/// Returns true if it is not known yet whether the run heeds its stop, as some of its kind do not.
fn is_unknown(facts: &Facts, run: &AtWork<'_>) -> bool {
    let queue = queue_of(&run.name.api_version, &run.name.kind);
    facts.standing(run.uid).is_none() && queue.is_some_and(|queue| queue.may_ignore_stop)
}

/// Returns the time of the request to stop, if it is not at once. Another create for the number may
/// be in flight until a while after the ledger has confirmed the run; if the name were free by
/// then, a second run would result.
fn request_time(facts: &Facts, run: &AtWork<'_>, stop: &Stop) -> Option<Timestamp> {
    let is_deleted = way_to_stop(facts, run)? == StopRequest::Delete;
    let is_ahead = is_ahead(facts, stop.at.0);
    (is_deleted && !is_ahead).then(|| stop.at.0.checked_add(LANDED_BY).unwrap_or(Timestamp::MAX))
}

/// Returns the stop of a run at work that the controller has to request. A reason that only another
/// release knows is not requested again.
fn stop_to_request<'a>(run: &AtWork<'a>) -> Option<&'a Stop> {
    run.stop
        .filter(|stop| !matches!(stop.reason, StopReason::Other(_)))
}

/// Returns the reason why a run with a stop is still at work.
fn problem(facts: &Facts, run: &AtWork<'_>) -> Option<ReconcileError> {
    let stop = stop_to_request(run).filter(|_| facts.policy_from != PolicyFrom::Nowhere)?;
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
    Some(ReconcileError::from_diagnosis(
        Category::StopFailed,
        again,
        cause,
        None,
    ))
}

fn is_over(stop: &Stop, now: Timestamp) -> bool {
    now.duration_since(stop.at.0) >= STOPS_WITHIN
}

/// Returns the earlier runs, by uid, that have a stop and are still at work, each with its error.
/// They hold nothing else back.
#[must_use]
pub fn earlier_that_do_not_stop(facts: &Facts) -> Vec<(String, ReconcileError)> {
    let at_work = facts.ledger.at_work().filter(|run| !run.is_current);
    let problems = at_work.filter_map(|run| Some((run.uid.to_owned(), problem(facts, &run)?)));
    problems.collect()
}

/// Returns the next time at which a run at work needs something that no event brings, even if only
/// the report that it does not stop.
#[must_use]
pub fn next_stop(facts: &Facts) -> Option<Timestamp> {
    // An event announces a template that can be read.
    if facts.policy_from == PolicyFrom::Nowhere {
        return None;
    }
    let is_ahead = |at: &Timestamp| facts.now.is_none_or(|now| now < *at);
    let at_work = facts.ledger.at_work();
    let times = at_work.filter_map(|run| match stop_to_request(&run) {
        Some(stop) => request_time(facts, &run, stop)
            .filter(is_ahead)
            .or_else(|| stop.at.0.checked_add(STOPS_WITHIN).ok()),
        // A run past its deadline that was read waits for something else.
        None => {
            deadline(facts, &run).filter(|at| is_ahead(at) || !facts.reads.contains_key(&run.name))
        }
    });
    times.min()
}
