//! Everything that the inputs of a Runnable derive from, beyond the objects they are read from, by the cache of
//! Runnables.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use cartouche_crds::conditions;
use cartouche_protocol::{
    category::Category,
    decide::ASKED_AGAIN,
    facts::Dependencies,
    messages::{
        diagnosis::{Diagnosis, Failed, Lag, NotReady},
        reconcile_error::ReconcileError,
    },
    references::{self, SourceKind, SourceObject},
    sinks,
    sourced_inputs::{SourceRead, Taken},
    sources::{
        Edges, KnownRunnables, Provenance, Question, Readiness, Seen, SourceError, WaitFor, account,
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

/// Maximum number of Runnables that are examined in the ancestry of the inputs. Far fewer can be traced of those that
/// are waited for; among the others no longer cycle is found.
const MOST_FAMILY: usize = 1024;

impl ControllerContext {
    /// Enqueues the Runnables that derive from a new or changed one, if they decide by what has changed.
    pub fn source_changed(&self, key: &RunnableKey) {
        let Some(cached) = key.find(&self.runnables) else {
            return;
        };
        let writes = cached.spec.write_outputs_to.iter().flatten().next();
        if writes.is_some() && !self.dependents.knows_objects() {
            let all = self.runnables.state();
            let all = all
                .iter()
                .map(|it| (RunnableKey::from_runnable(it), &***it));
            let others = all.filter(|(other, _)| other != key);
            self.dependents.know_objects(others);
        }
        let concerned = self.dependents.apply(key, &cached, || cached.state());
        self.wake(key, &concerned);
    }

    /// Enqueues the Runnables that derive from a deleted one, likewise.
    pub fn source_went(&self, key: &RunnableKey) {
        let concerned = self.dependents.delete(key);
        self.wake(key, &concerned);
    }

    /// Returns true if any Runnable that derives from this one has a run that waits for its ancestors.
    fn is_waited_for(&self, key: &RunnableKey) -> bool {
        let below = self.dependents.below(key);
        let mut memories = below.iter().filter_map(|key| self.memories.get(key));
        memories.any(|memory| lock(&memory).telling.is_held())
    }

    /// Enqueues the Runnables that derive from those that no longer exist, likewise.
    pub(super) fn sources_swept(&self, exists: impl Fn(&RunnableKey) -> bool) {
        for (key, concerned) in self.dependents.sweep(exists) {
            self.wake(&key, &concerned);
        }
    }

    /// Enqueues the Runnables that a change of a Runnable concerns.
    pub(super) fn wake(&self, changed: &RunnableKey, concerned: &Concerned) {
        for key in &concerned.readers {
            let memory = self.memories.get(key);
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
            let memory = self.memories.get(key);
            if memory.is_some_and(|memory| lock(&memory).telling.is_of_ancestors()) {
                self.enqueuer.enqueue(key);
            }
        }
    }
}

impl Reconciliation<'_> {
    /// Decides whether the ancestors of the inputs hold back a pending run. Trusts `read` if it was read just now
    /// (`consistent`), and otherwise prefers the cache.
    pub(super) fn depends(
        &mut self,
        taken: &Taken,
        read: &BTreeMap<SourceObject, SourceRead>,
        consistent: bool,
    ) -> Dependencies {
        lock(&self.memory).telling.decide();
        let known = match self.find_known(taken, read, consistent) {
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
        let mut dependencies = mutants::change_trace(Dependencies::from_question(&question));
        if self.puts_off(&dependencies) {
            dependencies.traced = None;
        }
        self.family = match dependencies.readiness {
            Readiness::Ready(_) => Vec::new(),
            _ => known.into_keys().collect(),
        };
        dependencies
    }

    /// Returns true if the sources have moved and writing that can wait. Either it was written a moment ago and no
    /// Runnable waits for it, as far as this controller knows, or another controller puts other sources in their place.
    fn puts_off(&self, dependencies: &Dependencies) -> bool {
        let ledger = &self.facts.ledger;
        let provenance = Provenance::from_ledger(ledger);
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

    /// Returns true if the status is that of the latest generation. Edits are always answered, however frequent.
    fn is_observed(&self) -> bool {
        self.facts.stored.observed_generation == Some(self.facts.runnable.generation)
    }

    /// Returns the maximum time until the next reconciliation while the status follows a change upstream, in case no
    /// event comes.
    pub(super) fn follows_again(&self) -> Option<Duration> {
        conditions::follows_upstream(&self.facts.stored).then_some(ASKED_AGAIN)
    }

    /// Returns the time until a move of the sources is written, if that was postponed.
    pub(super) fn moves_on_after(&self) -> Option<Duration> {
        lock(&self.memory).telling.moves_on_after(boot_time())
    }

    /// Enqueues the ancestors that have postponed writing a move of their sources, since a run waits for them.
    fn hurry(&self) {
        for key in self.family.iter().filter_map(RunnableKey::of_source) {
            let memory = self.ctx.memories.get(&key);
            if memory.is_some_and(|memory| lock(&memory).telling.has_put_off()) {
                self.ctx.enqueuer.enqueue(&key);
            }
        }
    }

    /// Returns the Runnables that are read, and all that these derive from. `Err` has their number if it reaches the
    /// limit.
    fn find_known(
        &self,
        taken: &Taken,
        read: &BTreeMap<SourceObject, SourceRead>,
        consistent: bool,
    ) -> Result<KnownRunnables, usize> {
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
            self.find_cached(key).or(read)
        };
        let waited_for = taken.sources.iter();
        let waited_for = waited_for.filter(|it| it.wait_for != WaitFor::Nothing);
        let mut known = KnownRunnables::new();
        let next: VecDeque<SourceKey> = waited_for.map(|it| it.key.clone()).collect();
        walk(&mut known, next, find, |seen| {
            mutants::further(seen.follows().cloned().collect())
        });
        let is_whole = known.len() < MOST_FAMILY;
        let next: VecDeque<SourceKey> = taken.sources.iter().map(|it| it.key.clone()).collect();
        // Sources whose outputs are taken without waiting matter only for cycles. Known ones are not looked up again.
        let mut all = KnownRunnables::new();
        let find_once = |key: &SourceKey| known.get(key).cloned().or_else(|| find(key));
        walk(&mut all, next, find_once, |seen| {
            mutants::further(seen.stems_from().keys().cloned().collect())
        });
        known.extend(all);
        is_whole.then_some(known).ok_or(MOST_FAMILY)
    }

    pub(super) fn find_cached(&self, key: &SourceKey) -> Option<Arc<Seen>> {
        let key = RunnableKey::of_source(key)?;
        Some(key.find(&self.ctx.runnables)?.state())
    }

    /// Returns true if the cache has nothing that differs from what was read of a Runnable, and for any other object.
    pub(super) fn is_as_cached(&self, object: &SourceObject, read: &SourceRead) -> bool {
        let SourceRead::Runnable(read) = read else {
            return true;
        };
        let cached = self.find_cached(&object.source_key(&self.key.namespace, ""));
        cached.is_none_or(|cached| digest(cached.bearing()) == digest(read.seen.bearing()))
    }

    /// Returns the edges through objects that hold outputs of Runnables, the nearest first, up to [`MOST_FAMILY`]
    /// nodes. There are none while no Runnable names an object to write to. Other Runnables count by what they have
    /// read and written according to the cache; this one also by what it is about to write. A claim holds back only its
    /// owner.
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
                reads.extend(runnable.state().reads.keys().cloned());
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

    /// Returns why there are no inputs. The order is: the Runnable derives from itself, faults to correct, sources that
    /// it waits for, missing objects.
    pub(super) fn without_inputs(&self, taken: Taken) -> ReconcileError {
        let readiness = &self.facts.dependencies.readiness;
        let is_first = match readiness {
            Readiness::Cycle(_) => true,
            Readiness::NotReady(_, NotReady::Busy(_) | NotReady::Upstream)
            | Readiness::Failed(Failed::Source(_)) => taken.wrong.faults.is_empty(),
            _ => false,
        };
        let first = readiness.error().filter(|_| is_first);
        // Watched sources send an event, and unwatched ones are polled anyway.
        first.unwrap_or_else(|| taken.wrong.error(FIFTH.over(LOOKED_UP_AFTER)))
    }

    /// Returns the time until an error about the ancestors of the inputs is reported, if that is postponed. Notes since
    /// when a pending run waits for them, and hastens those ancestors.
    pub(super) fn time_until_report(&self, error: &ReconcileError) -> Option<Duration> {
        let is_of_readiness = matches!(self.facts.dependencies.readiness, Readiness::Error(_));
        if !error.category.is_of_dependencies() && !is_of_readiness {
            lock(&self.memory).telling.clear_hold();
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

/// Returns true if the reason may pass in a moment. A Stalled source may be about to see what has just changed, and
/// recover.
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

/// Adds all keys that can be reached, the nearest first, up to [`MOST_FAMILY`].
fn walk(
    known: &mut KnownRunnables,
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
