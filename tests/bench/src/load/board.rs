//! What the watches have shown of each Runnable's present change.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use tokio::sync::mpsc;

use crate::measure::Latencies;

/// What was measured of changes that were answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// From the watch that shows a changed input to the watch that shows its run.
    pub(crate) change_to_run: Latencies,
    /// From the watch that shows a run's success to the watch that shows its outputs.
    pub(crate) success_to_output: Latencies,
    /// From sending the change to the watch that shows its outputs.
    pub(crate) change_to_output: Latencies,
    /// Runs made for a change that had one already.
    pub(crate) duplicates: u64,
}

impl Tally {
    /// Changes whose outputs arrived.
    pub(crate) fn answered(&self) -> usize {
        self.change_to_output.len()
    }

    /// Takes in what another measurement of the same thing has found.
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
    /// For so many Runnables, whose first change is number 0; the receiver gets the index of each
    /// Runnable whose outputs have arrived.
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

    /// A change is about to be sent: its number.
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

    /// The number of the latest change of a Runnable.
    pub(crate) fn latest(&self, index: usize) -> u64 {
        self.lock().slots.get(index).map_or(0, |slot| slot.change)
    }

    /// A watch shows a Runnable with this change in its inputs, and that one in its outputs.
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
        // Nobody listens only while the benchmark ends.
        let _ = self.answers.send(index);
    }

    /// A watch shows a run for the first time.
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

    /// A watch shows that the run of this change has succeeded.
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

    /// Nothing is waited for.
    pub(crate) fn all_are_answered(&self) {
        for slot in &mut self.lock().slots {
            slot.answered = true;
        }
    }

    /// Runnables whose latest change has no outputs yet.
    pub(crate) fn unanswered(&self) -> usize {
        let inner = self.lock();
        inner.slots.iter().filter(|slot| !slot.answered).count()
    }

    /// What was measured since the last call; the next begins from nothing.
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
