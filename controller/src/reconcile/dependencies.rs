//! What the inputs of a Runnable stem from, beyond the objects that they are read from: out of the cache of Runnables.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use cartouche_protocol::{
    diagnosis::Diagnosis,
    facts::Dependencies,
    reconcile_error::ReconcileError,
    sourced_inputs::{self, SourceKind, SourceObject, SourceRead, Taken},
    sources::{Edges, Known, NotReady, Question, Readiness, Seen, SourceError, SourceKey, WaitFor},
};

use super::{ControllerContext, LOOKED_UP_AFTER, reconciliation::Reconciliation};
use crate::{
    backoff::FIFTH, clock::boot_time, lock::lock, memory::ByAncestors, mutants,
    runnable_key::RunnableKey, watch::dependents::Concerned,
};

/// So many Runnables that inputs stem from are looked at, at most. Of those that are waited for far fewer can be traced; among the others
/// no longer way round is found.
const MOST_FAMILY: usize = 1024;
/// A wait that is over before this long is not told: most are, and each would cost two writes.
const TOLD_AFTER: Duration = Duration::from_secs(2);
/// Whom it waits for may change with each step of what it stems from: that is told so often at most.
const TOLD_AGAIN_AFTER: Duration = Duration::from_secs(10);

impl ControllerContext {
    /// A Runnable has come or changed: those that stem from it look again, if they decide by what has changed.
    pub fn source_changed(&self, key: &RunnableKey) {
        let Some(cached) = key.find(&self.runnables) else {
            return;
        };
        let writes = cached.spec.write_outputs_to.iter().flatten().next();
        if writes.is_some() && !self.dependents.knows_objects() {
            let all = self.runnables.state();
            let all = all.iter().map(|it| (RunnableKey::of(it), &***it));
            let others = all.filter(|(other, _)| other != key);
            self.dependents.know_objects(others);
        }
        let concerned = self.dependents.applied(key, &cached, || cached.seen());
        self.wake(key, &concerned);
    }

    /// A Runnable is gone: the same.
    pub fn source_went(&self, key: &RunnableKey) {
        let concerned = self.dependents.deleted(key);
        self.wake(key, &concerned);
    }

    /// The Runnables that are not there any more: the same.
    pub(super) fn sources_swept(&self, exists: impl Fn(&RunnableKey) -> bool) {
        for (key, concerned) in self.dependents.sweep(exists) {
            self.wake(&key, &concerned);
        }
    }

    fn wake(&self, changed: &RunnableKey, concerned: &Concerned) {
        for key in &concerned.readers {
            if concerned.outputs_changed
                && let Some(memory) = self.memories.known(key)
            {
                lock(&memory).sources_changed(|object| {
                    object.kind == SourceKind::Runnable
                        && object.namespace_in(&key.namespace) == changed.namespace
                        && object.name == changed.name
                });
            }
            self.enqueuer.enqueue(key);
        }
        for key in &concerned.further {
            let memory = self.memories.known(key);
            if memory.is_some_and(|memory| lock(&memory).by_ancestors != ByAncestors::Nothing) {
                self.enqueuer.enqueue(key);
            }
        }
    }
}

impl Reconciliation<'_> {
    /// Whether what the inputs stem from holds back a run that is due: by what was `read` if that was read just now, and
    /// by the cache for all that was not.
    pub(super) fn depends(
        &self,
        taken: &Taken,
        read: &BTreeMap<SourceObject, SourceRead>,
        consistent: bool,
    ) -> Dependencies {
        lock(&self.memory).by_ancestors.decide();
        let known = match self.known(taken, read, consistent) {
            Ok(known) => known,
            Err(count) => {
                return Dependencies {
                    has_sources: true,
                    readiness: Readiness::Error(SourceError::TooMany(count)),
                    traced: None,
                    ..Dependencies::default()
                };
            }
        };
        let of = self.key.as_source();
        let question = Question {
            of: &of,
            sources: &taken.sources,
            known: &known,
            through_sinks: &self.through_sinks(),
            coherence: mutants::coherence(self.runnable.spec.coherence.unwrap_or_default()),
        };
        Dependencies::of(&question)
    }

    /// The Runnables that are read, and all that these stem from. `Err`: these are so many or more.
    fn known(
        &self,
        taken: &Taken,
        read: &BTreeMap<SourceObject, SourceRead>,
        consistent: bool,
    ) -> Result<Known, usize> {
        let own = &self.key.namespace;
        let direct: BTreeMap<SourceKey, Arc<Seen>> = read
            .iter()
            .filter_map(|(object, read)| match read {
                SourceRead::Runnable(of) => Some((object.source_key(own, ""), of.seen.clone())),
                _ => None,
            })
            .collect();
        let find = |key: &SourceKey| {
            let read = direct.get(key).cloned();
            if consistent && read.is_some() {
                return read;
            }
            self.cached(key).or(read)
        };
        let waited_for = taken.sources.iter();
        let waited_for = waited_for.filter(|it| it.wait_for != WaitFor::Nothing);
        let mut known = Known::new();
        let next: VecDeque<SourceKey> = waited_for.map(|it| it.key.clone()).collect();
        walk(&mut known, next, find, |seen| {
            mutants::further(seen.waits_for().cloned().collect())
        });
        let is_whole = known.len() < MOST_FAMILY;
        let next: VecDeque<SourceKey> = taken.sources.iter().map(|it| it.key.clone()).collect();
        // Those whose outputs are taken as they are matter only where they lead back. The others are looked up once.
        let mut all = Known::new();
        let find_once = |key: &SourceKey| known.get(key).cloned().or_else(|| find(key));
        walk(&mut all, next, find_once, |seen| {
            mutants::further(seen.reads.keys().cloned().collect())
        });
        known.extend(all);
        is_whole.then_some(known).ok_or(MOST_FAMILY)
    }

    fn cached(&self, key: &SourceKey) -> Option<Arc<Seen>> {
        let key = RunnableKey::of_source(key)?;
        Some(key.find(&self.ctx.runnables)?.seen())
    }

    /// The ways that lead on through objects which outputs are written to, the nearest first, up to [`MOST_FAMILY`] Runnables and objects;
    /// none while no Runnable writes to any. Who writes to an object only the cache tells.
    fn through_sinks(&self) -> Edges {
        let mut edges = Edges::new();
        if !self.ctx.dependents.knows_objects() {
            return edges;
        }
        let mut next = VecDeque::from([self.key.clone()]);
        while let Some(key) = next.pop_front() {
            let source = key.as_source();
            if edges.len() >= MOST_FAMILY {
                break;
            }
            if edges.contains_key(&source) {
                continue;
            }
            let Some(runnable) = key.find(&self.ctx.runnables) else {
                continue;
            };
            let sources = runnable.spec.inputs_from.as_deref().unwrap_or_default();
            let mut reads: BTreeSet<SourceKey> = BTreeSet::new();
            if !sources.is_empty() {
                reads.extend(runnable.seen().reads.keys().cloned());
                next.extend(reads.iter().filter_map(RunnableKey::of_source));
            }
            for object in sourced_inputs::sinks(&key.namespace, sources) {
                let writers = self.ctx.dependents.writers(&object);
                if !writers.is_empty() {
                    reads.insert(object.clone());
                    edges.insert(object, writers.iter().map(RunnableKey::as_source).collect());
                    next.extend(writers);
                }
            }
            edges.insert(source, reads);
        }
        edges
    }

    /// Why there are no inputs: that the Runnable stems from itself, all that has to be corrected, whom it waits for, or all that
    /// is not there, whichever comes first.
    pub(super) fn without_inputs(&self, taken: Taken) -> ReconcileError {
        let readiness = &self.facts.dependencies.readiness;
        let is_first = match readiness {
            Readiness::Cycle(_) => true,
            Readiness::NotReady(_, NotReady::Busy(_)) => taken.wrong.faults.is_empty(),
            _ => false,
        };
        let first = readiness.error().filter(|_| is_first);
        // Watches tell, and what nobody watches is read again anyhow.
        first.unwrap_or_else(|| taken.wrong.error(FIFTH.over(LOOKED_UP_AFTER)))
    }

    /// A run that is due waits for what its inputs come from: how long until that is told, if it is not yet.
    pub(super) fn not_yet_told(&self, error: &ReconcileError) -> Option<Duration> {
        let is_hold = matches!(
            error.diagnosis.as_deref(),
            Some(Diagnosis::DependencyNotReady(..))
        );
        let now = boot_time();
        let mut memory = lock(&self.memory);
        let is_of_readiness = matches!(self.facts.dependencies.readiness, Readiness::Error(_));
        if !error.category.is_of_dependencies() && !is_of_readiness {
            memory.by_ancestors = ByAncestors::Nothing;
            return None;
        }
        let since = memory.by_ancestors.hold(now);
        let is_written = self
            .facts
            .stored
            .pending
            .as_ref()
            .is_some_and(|pending| pending.reason == error.category.as_str());
        let until = match memory.hold_told {
            _ if !is_written => since + TOLD_AFTER,
            Some(at) => at + TOLD_AGAIN_AFTER,
            None => now,
        };
        let left = until.saturating_sub(now);
        Some(left).filter(|left| is_hold && !left.is_zero())
    }

    /// It was written whom a run waits for.
    pub(super) fn note_hold_told(&self, error: &ReconcileError) {
        if error.category.is_of_dependencies() && self.has_written {
            lock(&self.memory).hold_told = Some(boot_time());
        }
    }
}

/// Adds all that are reached, the nearest first, up to [`MOST_FAMILY`].
fn walk(
    known: &mut Known,
    mut next: VecDeque<SourceKey>,
    find: impl Fn(&SourceKey) -> Option<Arc<Seen>>,
    further: impl Fn(&Seen) -> Vec<SourceKey>,
) {
    while let Some(key) = next.pop_front() {
        if known.len() >= MOST_FAMILY {
            return;
        }
        if let (false, Some(seen)) = (known.contains_key(&key), find(&key)) {
            next.extend(further(&seen));
            known.insert(key, seen);
        }
    }
}
