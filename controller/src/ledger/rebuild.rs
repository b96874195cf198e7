//! A ledger out of the runs that exist: after a takeover from another controller, after the status
//! was lost, or when a backup of it was restored.

use cartouche_crds::{CurrentRun, HistoryEntry, RunPhase};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::{Ledger, RunIdentity};

/// The hash of a run whose rendering is not known: it has the version 0, which no release writes,
/// so that the run is compared by content instead.
pub const UNKNOWN_HASH: &str = "v0:unknown";

/// Runs without a sequence that are taken over at most, the newest first.
const MAX_ADOPTED: usize = 100;

/// A run that a consistent LIST, as the Runnable's `ServiceAccount`, showed.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// What it says about itself.
    pub run: &'a RunIdentity,
    /// Whether it contains what the template renders now.
    pub matches: bool,
}

/// Rebuilds the ledger from the runs that the Runnable controls. The highest sequence is current.
/// Runs without one, made by Cartographer, are put in order of creation: those newer than the
/// highest sequence follow it, older ones take free numbers below it.
///
/// `token` is the re-run request on the Runnable; without a ledger it counts as answered. `None`
/// when there is nothing to rebuild from, or when the ledger is not behind.
#[must_use]
pub fn rebuild(
    ledger: Option<&Ledger>,
    listed: &[Listed<'_>],
    runnable_uid: &str,
    token: Option<&str>,
) -> Option<Ledger> {
    let mut numbered: Vec<(i64, Listed<'_>)> = Vec::new();
    let mut unnumbered: Vec<Listed<'_>> = Vec::new();
    for one in listed
        .iter()
        .filter(|one| one.run.is_owned_by(runnable_uid))
    {
        match one.run.genuine_sequence(runnable_uid) {
            Some(sequence) => numbered.push((sequence, *one)),
            None => unnumbered.push(*one),
        }
    }
    numbered.sort_by_key(|(sequence, one)| (*sequence, one.run.created));
    // Of those made in the newest second, one that matches is the newest.
    unnumbered.sort_by(|a, b| {
        (a.run.created, a.matches, &a.run.name).cmp(&(b.run.created, b.matches, &b.run.name))
    });
    if unnumbered.len() > MAX_ADOPTED {
        unnumbered.drain(..unnumbered.len() - MAX_ADOPTED);
    }

    let known = ledger.and_then(|ledger| ledger.current.as_ref());
    if let Some(ledger) = ledger.filter(|ledger| ledger.current.is_some())
        && !listed
            .iter()
            .any(|one| ledger.is_behind(one.run, runnable_uid))
    {
        return None;
    }
    let mut next = ledger.cloned().unwrap_or_default();
    let top = numbered.pop();
    next.current = None;
    next.keep_superseded(known, top.map(|(sequence, _)| sequence));
    for (sequence, one) in numbered {
        next.place(entry(one.run, sequence));
    }
    let floor = top.and_then(|(_, one)| one.run.created);
    let (older, newer): (Vec<_>, Vec<_>) = unnumbered
        .into_iter()
        .filter(|one| !next.knows(&one.run.uid))
        .partition(|one| top.is_some() && one.run.created < floor);
    next.place_below(top.map(|(sequence, _)| sequence), &older);

    let mut last = top;
    let mut number = top.map_or(0, |(sequence, _)| sequence);
    for one in newer {
        if let Some((sequence, before)) = last {
            next.place(entry(before.run, sequence));
        }
        number += 1;
        last = Some((number, one));
    }
    let (sequence, newest) = last?;
    let answered = if known.is_none() {
        token.map(str::to_owned)
    } else {
        newest.run.rerun_token.clone()
    };
    next.current = Some(current(newest.run, sequence, answered));
    next.cap_history();
    Some(next)
}

impl Ledger {
    /// What the stale ledger held as current goes to the history, unless the run that takes its
    /// number is that very run.
    fn keep_superseded(&mut self, known: Option<&CurrentRun>, top: Option<i64>) {
        if let Some(known) = known
            .filter(|known| Some(known.sequence) != top && (known.uid.is_some() || known.attempted))
        {
            self.insert_history(HistoryEntry {
                sequence: known.sequence,
                input_hash: known.input_hash.clone(),
                api_version: known.api_version.clone(),
                kind: known.kind.clone(),
                name: known.name.clone(),
                uid: known.uid.clone(),
                result: known.result,
                started_at: known.started_at.clone().or_else(|| known.intent_at.clone()),
                finished_at: known.finished_at.clone(),
                message: String::new(),
            });
        }
    }

    /// Puts a run at its number; what is known of that very run already stays.
    fn place(&mut self, entry: HistoryEntry) {
        if let Some(at) = self
            .history
            .iter()
            .position(|other| other.sequence == entry.sequence)
        {
            if self.history[at].uid == entry.uid {
                return;
            }
            self.history.remove(at);
        }
        self.insert_history(entry);
    }

    /// Runs older than the highest number take the free numbers below it, the newest the highest.
    fn place_below(&mut self, top: Option<i64>, older: &[Listed<'_>]) {
        let mut number = top.unwrap_or(0);
        for one in older.iter().rev() {
            let Some(free) = (1..number)
                .rev()
                .find(|free| self.history.iter().all(|entry| entry.sequence != *free))
            else {
                break;
            };
            number = free;
            self.place(entry(one.run, free));
        }
    }
}

fn entry(run: &RunIdentity, sequence: i64) -> HistoryEntry {
    HistoryEntry {
        sequence,
        input_hash: hash(run),
        api_version: run.api_version.clone(),
        kind: run.kind.clone(),
        name: run.name.clone(),
        uid: Some(run.uid.clone()),
        result: None,
        started_at: time(run.created),
        finished_at: None,
        message: String::new(),
    }
}

fn current(run: &RunIdentity, sequence: i64, rerun_token: Option<String>) -> CurrentRun {
    CurrentRun {
        sequence,
        input_hash: hash(run),
        rerun_token,
        phase: RunPhase::Created,
        attempted: true,
        api_version: run.api_version.clone(),
        kind: run.kind.clone(),
        name: run.name.clone(),
        uid: Some(run.uid.clone()),
        intent_at: time(run.created),
        started_at: time(run.created),
        finished_at: None,
        result: None,
    }
}

fn hash(run: &RunIdentity) -> String {
    run.input_hash
        .clone()
        .unwrap_or_else(|| UNKNOWN_HASH.to_owned())
}

fn time(at: Option<Timestamp>) -> Option<Time> {
    at.map(Time)
}
