//! Chains of Runnables: what a Runnable is made from, and what of that holds its next run back.
//! Pure.
//!
//! A *source* is what an input of a Runnable is read from: an output of another Runnable, a key of
//! a `ConfigMap` or Secret, a field of any object. A source that is *traced* has a *revision*,
//! which identifies its content and is never a counter. The revisions of a Runnable's sources, and
//! of all that these derive from, are what it was made from ([`trace`](crate::trace)). They are
//! kept beside the ledger, run by run ([`Provenance`]).
//!
//! The next run is held back while a source is at work ([`settle`]), while its sources derive from
//! different revisions of one ancestor ([`coherence`]), and on a cycle ([`graph`]). [`readiness()`]
//! checks all of that.

pub mod coherence;
pub mod graph;
mod provenance;
mod readiness;
pub mod settle;
mod shown;

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::Hash,
    sync::Arc,
};

pub use cartouche_crds::{Coherence, WaitFor};
use cartouche_crds::{
    Runnable, RunnableStatus,
    conditions::{READY, RECONCILING, RUN_TEMPLATE_READY, STALLED, find, follows_upstream},
};
use cartouche_language::short_hash;
use serde_json::{Value as Json, json};

use crate::{
    category::Category,
    ledger::Ledger,
    references::runnables,
    rerun,
    sinks::is_written,
    trace::{Revision, SourceKey, Sources},
};
pub use provenance::Provenance;
pub use readiness::{
    Question, Readiness, Source, SourceError, Value, readiness, rests_on_own_reads, trace_sources,
};

/// A Runnable that is a source, or an ancestor of one: as it was read consistently, or else from a
/// cache.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Its `metadata.generation`.
    pub generation: i64,
    /// True if its `spec.suspend` is true.
    pub suspended: bool,
    /// True if it is being deleted.
    pub deleting: bool,
    /// The coherence that it requires of its own sources.
    pub coherence: Coherence,
    /// The re-run request on it, which changes no generation.
    pub rerun_token: Option<String>,
    /// Its status.
    pub status: Arc<RunnableStatus>,
    /// True if any of its inputs is read from a source, traced or not.
    pub has_sources: bool,
    /// The provenance of its runs, from the same status.
    pub provenance: Provenance,
    /// The revision of its present outputs; `None` if it has none.
    pub revision: Option<Revision>,
    /// The names of its sensitive outputs that are not yet written to their Secret.
    pub behind: BTreeSet<String>,
    /// The Runnables that its own inputs are read from, each with its `waitFor`. Two inputs from
    /// one source use the stricter.
    pub reads: BTreeMap<SourceKey, WaitFor>,
    /// The other objects that its own inputs are read from, as far as references name them.
    pub objects: BTreeSet<SourceKey>,
    /// The `ServiceAccount` that it reads them as: namespace and name.
    pub account: String,
}

impl Seen {
    /// Returns the state of an object.
    #[must_use]
    pub fn from_runnable(runnable: &Runnable) -> Self {
        let status = runnable.status.clone().unwrap_or_default();
        let provenance = Provenance::from_ledger(&Ledger::from_status(&status));
        let sources = runnable.spec.inputs_from.as_deref().unwrap_or_default();
        let namespace = runnable.metadata.namespace.as_deref();
        Self {
            generation: runnable.metadata.generation.unwrap_or_default(),
            suspended: runnable.spec.suspend == Some(true),
            deleting: runnable.metadata.deletion_timestamp.is_some(),
            coherence: runnable.spec.coherence.unwrap_or_default(),
            rerun_token: rerun::find_request(runnable),
            has_sources: !sources.is_empty(),
            provenance,
            revision: revision(&status),
            behind: behind(&status),
            reads: runnables(namespace.unwrap_or_default(), sources),
            objects: shown::objects(namespace.unwrap_or_default(), sources),
            account: account(runnable),
            status: Arc::new(keep_reported(status)),
        }
    }

    /// Returns all that Runnables which derive from it decide by. It changes with its outputs.
    #[must_use]
    pub fn bearing(&self) -> impl Hash {
        let current = self.status.current_run.as_ref();
        let busy = settle::busy(self);
        let has_succeeded = settle::has_succeeded(&self.status);
        let run = current.map(|run| run.result);
        let is_still = (
            !self.reacts(),
            settle::cannot_look(self),
            settle::has_looked_in_vain(self),
            follows_upstream(&self.status),
        );
        (
            (self.generation, self.has_sources),
            is_still,
            self.reads.clone(),
            busy,
            has_succeeded,
            run,
            self.provenance.clone(),
            (self.revision.clone(), self.has_read()),
        )
    }

    /// Returns true if its account was allowed to read the sources of its inputs, by its own
    /// status. A spec alone is a claim, and may name anything. The status is the controller's
    /// statement: all sources are read for a rendering, and an error of that comes before any
    /// other.
    #[must_use]
    pub fn has_read(&self) -> bool {
        let reported = find(&self.status, RUN_TEMPLATE_READY);
        // A reason of a later release may be one that precludes reading.
        let precludes = |reason: &str| {
            Category::parse(reason)
                .is_none_or(|it| it.precludes_rendering() || it == Category::OtherController)
        };
        let is_unread = reported
            .is_some_and(|reported| reported.reason != READY && precludes(&reported.reason));
        self.is_observed() && !is_unread
    }

    /// Returns true if its status is for its present spec.
    #[must_use]
    pub fn is_observed(&self) -> bool {
        self.status.observed_generation == Some(self.generation)
    }

    /// Returns the Runnables that it derives from for others, each with its `waitFor`; none before
    /// its account was allowed to read them.
    #[must_use]
    pub fn stems_from(&self) -> &BTreeMap<SourceKey, WaitFor> {
        const NONE: &BTreeMap<SourceKey, WaitFor> = &BTreeMap::new();
        if self.has_read() { &self.reads } else { NONE }
    }

    /// Returns true if it follows the outputs of its own sources. It does not while it is
    /// suspended, which a user requested, or while it is being deleted, however long that takes.
    #[must_use]
    pub fn reacts(&self) -> bool {
        !self.suspended && !self.deleting
    }

    /// Returns the sources of its current run, which are what it has looked at, or `None` if they
    /// are unknown.
    #[must_use]
    pub fn looked_at(&self) -> Option<&Sources> {
        self.provenance
            .of_current(&Ledger::from_status(&self.status))
    }

    /// Returns the sources of its outputs, or `None` if they are unknown, as after its status was
    /// lost. They then take no part in coherence, and the sources of what is made from them are
    /// unknown too.
    #[must_use]
    pub fn gives(&self) -> Option<&Sources> {
        let nothing = (!self.has_sources).then_some(const { &Sources::NOTHING });
        self.provenance.of_outputs().or(nothing)
    }

    /// Returns true if its outputs have unknown sources.
    pub(crate) fn is_of_unknown(&self) -> bool {
        self.revision.is_some() && self.gives().is_none()
    }

    /// Returns the Runnables that it waits for. A Runnable that takes another's outputs as they are
    /// does not depend on its state.
    pub fn waits_for(&self) -> impl Iterator<Item = &SourceKey> {
        waited_for(&self.reads)
    }

    /// Returns the same for those that it [derives from](Self::stems_from).
    pub fn follows(&self) -> impl Iterator<Item = &SourceKey> {
        waited_for(self.stems_from())
    }
}

fn waited_for(reads: &BTreeMap<SourceKey, WaitFor>) -> impl Iterator<Item = &SourceKey> {
    let reads = reads.iter();
    reads.filter_map(|(key, wait_for)| (*wait_for != WaitFor::Nothing).then_some(key))
}

/// Returns the `ServiceAccount` of a Runnable: namespace and name.
#[must_use]
pub fn account(runnable: &Runnable) -> String {
    let namespace = runnable.metadata.namespace.as_deref().unwrap_or_default();
    format!("{namespace}/{}", runnable.spec.service_account())
}

/// Returns the revision of the outputs, including sensitive ones once they are written.
fn revision(status: &RunnableStatus) -> Option<Revision> {
    const NONE: &BTreeMap<String, Json> = &BTreeMap::new();
    let sensitive = status.sensitive_outputs.iter();
    let sensitive = sensitive.filter(|(_, of)| is_written(status, of));
    let sensitive: BTreeMap<String, String> = sensitive
        .map(|(name, of)| (name.clone(), of.revision.clone()))
        .collect();
    let outputs = status.outputs.as_ref();
    let outputs = outputs.or_else(|| (!sensitive.is_empty()).then_some(NONE))?;
    Some(Revision::of_outputs(outputs, &sensitive))
}

/// Returns the sensitive outputs that are of an earlier run than the others.
fn behind(status: &RunnableStatus) -> BTreeSet<String> {
    let sensitive = status.sensitive_outputs.iter();
    let behind = sensitive.filter(|(_, of)| !is_written(status, of));
    behind.map(|(name, _)| name.clone()).collect()
}

/// Returns the part of a status that bears on Runnables which derive from this one.
fn keep_reported(status: RunnableStatus) -> RunnableStatus {
    let history = status.history.iter().filter(|run| run.result.is_none());
    let conditions = status.conditions.into_iter();
    let reported = conditions.filter_map(|mut it| match it.type_.as_str() {
        READY | RECONCILING | STALLED => Some(it),
        RUN_TEMPLATE_READY => {
            // Only its reason is needed.
            it.message = String::new();
            Some(it)
        }
        _ => None,
    });
    RunnableStatus {
        observed_generation: status.observed_generation,
        conditions: reported.collect(),
        outputs_from: status.outputs_from,
        current_run: status.current_run,
        pending: status.pending,
        answered_token: status.answered_token,
        history: Arc::new(history.cloned().collect()),
        ..RunnableStatus::default()
    }
}

/// The known Runnables, by their key.
pub type KnownRunnables = BTreeMap<SourceKey, Arc<Seen>>;

/// The reads of each node: a Runnable reads the sources of its inputs, and an object that outputs
/// are written to leads to the Runnables that write it.
pub type Edges = BTreeMap<SourceKey, BTreeSet<SourceKey>>;

/// Returns a hash of the generations of all these Runnables, as in [`Cause`](crate::ledger::Cause),
/// or `None` if there are none.
#[must_use]
pub fn generations(known: &KnownRunnables) -> Option<String> {
    let all: BTreeMap<&str, i64> = known
        .iter()
        .map(|(key, seen)| (key.as_str(), seen.generation))
        .collect();
    (!all.is_empty()).then(|| short_hash(&json!(all)))
}

/// Returns sources and all Runnables that they wait for, as far as they are known: nearest first,
/// each once.
pub(crate) fn family<'a>(
    sources: impl IntoIterator<Item = &'a SourceKey>,
    known: &'a KnownRunnables,
) -> Vec<(&'a SourceKey, &'a Seen)> {
    reach(sources, known, |_| true)
}

/// Returns the same without what only suspended or deleted Runnables wait for: it has no effect on
/// these sources.
pub(crate) fn moving<'a>(
    sources: impl IntoIterator<Item = &'a SourceKey>,
    known: &'a KnownRunnables,
) -> Vec<(&'a SourceKey, &'a Seen)> {
    reach(sources, known, Seen::reacts)
}

fn reach<'a>(
    sources: impl IntoIterator<Item = &'a SourceKey>,
    known: &'a KnownRunnables,
    goes_on: impl Fn(&Seen) -> bool,
) -> Vec<(&'a SourceKey, &'a Seen)> {
    let ancestors = |key: &&'a SourceKey| -> Vec<&'a SourceKey> {
        let seen = known.get(*key).filter(|seen| goes_on(seen));
        seen.map(|seen| seen.follows().collect())
            .unwrap_or_default()
    };
    let all = graph::reach(sources, ancestors);
    all.into_iter()
        .filter_map(|key| {
            let (key, seen) = known.get_key_value(key)?;
            Some((key, &**seen))
        })
        .collect()
}

#[cfg(test)]
mod tests;
