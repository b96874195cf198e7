//! Rebuilding the ledger from the existing runs: after a takeover from another controller, after the loss
//! of the status, or when a backup of it was restored.

use std::{collections::BTreeSet, sync::Arc};

use cartouche_crds::{
    CurrentRun, HistoryEntry, PinnedProfile, RunPhase, UnknownFields, short_message,
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::{Ledger, MAX_HISTORY, MAX_JUMP, RunIdentity, may_land, to_history};

/// Hash of a run whose rendering is not known. It has the version 0, which no release writes, so that the
/// run is compared by content instead.
pub const UNKNOWN_HASH: &str = "v0:unknown";

/// Maximum number of runs without a sequence that are taken over, the newest first.
const MAX_ADOPTED: usize = 100;

/// Run shown by a consistent LIST as the Runnable's `ServiceAccount`, or seen to go.
#[derive(Clone, Copy, Debug)]
pub struct ListedRun<'a> {
    /// Identity that the object claims.
    pub run: &'a RunIdentity,
    /// True if it contains what the template renders now.
    pub matches: bool,
}

/// Rebuilds the ledger from the runs that the Runnable controls. The highest sequence becomes current. Runs
/// without one, made by Cartographer, are put in order of creation: those newer than the highest sequence
/// follow it, older ones take free numbers below it.
///
/// `token` is the re-run request on the Runnable; without a current run it counts as answered. Returns
/// `None` if there is nothing to rebuild from, or if the ledger is not behind.
#[must_use]
pub fn rebuild(
    ledger: &Ledger,
    listed: &[ListedRun<'_>],
    runnable_uid: &str,
    token: Option<&str>,
    now: Option<Timestamp>,
) -> Option<Ledger> {
    let known = ledger.current.as_ref();
    let highest = ledger.next_sequence() + MAX_JUMP;
    let (mut numbered, unnumbered) = in_order(listed, runnable_uid, highest);
    let behind = |(_, one): &(i64, ListedRun<'_>)| ledger.is_behind(one.run, runnable_uid);
    if known.is_some() && !numbered.iter().any(behind) {
        return None;
    }
    let since = known.map_or(0, |known| known.sequence);
    let mut latest = numbered
        .iter()
        .rev()
        .take_while(|(sequence, _)| *sequence >= since);
    let by_run = latest.find_map(|(_, one)| one.run.rerun_token.as_deref());
    let answered = match known {
        None => token.or(by_run),
        // Runs of Cartographer carry no request: the last answered one stays.
        Some(_) => by_run.or_else(|| ledger.answered_by_seen()),
    };
    let mut next = ledger.clone();
    let top = numbered.pop();
    next.current = None;
    next.keep_superseded(known, top, now);
    for (sequence, one) in numbered {
        next.place(entry(one.run, sequence));
    }
    let (newer, older): (Vec<_>, Vec<_>) = unnumbered
        .into_iter()
        .filter(|one| !next.knows(&one.run.uid))
        .partition(|one| top.is_none_or(|(_, top)| one.is_newer_than(top)));
    next.place_below(top.map(|(sequence, _)| sequence), &older);
    let (sequence, newest) = next.place_above(top, newer)?;
    let same = known.filter(|known| known.uid.as_ref() == Some(&newest.run.uid));
    if same.is_none() {
        let is_before = |answered: &&str| newest.run.rerun_token.as_deref() != Some(*answered);
        next.answered_token = answered.filter(is_before).map(str::to_owned);
    }
    // The last answered request counts, even if the newest run answered an older one.
    let is_last = next.answered_token.is_none();
    next.current = Some(same.cloned().unwrap_or_else(|| CurrentRun {
        rerun_token: newest.run.rerun_token.clone().filter(|_| is_last),
        ..current(newest.run, sequence)
    }));
    next.profile = pinned_by(ledger, newest.run);
    next.cap_history();
    Some(next)
}

/// Returns the pin for later runs. A lost ledger gets it from its newest run, where any client that may
/// create runs can have written it. A ledger that lost only its end keeps its own.
fn pinned_by(ledger: &Ledger, newest: &RunIdentity) -> Option<Box<PinnedProfile>> {
    let by_run = || {
        let profile = newest.profile.as_deref()?;
        Some(Box::new(PinnedProfile {
            name: profile.version.name.clone(),
            refresh_token: profile.refresh_token.clone(),
            from_run: true,
            unknown_fields: UnknownFields::default(),
        }))
    };
    ledger.profile.clone().or_else(by_run)
}

/// Returns the runs that carry a sequence, up to the highest that can be ours, lowest first, and those that
/// do not, oldest first.
fn in_order<'a>(
    listed: &[ListedRun<'a>],
    runnable_uid: &str,
    highest: i64,
) -> (Vec<(i64, ListedRun<'a>)>, Vec<ListedRun<'a>>) {
    let mut numbered: Vec<(i64, ListedRun<'_>)> = Vec::new();
    let mut unnumbered: Vec<ListedRun<'_>> = Vec::new();
    // Lists of two versions of one kind show the same runs; matching ones come first.
    let mut seen = BTreeSet::new();
    let (matching, others): (Vec<ListedRun<'_>>, Vec<ListedRun<'_>>) =
        listed.iter().copied().partition(|one| one.matches);
    let own = matching.into_iter().chain(others);
    let is_run = |run: &RunIdentity| run.is_owned_by(runnable_uid) && !run.made_with_status;
    for one in own.filter(|one| is_run(one.run) && seen.insert(&one.run.uid)) {
        match one.run.genuine_sequence(runnable_uid) {
            Some(sequence) if sequence > highest => {}
            Some(sequence) => numbered.push((sequence, one)),
            None => unnumbered.push(one),
        }
    }
    numbered.sort_by_key(|(sequence, one)| (*sequence, one.run.created));
    // A longer history would be refused as a status, or keep the next run from being made.
    numbered.drain(..numbered.len().saturating_sub(MAX_HISTORY));
    // Of the runs made in the newest second, a matching one counts as the newest.
    unnumbered.sort_by(|a, b| {
        (a.run.created, a.matches, &a.run.name).cmp(&(b.run.created, b.matches, &b.run.name))
    });
    unnumbered.drain(..unnumbered.len().saturating_sub(MAX_ADOPTED));
    (numbered, unnumbered)
}

impl ListedRun<'_> {
    /// Returns true if it was created after a run that carries a sequence. Within one second the order is
    /// unknown; it then counts as newer if it alone is what is rendered now.
    fn is_newer_than(&self, top: ListedRun<'_>) -> bool {
        (self.run.created, self.matches) > (top.run.created, top.matches)
    }
}

impl Ledger {
    /// Moves the current entry of the stale ledger to the history, unless it is the newest run, or another
    /// run has its number and it was never seen.
    fn keep_superseded(
        &mut self,
        known: Option<&CurrentRun>,
        top: Option<(i64, ListedRun<'_>)>,
        now: Option<Timestamp>,
    ) {
        let kept = known.filter(|known| match &known.uid {
            Some(uid) => top.is_none_or(|(_, top)| top.run.uid != *uid),
            None => {
                may_land(known, now) && top.is_none_or(|(sequence, _)| sequence != known.sequence)
            }
        });
        if let Some(known) = kept {
            // Without a uid the entry counts from now: a create for it may just have been sent.
            self.insert_history(to_history(known.clone(), now));
        }
    }

    /// Records these rules as those that unfinished runs were made under, if their rules are unknown, as
    /// for listed runs.
    #[must_use]
    pub fn made_under(mut self, rules_hash: &str) -> Self {
        let current = self.current.iter_mut();
        let current = current.map(|run| (run.result, &mut run.rules_hash));
        let earlier = Arc::make_mut(&mut self.history).iter_mut();
        let earlier = earlier.map(|run| (run.result, &mut run.rules_hash));
        for (result, rules) in current.chain(earlier) {
            if result.is_none() {
                rules.get_or_insert_with(|| rules_hash.to_owned());
            }
        }
        self
    }

    /// Puts a run at its number, in place of an entry whose run had not shown up. An entry that already has
    /// this very run stays. Another run with this number stays beside it: a run unknown to the ledger would
    /// cause a rebuild again and again.
    fn place(&mut self, entry: HistoryEntry) {
        if entry.uid.as_deref().is_some_and(|uid| self.knows(uid)) {
            return;
        }
        self.history_mut()
            .retain(|other| other.sequence != entry.sequence || other.uid.is_some());
        self.insert_history(entry);
    }

    /// Gives the following numbers to runs newer than the highest number. Returns the last run, which is to
    /// be current, and its number.
    fn place_above<'a>(
        &mut self,
        top: Option<(i64, ListedRun<'a>)>,
        newer: Vec<ListedRun<'a>>,
    ) -> Option<(i64, ListedRun<'a>)> {
        let highest = top.map_or(0, |(sequence, _)| sequence);
        let first = highest.max(self.next_sequence() - 1) + 1;
        let mut runs: Vec<_> = top.into_iter().chain((first..).zip(newer)).collect();
        let last = runs.pop()?;
        for (sequence, one) in runs {
            self.place(entry(one.run, sequence));
        }
        Some(last)
    }

    /// Gives the free numbers below the highest to older runs, the newest first.
    fn place_below(&mut self, top: Option<i64>, older: &[ListedRun<'_>]) {
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
        intent_at: None,
        taken_by: None,
        finished_at: None,
        message: String::new(),
        rules_hash: None,
        attempt: 1,
        stop: None,
        rerun_token: run.rerun_token.as_deref().map(short_message),
        sources: None,
        unknown: Vec::new(),
        unknown_fields: UnknownFields::default(),
    }
}

fn current(run: &RunIdentity, sequence: i64) -> CurrentRun {
    CurrentRun {
        sequence,
        input_hash: hash(run),
        approved: None,
        attempt: 1,
        rerun_token: None,
        phase: RunPhase::Created,
        attempted: true,
        api_version: run.api_version.clone(),
        kind: run.kind.clone(),
        name: run.name.clone(),
        uid: Some(run.uid.clone()),
        intent_at: None,
        started_at: time(run.created),
        finished_at: None,
        result: None,
        rules_hash: None,
        retry_at: None,
        stop: None,
        sources: None,
        unknown_fields: UnknownFields::default(),
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
