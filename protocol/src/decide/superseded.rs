//! Follows earlier runs that had not ended when they were superseded. Their first result is final.

use cartouche_crds::{ConcurrencyPolicy, HistoryEntry, RunResult};
use cartouche_language::bounds::LIGHT;
use k8s_openapi::jiff::SignedDuration;

use super::{Step, current_run::DELETED_UNFINISHED};
use crate::{
    evaluate::applies,
    facts::{Facts, NameRead, is_ahead},
    ledger::{Asked, CachedRun, Change, Ledger, RunName, old_enough, result_of, result_of_gone},
};

/// The time after which a run that was made, and that no watch has shown, is read. By then another
/// controller that saw it deleted has recorded how it ended.
const UNSEEN_FOR: SignedDuration = SignedDuration::from_mins(1);

/// Records their results. Reads that weigh much are recorded before further runs are read: hundreds
/// may end while nothing is followed.
pub(super) fn record_results(facts: &Facts) -> Step {
    let mut next = facts.ledger.clone();
    let mut unobserved = None;
    let is_heavy = facts.reads_weigh() > LIGHT;
    // Newest first: if two have ended, the outputs are those of the newer.
    for entry in facts
        .ledger
        .history
        .iter()
        .rev()
        .filter(|entry| entry.result.is_none() || entry.uid.is_none())
    {
        let source = next.outputs_from.clone();
        let known = (is_heavy && next != facts.ledger).then(|| next.clone());
        match (caught_up(facts, entry, next), known) {
            (Ok(changed), _) => next = changed,
            (Err(_), Some(known)) => {
                next = known;
                break;
            }
            (Err(step), None) => return step,
        }
        // A newer run may have ended long ago, in a ledger that was put back: it is read first, so
        // that its outputs are not replaced by those of this one.
        if let Some(name) = unobserved.clone()
            && next.outputs_from != source
        {
            return Step::ReadRun(name);
        }
        if is_unobserved(facts, entry) {
            unobserved.get_or_insert_with(|| RunName::from_history(entry));
        }
    }
    if next == facts.ledger {
        Step::Settled
    } else {
        Step::Write(Box::new(next), Change::Record)
    }
}

/// Returns true if nothing is known of a run that was made, and it was not read yet.
fn is_unobserved(facts: &Facts, entry: &HistoryEntry) -> bool {
    let is_known =
        |uid: &String| facts.fetched_run(uid).is_some() || facts.cached_run(uid).is_some();
    entry.uid.as_ref().is_some_and(|uid| !is_known(uid))
        && !facts.reads.contains_key(&RunName::from_history(entry))
}

/// Returns the ledger with all that is known of one entry, or the read that is missing.
fn caught_up(facts: &Facts, entry: &HistoryEntry, ledger: Ledger) -> Result<Ledger, Step> {
    let Some(uid) = &entry.uid else {
        return unconfirmed(facts, entry, ledger);
    };
    if let Some(found) = facts.fetched_run(uid) {
        return Ok(ledger.record(found, facts.now));
    }
    let Some(cached_run) = facts.cached_run(uid) else {
        return unseen(facts, entry, uid, ledger);
    };
    let result = result_of(cached_run.health.verdict);
    if !cached_run.deleted && is_judged_otherwise(facts, entry, cached_run) {
        return Err(Step::ReadRun(RunName::from_history(entry)));
    }
    if result.is_none() && !cached_run.deleted {
        return Ok(ledger);
    }
    // A run that has lost its label is reported as deleted too: only a read shows the difference.
    if !read_says_gone(facts, entry)? {
        return Ok(ledger);
    }
    let (result, message) = match result {
        Some(result) => (result, "deleted before its outputs could be read"),
        None => (RunResult::Failed, DELETED_UNFINISHED),
    };
    Ok(ledger.record_end(uid, result, cached_run.asked, message, facts.now))
}

/// Returns true if a watch has judged the run by other rules than those that a read now uses.
fn is_judged_otherwise(facts: &Facts, entry: &HistoryEntry, cached_run: &CachedRun) -> bool {
    let Ok(rendering) = &facts.rendering else {
        return false;
    };
    let template = applies(&rendering.rules_hash, entry);
    let rules = if template { &*rendering.rules_hash } else { "" };
    *cached_run.rules_hash != *rules && !facts.reads.contains_key(&RunName::from_history(entry))
}

/// Handles a run that no watch shows: a while after it started, a read says whether it still
/// exists.
fn unseen(facts: &Facts, entry: &HistoryEntry, uid: &str, ledger: Ledger) -> Result<Ledger, Step> {
    let started = entry.started_at.as_ref();
    // A time in the future comes from a fast clock or from an edit, and counts as none.
    let started = started.filter(|at| !is_ahead(facts, at.0));
    let is_young = facts
        .now
        .is_none_or(|now| started.is_some_and(|at| now.duration_since(at.0) < UNSEEN_FOR));
    // It is read once; but an answer that is there for another reason counts.
    let is_read = facts.reads.contains_key(&RunName::from_history(entry));
    let was_looked_for = facts.looked_for.contains(uid) && !is_read;
    if is_young || was_looked_for {
        return Ok(ledger);
    }
    if !read_says_gone(facts, entry)? {
        return Ok(ledger);
    }
    let result = result_of_gone(entry.stop.as_ref());
    let message = "gone before the controller saw its end";
    Ok(ledger.record_end(uid, result, Asked::No, message, facts.now))
}

/// Returns true if a read under its name did not find this run. A permission that is missing for a
/// while proves nothing. `Err` is the read that is missing.
fn read_says_gone(facts: &Facts, entry: &HistoryEntry) -> Result<bool, Step> {
    let name = RunName::from_history(entry);
    match facts.reads.get(&name) {
        None => Err(Step::ReadRun(name)),
        Some(NameRead::Denied) => Ok(false),
        Some(NameRead::Absent | NameRead::Found(_)) => Ok(true),
    }
}

/// Handles an entry whose create has an unknown outcome. Its run may have shown up; once no create
/// can be in flight any more, a read shows that there is none.
fn unconfirmed(facts: &Facts, entry: &HistoryEntry, ledger: Ledger) -> Result<Ledger, Step> {
    let name = RunName::from_history(entry);
    let named = match facts.reads.get(&name) {
        Some(NameRead::Found(found)) => Some(&found.run),
        _ => None,
    };
    let run = facts
        .cached_runs
        .iter()
        .map(|cached_run| &cached_run.run)
        .chain(named)
        .find(|run| facts.is_run_of_past(run, entry) && !ledger.knows(&run.uid));
    if let Some(run) = run {
        let run = run.clone();
        return Ok(ledger.shown_up(&run));
    }
    if entry.result.is_some() {
        return Ok(ledger);
    }
    match (
        old_enough(entry.started_at.as_ref(), facts.now),
        facts.reads.contains_key(&name),
    ) {
        (false, _) => Ok(ledger),
        (true, false) => Err(Step::ReadRun(name)),
        (true, true) if facts.reads.get(&name) == Some(&NameRead::Denied) => {
            // It may be at work, and the next run waits for it.
            if facts.policy.concurrency != ConcurrencyPolicy::Allow {
                return Ok(ledger);
            }
            Ok(ledger.give_up(entry.sequence, "could not be read", facts.now))
        }
        (true, true) => {
            Ok(ledger.forget(|other| other.sequence == entry.sequence && other.uid.is_none()))
        }
    }
}
