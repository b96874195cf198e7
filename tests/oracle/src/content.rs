//! S2: the ledger's record of a run is true, and an object of others is no run.

use std::collections::HashMap;

use cartouche_crds::RunnableStatus;

use crate::{
    history::{Actor, Run},
    numbers::may_be_same,
    past::{Entry, Known, Past, Sight, entries},
    verdict::Excuse,
};

/// Seconds that a run may seem older than its intent.
pub(crate) const CLOCKS_SECONDS: i64 = 30;

impl Past {
    /// Judges that a run that was just made has the content of others of its hash, and the ledger's content
    /// of its number.
    pub(crate) fn judge_made_of(&mut self, index: usize) {
        let new = &self.runs[index];
        let first = self.runs.first_of_hash(&new.run.runnable, &new.run.hash);
        let before = first.filter(|at| *at < index).map(|at| &self.runs[at]);
        let content = |it: &Known| (it.run.kind.clone(), it.run.content.clone());
        if let Some(before) = before.filter(|it| content(it) != content(new)) {
            let what = format!(
                "{} has the hash of {:?}, but is {:?}",
                new.run.name,
                content(before),
                content(new)
            );
            self.found.broken("S2", what);
        }
        let served = self.runnables.get(&self.runs[index].run.runnable);
        if let Some(status) = served.map(|served| std::sync::Arc::clone(&served.status)) {
            self.judge_entries(&Said::of(&status), index);
        }
    }

    /// Judges S2 of every entry of a ledger.
    pub fn judge_content(&mut self, runnable: &str, status: &RunnableStatus) {
        for (sequence, _, uid) in entries(status) {
            let Some(uid) = uid else { continue };
            match self.run(uid) {
                Some(known) if known.maker == Actor::Stranger => {
                    self.judge_stranger(runnable, sequence, uid);
                }
                Some(known) if known.is_of(runnable) => {}
                // More has happened than the events show.
                None if self.sight != Sight::Whole => {}
                _ => {
                    let what = format!("run {sequence} of {runnable} is said to be {uid}");
                    self.found.broken("S2", what);
                }
            }
        }
        // Entries do not concern other runs.
        let mut concerned: Vec<usize> = entries(status)
            .flat_map(|(sequence, _, uid)| {
                let named = uid.and_then(|uid| self.runs.at(uid));
                let numbered = self.runs.at_number(runnable, sequence).iter().copied();
                numbered.chain(named)
            })
            .collect();
        concerned.sort_unstable();
        concerned.dedup();
        let said = Said::of(status);
        for index in concerned {
            if self.runs[index].is_ours() && self.runs[index].run.runnable == runnable {
                self.judge_entries(&said, index);
            }
        }
    }

    /// Judges that a run is as the ledger of its Runnable records its uid and its number.
    fn judge_entries(&mut self, said: &Said<'_>, index: usize) {
        let Known {
            run,
            rehashed,
            forgettable,
            ..
        } = &self.runs[index];
        let is_its = |hash: &str| {
            let mut own = std::iter::once(&run.hash).chain(rehashed);
            own.any(|own| may_be_same(hash, own))
        };
        let other = said.of_run(run).find(|(sequence, hash, uid)| {
            let named = *uid == Some(run.uid.as_str());
            let numbered = run.number == Some(*sequence);
            // After a loss a number may be given anew, so that only confirmed entries count; and a ledger
            // that has found both again records what each is.
            let is_of_another =
                || !named && uid.is_some_and(|uid| self.has_number(&run.runnable, uid, *sequence));
            let concerned = named || numbered && !forgettable && !is_of_another();
            concerned && !(numbered && is_its(hash))
        });
        if let Some((sequence, hash, _)) = other {
            let what = format!(
                "run {sequence} is said to be of {hash}, but {} is run {:?} of {}",
                run.name, run.number, run.hash
            );
            self.found.broken("S2", what);
        }
    }

    /// Returns true if this is a run of the Runnable that was made under that number. S1 judges that no two
    /// are.
    fn has_number(&self, runnable: &str, uid: &str, number: i64) -> bool {
        let known = self.run(uid);
        known.is_some_and(|it| it.is_of(runnable) && it.run.number == Some(number))
    }

    /// Judges that an object of others is no run, unless it overtook the create, or the ledger was lost.
    fn judge_stranger(&mut self, runnable: &str, sequence: i64, uid: &str) {
        let Some(known) = self.run(uid).filter(|known| !known.overtaken) else {
            return;
        };
        let served = self.runnables.get(runnable);
        let intents = served.into_iter().flat_map(|served| &served.intents);
        let mut intended = intents.filter(|((number, ..), _)| *number == sequence);
        let intended = intended.next().and_then(|(_, (_, second))| *second);
        let young = known
            .run
            .created
            .zip(intended)
            .is_some_and(|(made, intended)| intended - made <= CLOCKS_SECONDS);
        let excuse = if !self.losses(runnable).is_empty() {
            Excuse::ForgedAndLost
        } else if young {
            Excuse::QuickerThanTheCreate
        } else {
            let what = format!("run {sequence} of {runnable}, {uid}, is somebody else's");
            self.found.broken("S2", what);
            return;
        };
        self.found.excuse(excuse);
        if let Some(known) = self.run_mut(uid) {
            known.overtaken = true;
        }
    }
}

/// Entries of a status, indexed by number and by uid: histories are long, and are judged at every write.
struct Said<'a> {
    by_number: HashMap<i64, Vec<Entry<'a>>>,
    by_uid: HashMap<&'a str, Vec<Entry<'a>>>,
}

impl<'a> Said<'a> {
    fn of(status: &'a RunnableStatus) -> Self {
        let mut said = Self {
            by_number: HashMap::new(),
            by_uid: HashMap::new(),
        };
        for entry in entries(status) {
            said.by_number.entry(entry.0).or_default().push(entry);
            if let Some(uid) = entry.2 {
                said.by_uid.entry(uid).or_default().push(entry);
            }
        }
        said
    }

    /// Returns entries with the uid or the number of a run.
    fn of_run(&self, run: &Run) -> impl Iterator<Item = Entry<'a>> {
        let numbered = run.number.and_then(|number| self.by_number.get(&number));
        let named = self.by_uid.get(run.uid.as_str());
        numbered.into_iter().chain(named).flatten().copied()
    }
}
