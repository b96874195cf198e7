//! The observations of each Runnable's present change in the watches.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use tokio::sync::mpsc;

use crate::measure::Latencies;

/// Measurements of changes that were answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// From the watch event of a changed input to the watch event of its run.
    pub(crate) change_to_run: Latencies,
    /// From the watch event of a run's success to the watch event of its outputs.
    pub(crate) success_to_output: Latencies,
    /// From sending the change to the watch event of its outputs.
    pub(crate) change_to_output: Latencies,
    /// Runs made for a change that had one already.
    pub(crate) duplicates: u64,
}

impl Tally {
    /// Returns the number of changes whose outputs arrived.
    pub(crate) fn answered(&self) -> usize {
        self.change_to_output.len()
    }

    /// Adds another measurement of the same load.
    pub(crate) fn add(&mut self, other: &Self) {
        self.change_to_run.add(&other.change_to_run);
        self.success_to_output.add(&other.success_to_output);
        self.change_to_output.add(&other.change_to_output);
        self.duplicates += other.duplicates;
    }
}

/// The present change of one Runnable.
#[derive(Clone, Debug)]
struct Slot {
    change: u64,
    sent: Instant,
    shown: Option<Instant>,
    run: Option<Instant>,
    succeeded: Option<Instant>,
    answered: bool,
    /// Runs seen by change: the index is the number of the change.
    runs: Vec<u16>,
}

/// The Runnables of a field, by their index.
pub(crate) struct Board {
    inner: Mutex<Inner>,
    answers: mpsc::UnboundedSender<usize>,
}

struct Inner {
    slots: Vec<Slot>,
    tally: Tally,
}

impl Board {
    /// Returns a board for this many Runnables, whose first change is number 0. The receiver gets the index
    /// of each Runnable whose outputs have arrived.
    pub(crate) fn new(runnables: usize) -> (Self, mpsc::UnboundedReceiver<usize>) {
        let (answers, receiver) = mpsc::unbounded_channel();
        let slot = Slot {
            change: 0,
            sent: Instant::now(),
            shown: None,
            run: None,
            succeeded: None,
            answered: false,
            runs: Vec::new(),
        };
        let inner = Inner {
            slots: vec![slot; runnables],
            tally: Tally::default(),
        };
        let board = Self {
            inner: Mutex::new(inner),
            answers,
        };
        (board, receiver)
    }

    /// Begins a change that is about to be sent, and returns its number.
    pub(crate) fn change(&self, index: usize) -> u64 {
        let mut inner = self.lock();
        let Some(slot) = inner.slots.get_mut(index) else {
            return 0;
        };
        slot.change += 1;
        slot.sent = Instant::now();
        (slot.shown, slot.run, slot.succeeded) = (None, None, None);
        slot.answered = false;
        slot.change
    }

    /// Returns the number of the latest change of a Runnable.
    pub(crate) fn latest(&self, index: usize) -> u64 {
        self.lock().slots.get(index).map_or(0, |slot| slot.change)
    }

    /// Records a watch event of a Runnable with this change in its inputs, and that one in its outputs.
    pub(crate) fn runnable_shown(&self, index: usize, change: u64, output: Option<u64>) {
        let now = Instant::now();
        let mut inner = self.lock();
        let Inner { slots, tally } = &mut *inner;
        let Some(slot) = slots.get_mut(index) else {
            return;
        };
        if slot.change != change {
            return;
        }
        slot.shown.get_or_insert(now);
        if output != Some(change) || slot.answered {
            return;
        }
        slot.answered = true;
        tally.change_to_output.record(slot.sent, now);
        // A run's own watch may show it a moment after the Runnable's.
        let succeeded = slot.succeeded.unwrap_or(now);
        tally.success_to_output.record(succeeded, now);
        let run = slot.run.unwrap_or(succeeded);
        tally.change_to_run.record(slot.shown.unwrap_or(run), run);
        // There is no receiver only while the benchmark ends.
        let _ = self.answers.send(index);
    }

    /// Records the first watch event of a run.
    pub(crate) fn run_shown(&self, index: usize, change: u64) {
        let now = Instant::now();
        let mut inner = self.lock();
        let Inner { slots, tally } = &mut *inner;
        let Some(slot) = slots.get_mut(index) else {
            return;
        };
        let number = usize::try_from(change).unwrap_or(usize::MAX).min(1 << 20);
        if slot.runs.len() <= number {
            slot.runs.resize(number + 1, 0);
        }
        let Some(runs) = slot.runs.get_mut(number) else {
            return;
        };
        *runs = runs.saturating_add(1);
        tally.duplicates += u64::from(*runs > 1);
        if slot.change == change {
            slot.run.get_or_insert(now);
        }
    }

    /// Records the watch event that the run of this change has succeeded.
    pub(crate) fn success_shown(&self, index: usize, change: u64) {
        let mut inner = self.lock();
        if let Some(slot) = inner
            .slots
            .get_mut(index)
            .filter(|slot| slot.change == change)
        {
            slot.succeeded.get_or_insert_with(Instant::now);
        }
    }

    /// Marks all changes as answered.
    pub(crate) fn all_are_answered(&self) {
        for slot in &mut self.lock().slots {
            slot.answered = true;
        }
    }

    /// Returns the number of Runnables whose latest change has no outputs yet.
    pub(crate) fn unanswered(&self) -> usize {
        let inner = self.lock();
        inner.slots.iter().filter(|slot| !slot.answered).count()
    }

    /// Returns the measurements since the last call, and begins anew.
    pub(crate) fn take_tally(&self) -> Tally {
        std::mem::take(&mut self.lock().tally)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_answered_once_by_its_own_output() {
        let (board, mut answers) = Board::new(2);
        assert_eq!(board.change(1), 1);
        board.runnable_shown(1, 1, Some(0));
        board.run_shown(1, 1);
        board.success_shown(1, 1);
        board.runnable_shown(1, 1, Some(1));
        board.runnable_shown(1, 1, Some(1));
        assert_eq!(answers.try_recv().unwrap(), 1);
        assert!(answers.try_recv().is_err());
        let tally = board.take_tally();
        assert_eq!((tally.answered(), tally.duplicates), (1, 0));
        assert_eq!(board.take_tally().answered(), 0);
    }

    #[test]
    fn a_second_run_of_one_change_is_a_duplicate() {
        let (board, _answers) = Board::new(1);
        board.change(0);
        board.run_shown(0, 1);
        board.run_shown(0, 1);
        board.run_shown(0, 2);
        assert_eq!(board.take_tally().duplicates, 1);
    }
}
