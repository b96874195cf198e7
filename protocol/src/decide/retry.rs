//! Retries a failed run, under the next number.

use cartouche_crds::{CurrentRun, RunResult};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{Beginning, Next, Step, gate, intend, last_message};
use crate::{
    facts::{Facts, NameRead, Rendering},
    ledger::{Change, Fate, Ledger, RunName, is_ours, result_of},
};

/// Sets the time of the retry in a ledger that is to be written, if the run has just ended and is
/// retried. A run that was only found again does not count as ended, so a rebuild, a takeover or a
/// hash of another version retries nothing.
pub(super) fn with_schedule(facts: &Facts, step: Step) -> Step {
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
    // A result that changed leaves no further attempt: it may change again.
    current.retry_at = None;
    let (Some(result), None) = (current.result, before.result) else {
        return;
    };
    if !facts.is_cancelled(uid_of(current)) && is_judged_as_followed(facts, before, current, result)
    {
        current.retry_at = planned(facts, current);
    }
}

fn planned(facts: &Facts, current: &CurrentRun) -> Option<Time> {
    let retry = facts.policy.retry.as_ref();
    let retry = retry.filter(|retry| retry.allows(current))?;
    let (uid, ended) = (current.uid.as_deref()?, current.finished_at.as_ref()?);
    let at = retry.next(ended.0, current.attempt, uid, current.sequence);
    Some(Time(at))
}

/// Returns true if the rules that now give the result are those that the run was followed by: by
/// other rules an old run may fail. Without a rule in the template, the rule of the kind counts as
/// the same. Also returns true for a lost run, and for one that the controller stopped: no rule
/// decides these.
fn is_judged_as_followed(
    facts: &Facts,
    before: &CurrentRun,
    current: &CurrentRun,
    result: RunResult,
) -> bool {
    if result == RunResult::Lost || current.stop.as_ref().is_some_and(is_ours) {
        return true;
    }
    let uid = uid_of(current);
    let read = facts.fetched_run(uid).or_else(|| facts.created_run(uid));
    let read = read.map(|run| &*run.rules_hash);
    let Some(rules) = read.or_else(|| Some(&*facts.cached_run(uid)?.rules_hash)) else {
        return false;
    };
    let has_rule = |rendering: &Rendering| rendering.has_health_rule;
    let by_kind = rules.is_empty() && !facts.rendering.as_ref().is_ok_and(has_rule);
    by_kind || Some(rules) == before.rules_hash.as_deref()
}

/// Returns the next attempt if its time has come, or the write that calls it off.
pub(super) fn next_attempt(
    facts: &Facts,
    rendering: &Rendering,
    current: &CurrentRun,
) -> Option<Step> {
    current.retry_at.as_ref()?;
    let ahead = facts.policy.ahead(&facts.ledger);
    let Some(ahead) = ahead.filter(|_| !is_void(facts, current)) else {
        // A cached template may be an earlier one.
        return Some(if rendering.consistent {
            called_off(facts)
        } else {
            Step::RenderAgain
        });
    };
    if facts.now? < ahead.at {
        return None;
    }
    if let Err(step) = gate::consistent(facts, rendering) {
        return Some(step);
    }
    // The watch need not have shown the latest state of the run. A read that finds another result
    // is recorded first.
    let name = RunName::from_current(current);
    match facts.reads.get(&name) {
        None => return Some(Step::ReadRun(name)),
        Some(NameRead::Denied) => return None,
        Some(NameRead::Absent | NameRead::Found(_)) => {}
    }
    let next = Next {
        beginning: Beginning::Attempt,
        attempt: ahead.attempt,
        fate: &Fate::Known,
        message: &last_message(facts),
    };
    Some(intend(facts, rendering, facts.ledger.clone(), &next))
}

fn uid_of(current: &CurrentRun) -> &str {
    current.uid.as_deref().unwrap_or_default()
}

/// Returns true if the run leaves nothing to retry: it was cancelled, or it was deleted after its
/// result had changed.
fn is_void(facts: &Facts, current: &CurrentRun) -> bool {
    let uid = uid_of(current);
    let went = facts.cached_run(uid).filter(|run| run.deleted);
    let turned = went.is_some_and(|run| match result_of(run.health.verdict) {
        // It was stopped, and went without a result.
        None => current.stop.is_none(),
        result => result != current.result,
    });
    turned && current.result != Some(RunResult::Lost) || facts.is_cancelled(uid)
}

/// Calls the retry off. If the time were kept, a policy that allows retries again later would wake
/// an old failure.
fn called_off(facts: &Facts) -> Step {
    let mut ledger = facts.ledger.clone();
    if let Some(current) = &mut ledger.current {
        current.retry_at = None;
    }
    Step::Write(Box::new(ledger), Change::Record)
}
