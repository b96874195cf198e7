//! A run that failed is tried again, under the next number.

use cartouche_crds::{CurrentRun, RunResult};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{Beginning, Next, Step, gate, intend, last_message};
use crate::{
    facts::{Facts, NameRead, Rendering},
    ledger::{Change, Fate, Ledger, RunName, is_ours, result_of},
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

/// Whether the run was followed by the rules that now say how it ended: by others an old run may fail of itself. What is
/// known of its kind says the same where the template has no rule of its own. Nobody's rules say that it is lost, nor that it
/// was stopped because of its timeout, which was at work until then.
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

/// The next attempt, if its time has come; or that there is none ahead any more.
pub(super) fn retried(facts: &Facts, rendering: &Rendering, current: &CurrentRun) -> Option<Step> {
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
    // No watch need have shown what has become of the run since. A read that finds another result is recorded first.
    let name = RunName::of(current);
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

/// Whether what has become of the run since it failed leaves nothing to try again: somebody has cancelled it, or it went
/// after its result had turned.
fn is_void(facts: &Facts, current: &CurrentRun) -> bool {
    let uid = uid_of(current);
    let went = facts.cached_run(uid).filter(|run| run.deleted);
    let turned = went.is_some_and(|run| match result_of(run.health.verdict) {
        // It was stopped, and went without a word.
        None => current.stop.is_none(),
        result => result != current.result,
    });
    turned && current.result != Some(RunResult::Lost) || facts.is_cancelled(uid)
}

/// Nothing is ahead any more. Were the time kept, a policy that allows attempts again later would wake an old failure.
fn called_off(facts: &Facts) -> Step {
    let mut ledger = facts.ledger.clone();
    if let Some(current) = &mut ledger.current {
        current.retry_at = None;
    }
    Step::Write(Box::new(ledger), Change::Record)
}
