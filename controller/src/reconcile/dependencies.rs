//! What the inputs of a Runnable stem from, beyond the objects that they are read from: out of the cache of Runnables.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use cartouche_protocol::{
    diagnosis::Diagnosis,
    facts::Dependencies,
    reconcile_error::ReconcileError,
    sourced_inputs::{SourceObject, SourceRead, Taken},
    sources::{Known, NotReady, Question, Readiness, Seen, SourceKey},
};

use super::{ControllerContext, LOOKED_UP_AFTER, reconciliation::Reconciliation};
use crate::{
    backoff::FIFTH, clock::boot_time, lock::lock, mutants, runnable_key::RunnableKey,
    watch::dependents::Concerned,
};

/// A wait that is over before this long is not told: most are, and each would cost two writes.
const TOLD_AFTER: Duration = Duration::from_secs(2);

impl ControllerContext {
    /// A Runnable has come or changed: those that stem from it look again, if they decide by what has changed.
    pub fn source_changed(&self, key: &RunnableKey) {
        let Some(cached) = key.find(&self.runnables) else {
            return;
        };
        let has_sources = cached
            .spec
            .inputs_from
            .as_ref()
            .is_some_and(|it| !it.is_empty());
        let concerned = self.dependents.applied(key, has_sources, || cached.seen());
        self.wake(key, concerned);
    }

    /// A Runnable is gone: the same.
    pub fn source_went(&self, key: &RunnableKey) {
        let concerned = self.dependents.deleted(key);
        self.wake(key, concerned);
    }

    /// The Runnables that are not there any more: the same.
    pub(super) fn sources_swept(&self, exists: impl Fn(&RunnableKey) -> bool) {
        for (key, concerned) in self.dependents.sweep(exists) {
            self.wake(&key, concerned);
        }
    }

    fn wake(&self, changed: &RunnableKey, concerned: Concerned) {
        for key in &concerned.readers {
            if concerned.outputs_changed
                && let Some(memory) = self.memories.known(key)
            {
                lock(&memory).runnable_changed(key, changed);
            }
            self.enqueuer.enqueue(key);
        }
        for key in &concerned.further {
            let memory = self.memories.known(key);
            if memory.is_some_and(|memory| lock(&memory).held_since.is_some()) {
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
        let known = self.known(read, consistent);
        let of = SourceKey::runnable(&self.key.namespace, &self.key.name);
        let question = Question {
            of: &of,
            sources: &taken.sources,
            known: &known,
            coherence: mutants::coherence(self.runnable.spec.coherence.unwrap_or_default()),
        };
        Dependencies::of(&question)
    }

    /// The Runnables that are read, and all that these stem from.
    fn known(&self, read: &BTreeMap<SourceObject, SourceRead>, consistent: bool) -> Known {
        let own = &self.key.namespace;
        let direct: BTreeMap<SourceKey, Arc<Seen>> = read
            .iter()
            .filter_map(|(object, read)| match read {
                SourceRead::Runnable(of) => Some((object.source_key(own, ""), of.seen.clone())),
                _ => None,
            })
            .collect();
        let mut known = Known::new();
        let mut next: Vec<SourceKey> = direct.keys().cloned().collect();
        while let Some(key) = next.pop() {
            if known.contains_key(&key) {
                continue;
            }
            let read = direct.get(&key);
            let cached = || Some(self.cached(&key)?);
            let seen = match read {
                Some(read) if consistent => Some(read.clone()),
                read => cached().or_else(|| read.cloned()),
            };
            if let Some(seen) = seen {
                if mutants::looks_further() {
                    next.extend(seen.reads.keys().cloned());
                }
                known.insert(key, seen);
            }
        }
        known
    }

    fn cached(&self, key: &SourceKey) -> Option<Arc<Seen>> {
        let (namespace, name) = key.as_runnable()?;
        let key = RunnableKey {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        Some(key.find(&self.ctx.runnables)?.seen())
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
        if !error.category.is_of_dependencies() {
            memory.held_since = None;
            return None;
        }
        let since = *memory.held_since.get_or_insert(now);
        let is_told = self
            .facts
            .stored
            .pending
            .as_ref()
            .is_some_and(|pending| pending.reason == error.category.as_str());
        let left = (since + TOLD_AFTER).saturating_sub(now);
        Some(left).filter(|left| is_hold && !is_told && !left.is_zero())
    }
}
