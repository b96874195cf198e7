//! Checks that earlier runs are over, if no two may be at work at once.
//!
//! A run is at work if it was made and has not ended, or if a create in flight may still make it.
//! The time of the last create is unknown, so such an entry is withdrawn first, and read a minute
//! later.

use std::time::Duration;

use cartouche_crds::{ConcurrencyPolicy, CurrentRun, HistoryEntry, StopReason};
use k8s_openapi::jiff::Timestamp;

use super::{STOPS_WITHIN, Step, looked_after, stop, superseded};
pub(super) use crate::facts::overlap::{is_asked, may_be_due};
use crate::{
    category::Category,
    facts::{Facts, NameRead, PolicyFrom, is_ahead},
    ledger::{
        AtWork, Change, LANDED_BY, Ledger, RunName, explanation::explanation, is_withdrawn,
        may_come, past_may_come,
    },
    messages::{
        diagnosis::{Diagnosis, InTheWay, Why},
        reconcile_error::{ReconcileError, Requeue},
    },
};

/// Returns the time until which an entry of another release is left alone: that release may be
/// about to make its run, and a minute after it was withdrawn no create of it can land. That
/// release reports it, so both do not write two texts in turn.
pub(super) fn left_alone_until(facts: &Facts, current: &CurrentRun) -> Option<Timestamp> {
    let stop = current.stop.as_ref().filter(|_| is_withdrawn(current));
    let since = match stop {
        Some(stop) => stop.at.0,
        None => current.intent_at.as_ref()?.0,
    };
    let is_left = may_be_due(facts, current) && !is_ahead(facts, since);
    is_left.then(|| since.checked_add(LANDED_BY).unwrap_or(Timestamp::MAX))
}

/// Returns true if the next run may have to wait, for earlier runs or for anything else, while there is
/// more to say about the current one.
pub(super) fn may_wait(facts: &Facts) -> bool {
    facts.policy.may_hold() || is_asked(facts)
}

/// Returns `Ok` once a run may be intended after those of this ledger. Otherwise returns the step
/// that brings that about, or the error that waits.
pub(super) fn over(facts: &Facts, ledger: &Ledger) -> Result<(), Step> {
    if !is_asked(facts) {
        return Ok(());
    }
    let does_not_stop = followed(facts)?;
    let current = ledger.current.as_ref();
    let unseen = current.filter(|run| may_come(run) || may_be_due(facts, run));
    let unseen = unseen.map_or(Ok(()), |current| unseen_is_over(facts, current));
    let over = unseen.and_then(|()| match facts.policy.concurrency {
        ConcurrencyPolicy::Allow => Ok(()),
        _ => all_made_are_over(facts, ledger),
    });
    over.map_err(|step| prefer_unstopped(step, does_not_stop))
}

/// Reports a run that does not stop, if there is one, instead of the wait.
fn prefer_unstopped(step: Step, does_not_stop: Option<ReconcileError>) -> Step {
    match (step, does_not_stop) {
        (Step::Stuck(_), Some(problem)) => Step::Stuck(problem),
        (step, _) => step,
    }
}

/// The same check before a create for the current entry, which was refused.
pub(super) fn earlier_are_over(facts: &Facts) -> Result<(), Step> {
    if facts.policy.concurrency == ConcurrencyPolicy::Allow {
        return Ok(());
    }
    let does_not_stop = followed(facts)?;
    all_made_are_over(facts, &facts.ledger).map_err(|step| prefer_unstopped(step, does_not_stop))
}

/// Returns the outcome of the current run if it was waited for: the status does not mention it
/// while it says what waits.
pub(super) fn explain_outcome(facts: &Facts) -> Option<String> {
    let current = facts.ledger.current.as_ref().filter(|_| may_wait(facts))?;
    let read = facts.fetched_run(current.uid.as_deref()?)?;
    let has_ended = current.result.is_some() && read.result() == current.result;
    has_ended.then(|| explanation(read, current.stop.as_ref()))
}

/// Writes down first how earlier runs ended, which may be all that is waited for. Returns the error
/// of one that does not stop: the next step still checks whether it has ended.
fn followed(facts: &Facts) -> Result<Option<ReconcileError>, Step> {
    let step = match &facts.ledger.current {
        Some(_) => looked_after(facts),
        // The remains of a ledger that was edited.
        None => superseded::record_results(facts),
    };
    match step {
        Step::Settled => Ok(None),
        Step::Stuck(problem) if problem.category == Category::StopFailed => Ok(Some(problem)),
        step => Err(step),
    }
}

/// Reads an entry whose run has not been seen, withdraws it if the run is absent, and reads once
/// more when no create for it can land any more.
fn unseen_is_over(facts: &Facts, current: &CurrentRun) -> Result<(), Step> {
    let name = RunName::from_current(current);
    let withdrawn = current.stop.as_ref();
    let withdrawn = withdrawn.filter(|stop| is_withdrawn(current) && !is_ahead(facts, stop.at.0));
    if let Some(stop) = withdrawn {
        return lands_no_more(facts, name, stop.at.0);
    }
    if !facts.reads.contains_key(&name) {
        return Err(Step::ReadRun(name));
    }
    let Some(now) = facts.now else {
        // The next answer of the API server has its time.
        return Err(waits(
            facts,
            vec![(name.clone(), may_come_since(facts, &name))],
            Some(Timestamp::MAX),
        ));
    };
    let withdrawn = facts.ledger.clone().withdraw(now);
    Err(Step::Write(Box::new(withdrawn), Change::MakeWay))
}

/// Checks an earlier entry that was superseded under another policy before its run was seen. A
/// withdrawn entry was read before it was superseded, unless the read was denied.
fn past_is_over(facts: &Facts, entry: &HistoryEntry) -> Result<(), Step> {
    match &entry.started_at {
        Some(last_sent) if past_may_come(entry) => {
            let is_ahead = is_ahead(facts, last_sent.0);
            let last_sent = if is_ahead {
                Timestamp::MIN
            } else {
                last_sent.0
            };
            lands_no_more(facts, RunName::from_history(entry), last_sent)
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns `Ok` once a read that began when no create could land any more finds no run. `last_sent`
/// is the time of the last create.
fn lands_no_more(facts: &Facts, name: RunName, last_sent: Timestamp) -> Result<(), Step> {
    let until = last_sent.checked_add(LANDED_BY).unwrap_or(Timestamp::MAX);
    if facts.now.is_none_or(|now| now < until) {
        return Err(waits(
            facts,
            vec![(name.clone(), may_come_since(facts, &name))],
            Some(until),
        ));
    }
    match facts.reads.get(&name) {
        None => Err(Step::ReadRun(name)),
        // It was withdrawn under another policy: a run that cannot be seen any more is not waited
        // for.
        Some(NameRead::Denied)
            if facts.policy.concurrency == ConcurrencyPolicy::Allow && !is_of_due(facts, &name) =>
        {
            Ok(())
        }
        Some(NameRead::Denied) => Err(waits(facts, vec![(name, Why::Unread)], None)),
        // A create may have landed since.
        Some(NameRead::Absent | NameRead::Found(_))
            if facts
                .read_since
                .get(&name)
                .is_none_or(|since| *since < until) =>
        {
            Err(Step::ReadRun(name))
        }
        // If it is its run, that was written down before this check.
        Some(NameRead::Absent | NameRead::Found(_)) => Ok(()),
    }
}

/// Returns the reason to wait for an unseen run of this name that may still come.
fn may_come_since(facts: &Facts, name: &RunName) -> Why {
    if is_of_due(facts, name) {
        Why::OtherRelease
    } else {
        Why::MayCome
    }
}

/// Returns true if this is the name of an entry that may have made a run of the pending change.
fn is_of_due(facts: &Facts, name: &RunName) -> bool {
    let current = facts.ledger.current.as_ref();
    current.is_some_and(|current| {
        RunName::from_current(current) == *name && may_be_due(facts, current)
    })
}

/// Checks that all runs that were made have ended, and that no create of an unseen one has landed.
/// Under the policy `Replace` the runs at work are stopped.
fn all_made_are_over(facts: &Facts, ledger: &Ledger) -> Result<(), Step> {
    let at_work: Vec<AtWork<'_>> = ledger.at_work().collect();
    // A watch may have judged one by rules that were corrected since, or have missed its end.
    if let Some(unread) = at_work
        .iter()
        .find(|run| !facts.reads.contains_key(&run.name))
    {
        return Err(Step::ReadRun(unread.name.clone()));
    }
    if !at_work.is_empty() {
        if facts.policy.concurrency == ConcurrencyPolicy::Replace {
            replaced(facts, &at_work)?;
        }
        let runs = at_work.into_iter().map(|run| {
            let why = match (facts.reads.get(&run.name), run.stop) {
                (Some(NameRead::Denied), _) => Why::Unread,
                (_, Some(_)) => Why::Stopping,
                (_, None) => Why::AtWork,
            };
            (run.name, why)
        });
        return Err(waits(facts, runs.collect(), None));
    }
    let mut unseen = ledger.history.iter();
    unseen.try_for_each(|entry| match (&entry.uid, entry.result) {
        (None, None) => past_is_over(facts, entry),
        _ => Ok(()),
    })
}

/// Records a stop for each run that the read finds at work and that has none yet, all in one write.
/// The requests are sent as after a timeout.
fn replaced(facts: &Facts, at_work: &[AtWork<'_>]) -> Result<(), Step> {
    // A cached template may say another way.
    if facts.policy_from != PolicyFrom::Read {
        return Err(Step::RenderAgain);
    }
    let Some(now) = facts.now else { return Ok(()) };
    let mut next = facts.ledger.clone();
    for run in at_work.iter().filter(|run| run.stop.is_none()) {
        match facts.reads.get(&run.name) {
            Some(NameRead::Found(found)) if stop::is_at_work(found, run) => {
                next = next.stop(run.uid, stop::reason(found, StopReason::Replaced), now);
            }
            // Other code handles all else about it.
            Some(NameRead::Found(_) | NameRead::Absent | NameRead::Denied) | None => {}
        }
    }
    if next == facts.ledger {
        return Ok(());
    }
    Err(Step::Write(Box::new(next), Change::MakeWay))
}

/// Returns the wait for these runs. Events announce their end; the retry is for a missed event.
fn waits(facts: &Facts, runs: Vec<(RunName, Why)>, until: Option<Timestamp>) -> Step {
    let namespace = &facts.runnable.namespace;
    let runs = runs.into_iter().map(|(name, why)| InTheWay {
        run: name.object(namespace),
        why,
        hindered: None,
    });
    let left = until.map(|until| match facts.now {
        Some(now) => until.duration_since(now).unsigned_abs(),
        None => Duration::from_secs(1),
    });
    let most = STOPS_WITHIN.unsigned_abs();
    let wait = left.map_or(most, |left| left.min(most));
    Step::Stuck(ReconcileError::from_diagnosis(
        Category::RunAtWork,
        Requeue::After(wait),
        Diagnosis::RunAtWork(runs.collect()),
        None,
    ))
}
