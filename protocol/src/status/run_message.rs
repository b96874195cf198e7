//! Message of `Ready` about the run: more than its engine says, if its pods have reported. Pure.

use cartouche_crds::{
    CurrentRun, RunPhase, RunResult, RunnableStatus, Stop, StopReason,
    conditions::{FALSE, READY, RUN_IN_PROGRESS, STAMPED_OBJECT_CONDITION, UNKNOWN, find},
};
use cartouche_engines::{PodsTell, RunReason, Said, kinds::queue_of};

use super::{ConditionValue, is_stored};
use crate::{
    facts::{Facts, Hindrance, is_deleted_to_stop},
    ledger::{
        FetchedRun, Ledger, PodsSaid,
        explanation::{
            explain_stop, explanation, explanation_with_excuse, reason_of_failure, reason_of_stop,
        },
    },
    messages::format::{plain, truncate},
};

/// Beginning of the message about a run that a queue holds.
const QUEUED: &str = "it is queued";
/// Message for a run at work whose engine says nothing.
pub const NOT_ENDED: &str = "the run has not ended yet";
/// Message for a run that has its number and was not seen yet.
pub const BEING_MADE: &str = "the run is being made";

/// Returns true if `Ready` reports the run, and nothing else.
pub(super) fn is_of_run(ready: &ConditionValue, stamped: &ConditionValue) -> bool {
    match ready.status {
        // The next run may have been refused after one that failed.
        FALSE => {
            let is_known = || RunReason::parse(&ready.reason).is_some();
            stamped.status == FALSE && (ready.reason == stamped.reason || is_known())
        }
        status => is_at_work(status, &ready.reason),
    }
}

/// Returns true for the status and reason of `Ready` while a run works or is on its way, whatever hinders it.
#[must_use]
pub fn is_at_work(status: &str, reason: &str) -> bool {
    status == UNKNOWN && (reason == RUN_IN_PROGRESS || RunReason::parse(reason).is_some())
}

/// Returns the words of `Ready` about the run, or `None` if its engine's words suffice.
pub(super) fn describe_run(
    facts: &Facts,
    ledger: &Ledger,
    stamped: &ConditionValue,
) -> Option<Said> {
    let current = ledger.current.as_ref()?;
    let run = facts.shown_run(current);
    let stop = current.stop.as_ref();
    let fresh = match current.result {
        Some(RunResult::Failed) => run.filter(|run| run.result() == current.result),
        None if stop.is_some() => {
            let said = stop.map(|stop| stopping(stop, end_of_stopped(facts, current)));
            return said.map(|said| Said::new(said, None));
        }
        None if queued(facts, current).is_some() => {
            return queued(facts, current).map(|said| Said::new(said, None));
        }
        None => match &facts.hindrance {
            Hindrance::Nothing => return Some(working(facts, current, stamped)),
            Hindrance::Said(said) => {
                return Some(Said::new(truncate(said.words.clone()), said.reason));
            }
            Hindrance::NotAsked => None,
        },
        Some(_) => return None,
    };
    // Pods are deleted before their run: their last report stays.
    let is_silent = |run: &&FetchedRun| {
        run.pods_tell == PodsTell::WhyItFailed
            && explain_stop(run, stop).is_none()
            && !matches!(run.pods_said, PodsSaid::Words(_))
    };
    let before = said_before(facts, current, stamped);
    if current.result.is_none() {
        let is_past = |said: &Said| said.is_empty() || said.words == BEING_MADE;
        let said = before.filter(|said| !is_past(said));
        return Some(said.unwrap_or_else(|| working(facts, current, stamped)));
    }
    let of = |words: String, run| Said::new(words, reason_of_failure(run, stop));
    match fresh {
        Some(run) if !is_silent(&run) => Some(of(explanation(run, stop), run)),
        fresh => before
            .or_else(|| fresh.map(|run| of(explanation_with_excuse(run, stop), run)))
            .or_else(|| Some(Said::new(stamped.message.clone(), reason_of_stop(stop)))),
    }
}

/// Returns the words for a run at work without a hindrance: those of its engine, or that it has not ended.
fn working(facts: &Facts, current: &CurrentRun, stamped: &ConditionValue) -> Said {
    let words = match (stamped.message.as_str(), current.phase) {
        ("", RunPhase::Created) => NOT_ENDED.to_owned(),
        ("", _) => BEING_MADE.to_owned(),
        (said, _) => said.to_owned(),
    };
    let run = facts.shown_run(current);
    Said::new(words, run.and_then(|run| run.health.pods))
}

/// Returns the words for a run that a queue holds.
fn queued(facts: &Facts, current: &CurrentRun) -> Option<String> {
    let standing = facts.standing(current.uid.as_deref()?)?;
    let queue = queue_of(&current.api_version, &current.kind).filter(|_| standing.is_queued())?;
    let sign = queue.sign;
    Some(format!(
        "{QUEUED} ({sign}), and begins when it is released; a timeout counts from then on"
    ))
}

/// Returns the words for what happens to a run that was asked to stop. It is not over before its engine says so,
/// and a run that does not heed its stop is deleted.
fn end_of_stopped(facts: &Facts, current: &CurrentRun) -> &'static str {
    let uid = current.uid.as_deref().unwrap_or_default();
    let standing = facts.standing(uid).unwrap_or_default();
    let is_deleted = is_deleted_to_stop(facts, uid);
    match (standing.is_queued(), standing.heeds_stop) {
        (true, _) if is_deleted => "is queued, so the controller deletes it a minute later",
        (true, _) => "is queued, and has not ended yet",
        (false, false) if is_deleted => {
            "cannot stop in its present state, so the controller deletes it a minute later"
        }
        (false, _) => "has not ended yet",
    }
}

fn stopping(stop: &Stop, end: &str) -> String {
    match stop.reason {
        StopReason::TimedOut => format!(
            "it has exceeded its timeout, was asked to stop at {}, and {end}",
            stop.at.0
        ),
        StopReason::Replaced => format!(
            "it was asked to stop for a later run at {}, and {end}",
            stop.at.0
        ),
        StopReason::Withdrawn | StopReason::Cancelled | StopReason::Other(_) => {
            format!(
                "it was asked to stop ({}), and {end}",
                plain(stop.reason.as_str())
            )
        }
    }
}

/// Returns the words of the stored `Ready` about the same run in the same state.
fn said_before(facts: &Facts, current: &CurrentRun, stamped: &ConditionValue) -> Option<Said> {
    let (ready, before) = (
        find(&facts.stored, READY)?,
        find(&facts.stored, STAMPED_OBJECT_CONDITION)?,
    );
    let is_same = is_stored(facts, current) && ConditionValue::from_condition(before) == *stamped;
    let is_of_run = is_of_run(&ConditionValue::from_condition(ready), stamped);
    // A run that has left its queue is not reported as queued.
    let uid = current.uid.as_deref().unwrap_or_default();
    let is_free = facts.standing(uid).is_some_and(|it| !it.is_queued());
    let is_over = is_free && ready.message.starts_with(QUEUED);
    let said = || Said::new(ready.message.clone(), RunReason::parse(&ready.reason));
    (is_same && is_of_run && !is_over).then(said)
}

/// Returns the words of a status about its current run: why it failed or does not progress, else those of its
/// engine.
#[must_use]
pub fn said_of_run(status: &RunnableStatus) -> Option<&str> {
    let stamped = find(status, STAMPED_OBJECT_CONDITION)?;
    let ready = find(status, READY).filter(|ready| {
        is_of_run(
            &ConditionValue::from_condition(ready),
            &ConditionValue::from_condition(stamped),
        )
    });
    Some(&ready.unwrap_or(stamped).message)
}
