//! Provenance of the runs of a Runnable: what they were made from, beside its ledger. Pure.

use std::collections::BTreeMap;

use cartouche_crds::HistoryEntry;
use cartouche_language::Hashes;

use crate::{
    ledger::{Change, Ledger},
    trace::Sources,
};

/// Maximum number of earlier runs without an end whose sources are kept. With two hundred of them,
/// each of which may have [`MOST_SOURCES`](crate::trace::MOST_SOURCES), the API server would refuse
/// the status.
const MOST_UNFINISHED: usize = 16;

/// A run, by its number and the hash of its document: after a ledger was put back, two runs may
/// have one number.
type Run = (i64, String);

/// The sources of each run that still counts: the current one, those of the history that have not
/// ended, and the one that the outputs came from. In a status each of them has its own `sources`. A
/// run with unknown sources is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Provenance {
    runs: BTreeMap<Run, Sources>,
    outputs: Option<Sources>,
}

impl Provenance {
    /// Returns the provenance of these runs and outputs.
    #[must_use]
    pub fn new(runs: impl IntoIterator<Item = (Run, Sources)>, outputs: Option<Sources>) -> Self {
        Self {
            runs: runs.into_iter().collect(),
            outputs,
        }
    }

    /// Returns the provenance in a ledger.
    #[must_use]
    pub fn from_ledger(ledger: &Ledger) -> Self {
        let current = ledger.current.iter();
        let current = current.map(|run| (run.sequence, &run.input_hash, &run.sources));
        let history = ledger.history.iter().filter(|run| run.result.is_none());
        let history = history.map(|run| (run.sequence, &run.input_hash, &run.sources));
        let known = current
            .chain(history)
            .filter_map(|(number, hash, sources)| {
                let sources = sources.as_ref().map(Sources::read)?;
                Some(((number, hash.clone()), sources))
            });
        let outputs = ledger.outputs_from.as_ref();
        let outputs = outputs.and_then(|from| from.sources.as_ref());
        Self::new(known, outputs.map(Sources::read))
    }

    /// Returns the ledger with exactly these sources for its runs.
    #[must_use]
    pub fn apply_to(&self, mut ledger: Ledger) -> Ledger {
        let of_run = |number, hash: &str| self.of_run(number, hash).map(Sources::to_status);
        if let Some(current) = &mut ledger.current {
            current.sources = of_run(current.sequence, &current.input_hash);
        }
        if let Some(from) = &mut ledger.outputs_from {
            from.sources = self.outputs.as_ref().map(Sources::to_status);
        }
        // Most runs never have any, and share their history with others.
        let has_other = |run: &HistoryEntry| run.sources != of_run(run.sequence, &run.input_hash);
        let differs = |run: &HistoryEntry| {
            if run.result.is_none() {
                has_other(run)
            } else {
                run.sources.is_some()
            }
        };
        if ledger.history.iter().any(differs) {
            for run in ledger.history_mut() {
                let of_this_run = of_run(run.sequence, &run.input_hash);
                run.sources = of_this_run.filter(|_| run.result.is_none());
            }
        }
        ledger
    }

    /// Returns the sources of this run, if known.
    #[must_use]
    pub fn of_run(&self, sequence: i64, input_hash: &str) -> Option<&Sources> {
        self.runs.get(&(sequence, input_hash.to_owned()))
    }

    /// Returns the sources of this ledger's current run, if known.
    #[must_use]
    pub fn of_current(&self, ledger: &Ledger) -> Option<&Sources> {
        let current = ledger.current.as_ref()?;
        self.of_run(current.sequence, &current.input_hash)
    }

    /// Returns the sources of the outputs, if known.
    #[must_use]
    pub fn of_outputs(&self) -> Option<&Sources> {
        self.outputs.as_ref()
    }

    /// MOVE ON: returns true if the document of the current run is now rendered from these sources,
    /// and the ledger names others. These are then written, so that Runnables which derive from
    /// this one do not wait for it. Nothing is written if there are no sources, and were none.
    #[must_use]
    pub fn moves_on<'a>(
        &self,
        ledger: &Ledger,
        rendered: impl Into<Hashes<'a>>,
        sources: &Sources,
    ) -> bool {
        let current = ledger.current.as_ref();
        let known = self.of_current(ledger);
        let rendered = rendered.into();
        let is_of = |hash: &str| rendered.like(hash) == Some(hash);
        current.is_some_and(|current| is_of(&current.input_hash))
            && known.map_or(!sources.is_empty(), |known| known != sources)
    }

    /// Returns the provenance after a transition, or after none if only sources moved.
    ///
    /// `read` is what the present document derives from, by consistent reads, if the current run of
    /// `after` is of that document: with an intent, and with a move. Everything else keeps its
    /// sources: a superseded run that ends late brings those of its own entry. A rebuild adds no
    /// knowledge, whatever a run's object claims, since any client that may create runs could write
    /// it. The next look at the sources sets those of the current run.
    #[must_use]
    pub fn after(
        &self,
        before: &Ledger,
        (after, change): (&Ledger, Change),
        read: Option<&Sources>,
    ) -> Self {
        let mut next = Self::default();
        for run in unfinished(after) {
            if let Some(sources) = self.runs.get(&run) {
                next.runs.insert(run, sources.clone());
            }
        }
        if let Some(current) = &after.current {
            let known = self.of_run(current.sequence, &current.input_hash);
            let sources = match change {
                // Unknown sources of a new run stay unknown, even if its document is that of the
                // run before.
                Change::Intent | Change::MoveOn => read,
                // The same run by another hash, and the same intent by another number.
                Change::MigrateHash | Change::Renumber => known.or_else(|| self.of_current(before)),
                _ => known,
            };
            if let Some(sources) = sources {
                let run = (current.sequence, current.input_hash.clone());
                next.runs.insert(run, sources.clone());
            }
        }
        next.outputs = self.outputs_after(before, after, &next);
        next
    }

    /// Returns the sources of a ledger's outputs. If they are the current run's, they are known
    /// from it.
    fn outputs_after(&self, before: &Ledger, after: &Ledger, next: &Self) -> Option<Sources> {
        let from = after.outputs_from.as_ref()?;
        if after.is_at(&from.uid) {
            return next.of_current(after).cloned();
        }
        let same = before.outputs_from.as_ref();
        if same.is_some_and(|same| same.uid == from.uid) {
            return self.outputs.clone();
        }
        let mut history = after.history.iter();
        let entry = history.find(|entry| entry.uid.as_ref() == Some(&from.uid))?;
        self.of_run(entry.sequence, &entry.input_hash).cloned()
    }
}

/// The latest earlier runs that may still end. The sources of older ones are dropped.
fn unfinished(ledger: &Ledger) -> impl Iterator<Item = Run> {
    let latest = ledger.history.iter().rev();
    let unfinished = latest
        .filter(|run| run.result.is_none())
        .take(MOST_UNFINISHED);
    unfinished.map(|run| (run.sequence, run.input_hash.clone()))
}
