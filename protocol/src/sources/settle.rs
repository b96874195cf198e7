//! Checks if a Runnable that is a source is about to change its outputs. Pure.

use std::collections::BTreeSet;

use cartouche_crds::{
    PendingRun, RunResult, RunnableStatus,
    conditions::{READY, RECONCILING, STALLED, TRUE, find, follows_upstream},
};

use super::{KnownRunnables, Readiness, Seen, coherence::not_yet_looked, moving};
use crate::{
    category::Category,
    ledger::Ledger,
    messages::diagnosis::{Busy, NotReady},
    trace::SourceKey,
};

/// Returns the reason why a Runnable itself is about to change its outputs, whatever its own
/// sources do, or `None` if it is not. A suspended one is not: it was frozen on purpose, and no run
/// shall wait for a person. Nor is one that is being deleted.
#[must_use]
pub fn busy(seen: &Seen) -> Option<Busy> {
    if !seen.reacts() {
        return None;
    }
    let status = &*seen.status;
    let (ledger, current) = (Ledger::from_status(status), status.current_run.as_ref());
    let is_asked_again = ledger.is_asked_again(seen.rerun_token.as_deref());
    if status.observed_generation != Some(seen.generation) || is_asked_again {
        return Some(Busy::Changed);
    }
    // A rejected one stays at its present outputs: a number that was given for the rejected change
    // has no run.
    let is_refused = |pending: &PendingRun| pending.reason == Category::Rejected.as_str();
    let is_refused = status.pending.as_ref().is_some_and(is_refused);
    let is_at_work = if is_refused {
        ledger.has_unfinished_runs()
    } else {
        ledger.has_unfinished()
    };
    if is_at_work {
        return Some(Busy::AtWork);
    }
    if is_refused {
        return None;
    }
    if let Some(pending) = &status.pending {
        let reason = pending.reason.clone();
        let stalled = find(status, STALLED).filter(|it| it.status == TRUE);
        // It waits for something that does not come by itself.
        let is_in_vain = stalled.is_some_and(|it| it.reason == reason);
        return Some(if is_in_vain {
            Busy::Hindered(reason)
        } else {
            Busy::Waits(reason)
        });
    }
    // A retry that is due counts like any other: the intent of the attempt removes it.
    let is_tried_again = current.is_some_and(|run| run.retry_at.is_some());
    if is_tried_again {
        return Some(Busy::TriedAgain);
    }
    // It follows one of its own sources, and that one is checked itself.
    if follows_upstream(status) {
        return None;
    }
    // A permission, a template or an answer is missing.
    let reconciling = find(status, RECONCILING).filter(|it| it.status == TRUE)?;
    // Its outputs are in its status, if not in every sink: no other outputs come of that.
    if reconciling.reason == Category::OutputSinkFailed.as_str() {
        return None;
    }
    Some(Busy::Hindered(reconciling.reason.clone()))
}

/// Returns the Runnable that is not settled yet: the source itself, or the nearest one that it
/// waits for, as far as they are known. What a suspended or deleted Runnable waits for does not
/// count, since it reacts to none of it.
#[must_use]
pub fn unsettled(source: &SourceKey, known: &KnownRunnables) -> Option<(SourceKey, Busy)> {
    let mut all = moving([source], known).into_iter();
    all.find_map(|(key, seen)| Some((key.clone(), busy(seen)?)))
}

/// Returns the Runnable that this one waits for, the one that that waits for in turn, and so on, as
/// far as they are known. The last may be one that has not yet looked at the outputs of its own
/// sources.
#[must_use]
pub fn chain(of: &SourceKey, known: &KnownRunnables) -> Vec<(SourceKey, NotReady)> {
    let (mut chain, mut at) = (Vec::new(), of.clone());
    let mut met = BTreeSet::from([of.clone()]);
    while let Some(seen) = known.get(&at) {
        let sources: Vec<&SourceKey> = seen.waits_for().collect();
        let at_work = sources.iter().find_map(|key| unsettled(key, known));
        let next = at_work.map(|(key, why)| (key, NotReady::Busy(why)));
        let next = next.map(|(key, why)| Readiness::NotReady(key, why));
        let next = next.or_else(|| not_yet_looked(&sources, known));
        let Some(Readiness::NotReady(key, why)) = next else {
            break;
        };
        if !met.insert(key.clone()) {
            break;
        }
        let waits = matches!(&why, NotReady::Busy(Busy::Waits(reason)) if reason == Category::DependencyNotReady.as_str());
        chain.push((key.clone(), why));
        if !waits {
            break;
        }
        at = key;
    }
    chain
}

/// Returns true if the run for its present inputs has succeeded, by its own status.
#[must_use]
pub fn has_succeeded(status: &RunnableStatus) -> bool {
    let ready = find(status, READY);
    // Outputs that cannot be written to a sink are no failure of the run.
    let lacks_sinks = || {
        let current = status.current_run.as_ref();
        let result = current.and_then(|run| run.result);
        let reason = ready.map(|ready| ready.reason.as_str());
        result == Some(RunResult::Succeeded) && reason == Some(Category::OutputSinkFailed.as_str())
    };
    ready.is_some_and(|ready| ready.status == TRUE) || lacks_sinks()
}

/// Returns true if it can do nothing with its sources before a user corrects a fault, by its own
/// status. A Runnable whose run has failed looks at the next change like all others, and so does
/// one whose sinks cannot be written. If an earlier run has failed as well, `Stalled` is about that
/// one.
pub(super) fn cannot_look(seen: &Seen) -> bool {
    let is_stalled = find(&seen.status, STALLED).is_some_and(|it| it.status == TRUE);
    let is_precluded = stalled_on(seen).is_some_and(Category::precludes_rendering);
    is_precluded || (is_stalled && !seen.has_read())
}

/// Returns true if it has looked at its sources, and can make nothing of them before one of them
/// changes, by its own status.
pub(super) fn has_looked_in_vain(seen: &Seen) -> bool {
    stalled_on(seen).is_some_and(Category::is_of_dependencies)
}

fn stalled_on(seen: &Seen) -> Option<Category> {
    let stalled = find(&seen.status, STALLED).filter(|it| it.status == TRUE)?;
    Category::parse(&stalled.reason)
}
