//! Known runs, indexed by uid, and by Runnable and number: histories are long.

use std::{
    collections::BTreeMap,
    ops::{Deref, DerefMut},
};

use crate::past::Known;

/// Runs, in the order in which they became known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    all: Vec<Known>,
    by_uid: BTreeMap<String, usize>,
    by_runnable: BTreeMap<String, OfRunnable>,
}

/// Runs of one Runnable, including those that are not ours.
#[derive(Clone, Debug, Default)]
struct OfRunnable {
    by_number: BTreeMap<Option<i64>, Vec<usize>>,
    /// The first run of ours of each hash.
    first_of_hash: BTreeMap<String, usize>,
}

impl Runs {
    /// Adds a run, and returns its index.
    pub(crate) fn push(&mut self, known: Known) -> usize {
        let (index, run) = (self.all.len(), &known.run);
        self.by_uid.insert(run.uid.clone(), index);
        let own = self.by_runnable.entry(run.runnable.clone()).or_default();
        own.by_number.entry(run.number).or_default().push(index);
        if known.is_ours() {
            own.first_of_hash.entry(run.hash.clone()).or_insert(index);
        }
        self.all.push(known);
        index
    }

    /// Returns the index of the run of a uid.
    pub(crate) fn at(&self, uid: &str) -> Option<usize> {
        self.by_uid.get(uid).copied()
    }

    /// Returns the index of the first run of ours of a Runnable with this hash.
    pub(crate) fn first_of_hash(&self, runnable: &str, hash: &str) -> Option<usize> {
        let own = self.by_runnable.get(runnable)?;
        own.first_of_hash.get(hash).copied()
    }

    /// Returns the indices of runs of a Runnable with this number.
    pub(crate) fn at_number(&self, runnable: &str, number: i64) -> &[usize] {
        let own = self.by_runnable.get(runnable);
        own.and_then(|own| own.by_number.get(&Some(number)))
            .map_or(&[], Vec::as_slice)
    }

    /// Returns runs of a Runnable with this number.
    pub(crate) fn numbered(&self, runnable: &str, number: i64) -> impl Iterator<Item = &Known> {
        let at = self.at_number(runnable, number).iter();
        at.map(|&index| &self.all[index])
    }

    /// Returns all runs of a Runnable, those with the highest number last.
    pub(crate) fn of(&self, runnable: &str) -> impl DoubleEndedIterator<Item = &Known> {
        let own = self.by_runnable.get(runnable).into_iter();
        let at = own.flat_map(|own| own.by_number.values().flatten());
        at.map(|&index| &self.all[index])
    }
}

impl FromIterator<Known> for Runs {
    fn from_iter<T: IntoIterator<Item = Known>>(known: T) -> Self {
        let mut runs = Self::default();
        for known in known {
            runs.push(known);
        }
        runs
    }
}

impl Deref for Runs {
    type Target = [Known];

    fn deref(&self) -> &[Known] {
        &self.all
    }
}

impl DerefMut for Runs {
    fn deref_mut(&mut self) -> &mut [Known] {
        &mut self.all
    }
}
