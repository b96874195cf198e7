//! What the inputs of a Runnable stem from, beyond the objects that they are read from: out of the cache of Runnables.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use cartouche_protocol::{
    category::Category,
    conditions,
    diagnosis::{Diagnosis, Failed, Lag, NotReady},
    facts::Dependencies,
    reconcile_error::ReconcileError,
    references::{self, SourceKind, SourceObject},
    sinks,
    sourced_inputs::{SourceRead, Taken},
    sources::{
        ASKED_AGAIN, Edges, Known, Provenance, Question, Readiness, Seen, SourceError, WaitFor,
        account,
    },
    trace::SourceKey,
};

use super::{
    context::ControllerContext,
    reconciliation::{LOOKED_UP_AFTER, Reconciliation},
};
use crate::{
    backoff::FIFTH,
    clock::boot_time,
    lock::lock,
    memory::{Hold, digest},
    mutants,
    runnable_key::RunnableKey,
    watch::dependents::Concerned,
};

/// So many Runnables that inputs stem from are looked at, at most. Of those that are waited for far fewer can be traced; among the others
/// no longer way round is found.
const MOST_FAMILY: usize = 1024;

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

    /// Whether a run of anybody who stems from it waits for what its inputs come from.
    fn is_waited_for(&self, key: &RunnableKey) -> bool {
        let below = self.dependents.below(key);
        let mut memories = below.iter().filter_map(|key| self.memories.known(key));
        memories.any(|memory| lock(&memory).telling.is_held())
    }

    /// The Runnables that are not there any more: the same.
    pub(super) fn sources_swept(&self, exists: impl Fn(&RunnableKey) -> bool) {
        for (key, concerned) in self.dependents.sweep(exists) {
            self.wake(&key, &concerned);
        }
    }

    /// Enqueues those that a change of a Runnable concerns.
    pub(super) fn wake(&self, changed: &RunnableKey, concerned: &Concerned) {
        for key in &concerned.readers {
            let memory = self.memories.known(key);
            let wait = memory.and_then(|memory| {
                let mut memory = lock(&memory);
                if !concerned.outputs_changed {
                    return memory.inputs_after(boot_time());
                }
                memory.sources_changed(|object| {
                    object.kind == SourceKind::Runnable
                        && object.namespace_in(&key.namespace) == changed.namespace
                        && object.name == changed.name
                });
                None
            });
            self.enqueuer.enqueue_in(key, wait);
        }
        for key in &concerned.further {
            let memory = self.memories.known(key);
            if memory.is_some_and(|memory| lock(&memory).telling.is_of_ancestors()) {
                self.enqueuer.enqueue(key);
            }
        }
    }
}

impl Reconciliation<'_> {
    /// Whether what the inputs stem from holds back a run that is due: by what was `read` if that was read just now, and
    /// by the cache for all that was not.
    pub(super) fn depends(
        &mut self,
        taken: &Taken,
        read: &BTreeMap<SourceObject, SourceRead>,
        consistent: bool,
    ) -> Dependencies {
        lock(&self.memory).telling.decide();
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
            account: &account(&self.runnable),
            sources: &taken.sources,
            known: &known,
            through_sinks: &self.through_sinks(),
            coherence: mutants::coherence(self.runnable.spec.coherence.unwrap_or_default()),
        };
        let mut dependencies = mutants::traced(Dependencies::of(&question));
        if self.puts_off(&dependencies) {
            dependencies.traced = None;
        }
        self.family = match dependencies.readiness {
            Readiness::Ready(_) => Vec::new(),
            _ => known.into_keys().collect(),
        };
        dependencies
    }

    /// True if the sources have moved, and that is not written yet: it was a moment ago and no Runnable waits for it, as far as this
    /// controller knows, or another controller puts other sources in their place.
    fn puts_off(&self, dependencies: &Dependencies) -> bool {
        let ledger = &self.facts.ledger;
        let provenance = Provenance::of(ledger);
        let known = provenance.of_current(ledger);
        let traced = dependencies.traced.as_ref();
        let moved = traced.filter(|traced| known != Some(*traced));
        let may_put_off = self.is_observed() && self.ctx.namespace.is_none();
        let (is_early, is_contested) = {
            let (telling, now) = (&mut lock(&self.memory).telling, boot_time());
            telling.puts_nothing_off();
            let is_contested = moved.is_some_and(|to| telling.is_contested(to, now));
            let is_early =
                (may_put_off || is_contested) && moved.is_some_and(|to| telling.puts_off(to, now));
            (is_early, is_contested)
        };
        let puts_off = is_early && (is_contested || !self.ctx.is_waited_for(&self.key));
        if is_early && !puts_off {
            lock(&self.memory).telling.puts_nothing_off();
        }
        puts_off
    }

    /// Whether the status is that of the last change. Whoever has changed it is answered, however often.
    fn is_observed(&self) -> bool {
        self.facts.stored.observed_generation == Some(self.facts.runnable.generation)
    }

    /// The latest time of the next look while the status says that a change upstream is on its way, should no event end that.
    pub(super) fn follows_again(&self) -> Option<Duration> {
        conditions::follows_upstream(&self.facts.stored).then_some(ASKED_AGAIN)
    }

    /// How long until it is written that the sources have moved, if that is put off.
    pub(super) fn moves_on_after(&self) -> Option<Duration> {
        lock(&self.memory).telling.moves_on_after(boot_time())
    }

    /// A run waits for what its inputs come from: those of them that have put off to tell what they have seen tell it now.
    fn hurry(&self) {
        for key in self.family.iter().filter_map(RunnableKey::of_source) {
            let memory = self.ctx.memories.known(&key);
            if memory.is_some_and(|memory| lock(&memory).telling.has_put_off()) {
                self.ctx.enqueuer.enqueue(&key);
            }
        }
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
            mutants::further(seen.follows().cloned().collect())
        });
        let is_whole = known.len() < MOST_FAMILY;
        let next: VecDeque<SourceKey> = taken.sources.iter().map(|it| it.key.clone()).collect();
        // Those whose outputs are taken as they are matter only where they lead back. The others are looked up once.
        let mut all = Known::new();
        let find_once = |key: &SourceKey| known.get(key).cloned().or_else(|| find(key));
        walk(&mut all, next, find_once, |seen| {
            mutants::further(seen.stems_from().keys().cloned().collect())
        });
        known.extend(all);
        is_whole.then_some(known).ok_or(MOST_FAMILY)
    }

    pub(super) fn cached(&self, key: &SourceKey) -> Option<Arc<Seen>> {
        let key = RunnableKey::of_source(key)?;
        Some(key.find(&self.ctx.runnables)?.seen())
    }

    /// Whether the cache has nothing newer of a Runnable, nor anything else, than what was read of it.
    pub(super) fn is_as_cached(&self, object: &SourceObject, read: &SourceRead) -> bool {
        let SourceRead::Runnable(read) = read else {
            return true;
        };
        let cached = self.cached(&object.source_key(&self.key.namespace, ""));
        cached.is_none_or(|cached| digest(cached.bearing()) == digest(read.seen.bearing()))
    }

    /// The ways that lead on through objects which have outputs of Runnables, the nearest first, up to [`MOST_FAMILY`] Runnables and objects;
    /// none while no Runnable names any that it writes to. Of others counts what they have read and written, as the cache tells; of this
    /// Runnable also what it is about to write. A claim holds back its owner alone.
    fn through_sinks(&self) -> Edges {
        let mut edges = Edges::new();
        if !self.ctx.dependents.knows_objects() {
            return edges;
        }
        let claimed = self.runnable.spec.write_outputs_to.as_deref();
        let claimed = sinks::written_by(&self.key.namespace, claimed.unwrap_or_default());
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
                if key != self.key && !self.ctx.dependents.has_read(&key) {
                    continue;
                }
                reads.extend(runnable.seen().reads.keys().cloned());
                next.extend(reads.iter().filter_map(RunnableKey::of_source));
            }
            for object in references::sinks(&key.namespace, sources) {
                let mut writers = self.ctx.dependents.writers(&object);
                if claimed.contains(&object) && !writers.contains(&self.key) {
                    writers.push(self.key.clone());
                }
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
            Readiness::NotReady(_, NotReady::Busy(_) | NotReady::Upstream)
            | Readiness::Failed(Failed::Source(_)) => taken.wrong.faults.is_empty(),
            _ => false,
        };
        let first = readiness.error().filter(|_| is_first);
        // Watches tell, and what nobody watches is read again anyhow.
        first.unwrap_or_else(|| taken.wrong.error(FIFTH.over(LOOKED_UP_AFTER)))
    }

    /// A run that is due waits for what its inputs come from: how long until that is told, if it is not yet.
    pub(super) fn not_yet_told(&self, error: &ReconcileError) -> Option<Duration> {
        let is_of_readiness = matches!(self.facts.dependencies.readiness, Readiness::Error(_));
        if !error.category.is_of_dependencies() && !is_of_readiness {
            lock(&self.memory).telling.is_free();
            return None;
        }
        let diagnosis = error.diagnosis.as_deref();
        let pending = self.facts.stored.pending.as_ref();
        let reason = pending.and_then(|pending| Category::parse(&pending.reason));
        let hold = Hold {
            is_passing: diagnosis.is_some_and(is_passing),
            is_written: reason.is_some_and(Category::is_of_dependencies) && self.is_observed(),
        };
        let left = lock(&self.memory).telling.hold(hold, boot_time());
        self.hurry();
        left
    }
}

/// Whether it may be over in a moment. Who is Stalled may be about to look at what has just come, and be so no more.
fn is_passing(diagnosis: &Diagnosis) -> bool {
    matches!(
        diagnosis,
        Diagnosis::DependencyNotReady(..)
            | Diagnosis::DependencyFailed(Failed::Incoherent {
                why: Lag::Stalled,
                ..
            })
    )
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
