//! A run that failed is tried again, under the next number.

use cartouche_crds::{CurrentRun, RunResult};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{Change, Next, Step, gate, gate::Beginning, last_message, numbered};
use crate::{
    facts::{Facts, Rendering},
    ledger::{Fate, Ledger},
};

/// A ledger that is to be written says when the run that has just ended is tried again, if it is. What was only
/// found again tells no end, so that a rebuild, a takeover or a hash of another version tries nothing again.
pub(super) fn scheduled(facts: &Facts, step: Step) -> Step {
    match step {
        Step::Write(mut ledger, change @ (Change::Confirm | Change::Record)) => {
            schedule(facts, &mut ledger);
            Step::Write(ledger, change)
        }
        step => step,
    }
}

fn schedule(facts: &Facts, ledger: &mut Ledger) {
    let (Some(before), Some(current)) = (&facts.ledger.current, &mut ledger.current) else {
        return;
    };
    if before.sequence != current.sequence || before.result == current.result {
        return;
    }
    // One that turned has no further attempt ahead: whatever it says now may turn again.
    current.retry_at = None;
    let (Some(result), None) = (current.result, before.result) else {
        return;
    };
    if !is_cancelled(facts, current) && is_judged_as_made(facts, before, current, result) {
        current.retry_at = planned(facts, current, result);
    }
}

fn planned(facts: &Facts, current: &CurrentRun, result: RunResult) -> Option<Time> {
    let retry = facts.policy.retry.as_ref();
    let retry = retry.filter(|retry| retry.allows(result, current.attempt))?;
    let (uid, ended) = (current.uid.as_deref()?, current.finished_at.as_ref()?);
    let at = retry.next(ended.0, current.attempt, uid, current.sequence);
    Some(Time(at))
}

/// Whether somebody has asked the run to stop, by whatever shows it.
fn is_cancelled(facts: &Facts, current: &CurrentRun) -> bool {
    let uid = current.uid.as_deref().unwrap_or_default();
    facts.fetched_run(uid).is_some_and(|run| run.cancelled)
        || facts.cached_run(uid).is_some_and(|run| run.cancelled)
}

/// Whether the rules that say how the run ended are those that it was made under: by others than these an old run
/// may fail of itself. Nobody's rules say that it is lost.
fn is_judged_as_made(
    facts: &Facts,
    before: &CurrentRun,
    current: &CurrentRun,
    result: RunResult,
) -> bool {
    if result == RunResult::Lost {
        return true;
    }
    let uid = current.uid.as_deref().unwrap_or_default();
    let read = facts.fetched_run(uid).or_else(|| facts.created_run(uid));
    let read = read.map(|run| &*run.rules_hash);
    let rules = read.or_else(|| Some(&*facts.cached_run(uid)?.rules_hash));
    rules.is_some() && rules == before.rules_hash.as_deref()
}

/// The next attempt, if its time has come.
pub(super) fn retried(facts: &Facts, rendering: &Rendering) -> Option<Step> {
    let ahead = facts.policy.ahead(&facts.ledger)?;
    if facts.now? < ahead.at {
        return None;
    }
    if !rendering.consistent {
        return Some(Step::RenderAgain);
    }
    let mut ledger = facts.ledger.clone();
    ledger.breaker = match gate::open(facts, Beginning::Attempt(&ledger)) {
        Ok(breaker) => breaker,
        Err(held) => return Some(Step::Stuck(held)),
    };
    let next = Next {
        attempt: ahead.attempt,
        fate: &Fate::Known,
        message: &last_message(facts),
    };
    Some(numbered(facts, rendering, ledger, &next))
}
