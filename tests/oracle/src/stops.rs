//! S7 of stopped runs: the ledger records the stop first, keeps it, and it leads to an end.

use std::collections::BTreeMap;

use cartouche_crds::{RunResult, RunnableStatus, Stop, StopReason};

use crate::past::{Known, Past};

/// The record of one run in a status.
#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    uid: &'a str,
    name: &'a str,
    result: Option<RunResult>,
    stop: Option<&'a Stop>,
}

fn entries(status: &RunnableStatus) -> impl Iterator<Item = Entry<'_>> {
    let current = status.current_run.iter().filter_map(|run| {
        Some(Entry {
            uid: run.uid.as_deref()?,
            name: &run.name,
            result: run.result,
            stop: run.stop.as_ref(),
        })
    });
    let earlier = status.history.iter().filter_map(|run| {
        Some(Entry {
            uid: run.uid.as_deref()?,
            name: &run.name,
            result: run.result,
            stop: run.stop.as_ref(),
        })
    });
    current.chain(earlier)
}

/// Returns true if the controller itself stops a run, because of its timeout or for a later run. In the run
/// this looks the same as a cancellation by a user.
pub(crate) fn is_ours(stop: Option<&Stop>) -> bool {
    stop.is_some_and(|stop| matches!(stop.reason, StopReason::TimedOut | StopReason::Replaced))
}

impl Past {
    /// Judges the stops in a ledger by the previous one.
    pub(crate) fn judge_stops(
        &mut self,
        runnable: &str,
        old: &RunnableStatus,
        new: &RunnableStatus,
    ) {
        let mut known = BTreeMap::new();
        for before in entries(old) {
            known.entry(before.uid).or_insert(before);
        }
        for after in entries(new) {
            let before = known.get(after.uid);
            let told = before.and_then(|before| before.stop);
            // A user's cancellation precedes our own replacement.
            let is_theirs = told.is_some_and(|told| told.reason == StopReason::Replaced)
                && after.result == Some(RunResult::Failed)
                && (after.stop).is_some_and(|stop| stop.reason == StopReason::Cancelled);
            if told.is_some() && told != after.stop && !is_theirs {
                let what = format!(
                    "{} was told to stop, and that is not so any more",
                    after.name
                );
                self.found.broken("S7", what);
            }
            if after.stop.is_some() && after.result == Some(RunResult::Lost) {
                let what = format!("{} was told to stop, and is said to be lost", after.name);
                self.found.broken("S7", what);
            }
            if after.stop.is_some() {
                self.served(runnable).told.insert(after.uid.to_owned());
            }
            let had_ended = before.is_some_and(|before| before.result.is_some());
            if told.is_none() && is_ours(after.stop) && had_ended {
                let what = format!("{} is told to stop after its end", after.name);
                self.found.broken("S7", what);
            }
        }
    }

    /// Judges a controller's request to stop a run, even if the run ignores it. A request may arrive after
    /// the end was written, or after others removed the ledger that recorded it.
    pub fn tell_stop(&mut self, uid: &str) {
        let is_said = |known: &Known| {
            let served = self.runnables.get(&known.run.runnable);
            let was_said = served.is_some_and(|served| served.told.contains(uid));
            self.stop_of(known).is_some() || known.forgettable && was_said
        };
        if !self.run(uid).is_some_and(is_said) {
            let what = format!("{uid} is asked to stop, and its ledger does not say so");
            self.found.broken("S7", what);
        }
    }

    /// Returns true if the ledger records the stop of a run, and no end of it.
    pub(crate) fn is_told(&self, known: &Known) -> bool {
        self.stop_of(known)
            .is_some_and(|(_, result)| result.is_none())
    }

    /// Returns the ledger's record of the stop of a run.
    fn stop_of(&self, known: &Known) -> Option<(&Stop, Option<RunResult>)> {
        let served = self.runnables.get(&known.run.runnable)?;
        let mut entries = entries(&served.status);
        let entry = entries.find(|entry| entry.uid == known.run.uid)?;
        Some((entry.stop?, entry.result))
    }
}
