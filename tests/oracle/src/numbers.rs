//! S1 and S3: one object for a number, and a cause for every number. L2: the ledger knows them all.

use std::collections::BTreeSet;

use cartouche_crds::{CurrentRun, RunPhase, RunnableStatus};

use crate::{
    loss::Lost,
    overlap::made_way,
    past::{Known, Past},
    retries::{asks, is_due_retry},
    verdict::{Excuse, Verdict},
};

/// Returns the run that a write intends, if any. A run that a rebuild finds again was intended before.
pub(crate) fn intended<'a>(
    old: &RunnableStatus,
    new: &'a RunnableStatus,
) -> Option<&'a CurrentRun> {
    let before = old.current_run.as_ref().map_or(0, |before| before.sequence);
    let after = new.current_run.as_ref()?;
    (after.sequence > before && after.phase != RunPhase::Created).then_some(after)
}

impl Past {
    /// Judges S1 to S3, and P3, of a run of ours that was just made, the last of all.
    pub(crate) fn judge_made(&mut self, index: usize) {
        self.judge_number(index);
        self.judge_repeated(index);
        self.judge_made_of(index);
        self.judge_intent(index);
        self.judge_made_with(index);
    }

    /// Judges S1 of all runs as they are.
    pub fn judge_numbers(&mut self) {
        for index in 0..self.runs.len() {
            if self.runs[index].is_ours() {
                self.judge_number(index);
            }
        }
    }

    /// S1: judges that no earlier run has its number.
    fn judge_number(&mut self, index: usize) {
        let new = &self.runs[index];
        let number = new.run.number.unwrap_or_default();
        let excuses = self
            .before(index, number)
            .map(|one| (one, self.excuse(one, new)));
        // Any two of them must be excused.
        let Some((one, excuse)) = excuses.min_by_key(|(_, excuse)| excuse.is_some()) else {
            return;
        };
        if let Some(excuse) = excuse {
            self.found.excuse(excuse);
        } else {
            let what = format!(
                "run {number} was made at {} and again at {}: {} and {}",
                one.at, new.at, one.run.name, new.run.name
            );
            self.found.broken("S1", what);
        }
    }

    /// Returns runs of ours of the same Runnable with this number that were known before a run.
    fn before(&self, index: usize, number: i64) -> impl Iterator<Item = &Known> {
        let at = self.runs.at_number(&self.runs[index].run.runnable, number);
        let before = at.iter().filter(move |at| **at < index);
        before.map(|at| &self.runs[*at]).filter(|it| it.is_ours())
    }

    /// Returns the reason why a number was used twice, if it is excused.
    fn excuse(&self, one: &Known, other: &Known) -> Option<Excuse> {
        let served = self.runnables.get(&other.run.runnable);
        if served.is_some_and(|served| served.gone) {
            return Some(Excuse::OutlivedItsRunnable);
        }
        if !one.is_there() && one.unrecorded && one.run.hash == other.run.hash {
            return Some(Excuse::DeletedUnrecorded);
        }
        if !one.is_there() && one.forgettable {
            return Some(Excuse::DeletedAndForgotten);
        }
        let lost = self.is_lost_with_its_kind(one, &other.run.kind);
        lost.then_some(Excuse::LostWithItsKind)
    }

    /// Returns true if a ledger of runs of a kind need not know a run of another kind that it has lost.
    pub(crate) fn is_lost_with_its_kind(&self, one: &Known, kind: &str) -> bool {
        let losses = self.losses(&one.run.runnable).iter();
        let mut since = losses.filter(|loss| loss.at > one.at);
        let unseen = since.any(|loss| match loss.lost {
            Lost::Since | Lost::Everything => true,
            Lost::Runs => !self.is_stood_for(&one.run.kind),
        });
        unseen && one.run.kind != kind
    }

    /// S3: judges that two releases with different hashes made no two runs of one change. Their hashes do not
    /// show that it was one; the content of the runs does.
    fn judge_repeated(&mut self, index: usize) {
        let new = &self.runs[index];
        let number = |it: &Known| it.run.number.unwrap_or_default();
        let repeats = |other: &&Known| {
            let (first, second) = if number(other) < number(new) {
                (*other, new)
            } else {
                (new, *other)
            };
            let asks = second.run.token.is_some() && second.run.token != first.run.token;
            let is_over = first.cut_short || first.unrecorded || first.run.result == Some(false);
            number(first) + 1 == number(second)
                && are_of_two_releases(&first.run.hash, &second.run.hash)
                && first.run.content.is_some()
                && first.run.kind == second.run.kind
                && first.run.content == second.run.content
                && !asks
                && !is_over
        };
        let beside = [number(new) - 1, number(new) + 1];
        let own = beside.into_iter().flat_map(|it| self.before(index, it));
        let has_lost = !self.losses(&new.run.runnable).is_empty();
        let other = own.filter(repeats).find(|_| !has_lost);
        let told =
            other.map(|it| format!("{} and {} are of one change", it.run.name, new.run.name));
        if let Some(what) = told {
            self.found.broken("S3", what);
        }
    }

    /// S3: judges that a ledger gave the number to this hash and name before.
    fn judge_intent(&mut self, index: usize) {
        let Known { run, at, .. } = &self.runs[index];
        let intent = (
            run.number.unwrap_or_default(),
            run.hash.clone(),
            run.name.clone(),
        );
        let served = self.runnables.get(&run.runnable);
        let intended = served.and_then(|served| served.intents.get(&intent));
        if self.sight.has_intents() && intended.is_none_or(|(before, _)| before >= at) {
            let what = format!("{} was made before any ledger named it", run.name);
            self.found.broken("S3", what);
        }
    }

    /// S3: judges that every number has a cause, and that none is given back.
    pub(crate) fn judge_growth(
        &mut self,
        runnable: &str,
        old: &RunnableStatus,
        new: &RunnableStatus,
        second: Option<i64>,
    ) {
        let Some(after) = &new.current_run else {
            if old.current_run.is_some() {
                self.found
                    .broken("S3", format!("the ledger of {runnable} is gone"));
            }
            return;
        };
        let Some(before) = &old.current_run else {
            // An unlogged one may have existed before, unless it was removed.
            if !self.sight.is_partial() || !self.losses(runnable).is_empty() {
                self.judge_beginning(runnable, after);
            }
            return;
        };
        if after.sequence < before.sequence {
            let what = format!(
                "the ledger of {runnable} went back from run {} to {}",
                before.sequence, after.sequence
            );
            self.found.broken("S3", what);
        }
        let is_asked = after.sequence > before.sequence && !self.sight.is_partial();
        if is_asked && !self.has_cause(runnable, (old, before), after, second) {
            let what = format!("run {} of {runnable} has no cause", after.sequence);
            self.found.broken("S3", what);
        }
    }

    fn has_cause(
        &self,
        runnable: &str,
        (old, before): (&RunnableStatus, &CurrentRun),
        after: &CurrentRun,
        second: Option<i64>,
    ) -> bool {
        let asks = |answered: Option<&str>| asks(after, answered);
        let tried_again = !asks(old.last_answered()) && is_due_retry(before, after, second);
        let served = self.runnables.get(runnable);
        let restored = served.is_some_and(|served| served.restored);
        // A controller that has seen a higher number than there is after a loss lists the runs once more.
        let has_lost = served.is_some_and(|served| served.reached > before.sequence);
        if (restored || has_lost) && self.catches_up(after) {
            return true;
        }
        let newest = self.newest(runnable);
        let behind = newest.filter(|it| it.run.number >= Some(before.sequence));
        if let Some(newest) = behind.filter(|_| restored) {
            let same = newest.run.hash == after.input_hash && !asks(newest.run.token.as_deref());
            // A restored status may be no older than its run.
            let is_last = newest.run.number == Some(before.sequence);
            return !newest.is_there()
                || !same
                || is_number_of(newest, after)
                || is_last && tried_again;
        }
        let run = before.uid.as_deref().and_then(|uid| self.run(uid));
        before.input_hash != after.input_hash
            || (before.phase == RunPhase::Created && asks(old.last_answered()))
            // The user who cancelled it wants no other one of the same.
            || run.is_some_and(|run| run.cut_short && before.stop.is_none() && !run.cancelled)
            || tried_again
            || made_way(before) && !self.is_done(runnable, before)
            || self.is_taken(runnable, before)
    }

    /// Returns true if a run that was to be replaced did its work: it has succeeded, or turned up
    /// unexpectedly.
    fn is_done(&self, runnable: &str, before: &CurrentRun) -> bool {
        let runs = self.runs.numbered(runnable, before.sequence);
        let mut runs = runs.filter(|it| it.is_of(runnable) && !it.unrecorded);
        runs.any(|it| before.uid.is_none() || it.run.result == Some(true))
    }

    /// Returns true if newer runs were found than those of a restored or rebuilt status.
    fn catches_up(&self, after: &CurrentRun) -> bool {
        let run = after.uid.as_deref().and_then(|uid| self.run(uid));
        let number = run.map(|known| known.run.number);
        number.is_some_and(|number| number.is_none_or(|number| number == after.sequence))
    }

    /// Returns the run of ours with the highest number, even if it no longer exists.
    fn newest(&self, runnable: &str) -> Option<&Known> {
        self.runs.of(runnable).rev().find(|it| it.is_of(runnable))
    }

    /// Returns true if a foreign object had the name of a number, at its intent or later, and no run was made
    /// for it; one that was deleted too early (I1) does not count.
    pub(crate) fn is_taken(&self, runnable: &str, before: &CurrentRun) -> bool {
        let intended = self
            .runnables
            .get(runnable)
            .map_or(0, |served| served.since);
        let holds = |it: &Known| {
            it.run.name == before.name
                && it.run.kind == before.kind
                && it.gone.is_none_or(|gone| gone > intended)
        };
        let mut others = self.runs.iter().filter(|it| !it.is_of(runnable));
        let own = self.runs.numbered(runnable, before.sequence);
        let mut own = own.filter(|it| it.is_of(runnable) && it.run.hash == before.input_hash);
        before.phase != RunPhase::Created && others.any(holds) && own.all(|it| it.unrecorded)
    }

    /// S3: judges that a ledger where there was none begins with the newest existing run.
    fn judge_beginning(&mut self, runnable: &str, after: &CurrentRun) {
        let adopted = after.uid.as_deref().and_then(|uid| self.run(uid));
        let mut live = self.runs.iter().filter(|it| {
            it.is_there()
                && it.is_of(runnable)
                && (it.is_ours() || !self.sight.is_partial())
                && adopted.is_none_or(|adopted| it.is_newer_than(adopted))
        });
        let Some(newer) = live.next() else { return };
        let losses = self.losses(runnable);
        let silent = losses.last().filter(|loss| loss.lost == Lost::Everything);
        let unseen = silent.is_some() || !self.is_stood_for(&newer.run.kind);
        if silent.is_some_and(|loss| newer.at > loss.at) {
            self.found.excuse(Excuse::LostWhileOnItsWay);
        } else if !losses.is_empty() && newer.run.kind != after.kind && unseen {
            self.found.excuse(Excuse::LostWithItsKind);
        } else {
            let what = format!(
                "run {} of {runnable} begins, though {} is there",
                after.sequence, newer.run.name
            );
            self.found.broken("S3", what);
        }
    }

    /// L2: returns the existing runs of a Runnable that its ledger does not have, each with its excuse if
    /// there is one.
    #[must_use]
    pub fn unknown(&self, runnable: &str) -> Verdict {
        let mut found = Verdict::default();
        let status = self.runnables.get(runnable).map(|served| &*served.status);
        let entries = status.into_iter().flat_map(crate::past::entries);
        let known: BTreeSet<&str> = entries.filter_map(|(_, _, uid)| uid).collect();
        let own = self.runs.of(runnable);
        let there = own.filter(|it| it.is_there() && it.is_of(runnable));
        for run in there.filter(|it| !known.contains(&*it.run.uid)) {
            if let Some(excuse) = self.unknown_for(run) {
                found.excuse(excuse);
            } else {
                let what = format!("the ledger of {runnable} does not know {}", run.run.name);
                found.broken("L2", what);
            }
        }
        found
    }

    /// Returns the reason why a ledger does not know a run, if it is excused.
    #[must_use]
    pub fn unknown_for(&self, known: &Known) -> Option<Excuse> {
        let run = &known.run;
        let losses = self.losses(&run.runnable);
        // The controller waited for a run that the original had on its way, if anything showed that it had
        // existed.
        let mut before = losses.iter().take_while(|loss| loss.at < known.at);
        if run.number.is_none() && before.any(|loss| loss.lost == Lost::Everything) {
            return Some(Excuse::LostWhileOnItsWay);
        }
        let others = |number| self.runs.numbered(&run.runnable, number);
        let is_hasty = |it: &Known| it.is_of(&run.runnable) && it.unrecorded;
        if run
            .number
            .is_some_and(|number| others(number).any(is_hasty))
        {
            return Some(Excuse::DeletedUnrecorded);
        }
        let status = self.runnables.get(&run.runnable).map(|it| &*it.status);
        let current = status.and_then(|status| status.current_run.as_ref());
        let other_kind = Some(&run.kind) != current.map(|current| &current.kind);
        let mut after = losses.iter().skip_while(|loss| loss.at <= known.at);
        (other_kind && after.any(|loss| loss.lost != Lost::Runs)).then_some(Excuse::LostWithItsKind)
    }

    /// Returns true if a template renders runs of this kind, so that the controller looks for them where a
    /// ledger is gone.
    pub(crate) fn is_stood_for(&self, kind: &str) -> bool {
        self.templates.values().any(|stands| stands == kind)
    }

    /// Returns a run by its uid.
    #[must_use]
    pub fn known(&self, uid: &str) -> Option<&Known> {
        self.run(uid)
    }
}

/// Returns true if the intended run is this very one: its create was on its way when the backup was restored,
/// and has arrived since. A further create meets its name, so that none is made again.
fn is_number_of(newest: &Known, after: &CurrentRun) -> bool {
    let run = &newest.run;
    (run.number, &run.name, &run.kind) == (Some(after.sequence), &after.name, &after.kind)
}

/// Returns true if a ledger may have this hash for a run that was made with the other one. A run keeps the
/// hash of its release; another release writes its own version of the hash of the same document.
pub(crate) fn may_be_same(said: &str, made: &str) -> bool {
    said == made || are_of_two_releases(said, made)
}

/// Returns true if two hashes are of two versions, so that they do not show whether they are of one document.
pub(crate) fn are_of_two_releases(one: &str, other: &str) -> bool {
    let versions = version(one).zip(version(other));
    versions.is_some_and(|(one, other)| one != other)
}

/// Returns the version before a hash, if there is one: `v`, a number, and a colon.
fn version(hash: &str) -> Option<&str> {
    let (version, _) = hash.split_at_checked(hash.find(':')? + 1)?;
    let number = version.strip_prefix('v')?.strip_suffix(':')?;
    let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
    is_number.then_some(version)
}
