//! Checks if the sources of a Runnable hold back its next run. Pure.

use std::collections::BTreeSet;

use cartouche_crds::{Coherence, RunResult, WaitFor};

use super::{
    Edges, KnownRunnables, Seen, coherence, graph,
    settle::{has_succeeded, unsettled},
};
use crate::{
    messages::diagnosis::{Failed, NotReady},
    trace::{Revision, SourceKey, Sources, Trace, TraceError},
};

/// One input's source, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The key of the source.
    pub key: SourceKey,
    /// The `waitFor` of the input. For other objects than Runnables it only decides if they are
    /// traced.
    pub wait_for: WaitFor,
    /// The value that was read.
    pub value: Value,
    /// Its revision, [`Revision::without_value`] if an optional value is missing. `None` if it is not
    /// traced, or a required value is missing.
    pub revision: Option<Revision>,
}

/// The state of an input's value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// A value.
    Given,
    /// It is missing, and left out: a default may replace it.
    LeftOut,
    /// It is missing, and required.
    Missing,
    /// The object exists, and says that it is not ready.
    ObjectNotReady,
    /// It cannot be used, for this reason: it may not be read, a path does not lead to one value,
    /// or a name is given twice.
    Unusable(String),
}

/// The facts for the question if a Runnable may run.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The Runnable.
    pub of: &'a SourceKey,
    /// The `ServiceAccount` that it reads as, in the form of [`super::account`].
    pub account: &'a str,
    /// The sources of its inputs, in any order.
    pub sources: &'a [Source],
    /// The Runnables among these, as they were read with the values, and all others from a cache.
    pub known: &'a KnownRunnables,
    /// The edges through objects that outputs are written to. They only count for cycles: the
    /// object is what is read, and its writer is not waited for.
    pub through_sinks: &'a Edges,
    /// The coherence that is required of them.
    pub coherence: Coherence,
}

/// The answer to the question if the next run may be intended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It may, and is made from these sources; `None` if they are unknown.
    Ready(Option<Sources>),
    /// It waits for this source or ancestor (`DependencyNotReady`).
    NotReady(SourceKey, NotReady),
    /// Only a change helps (`DependencyFailed`).
    Failed(Failed),
    /// It depends on itself, by this path (`DependencyCycle`).
    Cycle(Vec<SourceKey>),
    /// A value cannot be used (`SourceError`).
    Error(SourceError),
}

impl Readiness {
    /// Returns the reason why a source or an ancestor is waited for, or `None` if none is.
    #[must_use]
    pub fn wait_reason(&self) -> Option<&NotReady> {
        match self {
            Self::NotReady(_, why) => Some(why),
            _ => None,
        }
    }
}

impl NotReady {
    /// Returns the reason why a Runnable does not react, or `None` if it does.
    pub(super) fn of_still(seen: &Seen) -> Option<Self> {
        let suspended = seen.suspended.then_some(Self::Suspended);
        suspended.or_else(|| seen.deleting.then_some(Self::Deleting))
    }
}

/// The reason why a value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceError {
    /// This source gives none, for this reason.
    Unusable(SourceKey, String),
    /// This many sources and ancestors are traced, which is too many.
    TooMany(usize),
}

/// Checks if the sources of a Runnable hold back its run. It applies only to a pending change.
///
/// A hold that only a user's change ends comes before one that ends by itself, as far as the spec
/// shows it. Of sources, one at work comes before one that has failed, since it is about to change
/// that. Of several alike the first by name is named.
#[must_use]
pub fn readiness(question: &Question<'_>) -> Readiness {
    held(question).unwrap_or_else(|| match trace_sources(question) {
        Ok(sources) => Readiness::Ready(sources),
        Err(TraceError::TooMany(count)) => Readiness::Error(SourceError::TooMany(count)),
        Err(TraceError::Incoherent(first)) => {
            let trace = trace(question.sources, question.known);
            let direct: Vec<&SourceKey> = waited_for(question).into_iter().collect();
            coherence::judge(&trace, &first, &direct, question.known)
        }
    })
}

/// Returns true if a run is held back only because the sources disagree on an object that is read
/// here and is no Runnable. A read from memory may be older than what the others have looked at
/// already: only a consistent read shows which one is behind.
#[must_use]
pub fn rests_on_own_reads(question: &Question<'_>) -> bool {
    if question.coherence == Coherence::Ignored {
        return false;
    }
    let trace = trace(question.sources, question.known);
    let is_own = |ancestor: &SourceKey| {
        !question.known.contains_key(ancestor) && trace.read_itself(ancestor).is_some()
    };
    // Most often nothing differs, and the slower search for another hold is skipped.
    trace.incoherences().any(|it| is_own(&it.ancestor)) && held(question).is_none()
}

/// Returns what a document rendered from these sources derives from, or `None` if one of them has
/// outputs of unknown provenance: the sources of the others would then stand for those outputs too.
///
/// It does not matter if a run may be made of it: if the document is that of the current run, the
/// ledger moves on to it ([`super::Provenance::moves_on`]).
pub fn trace_sources(question: &Question<'_>) -> Result<Option<Sources>, TraceError> {
    let trace = trace(question.sources, question.known);
    let sources = trace.sources_for(question.coherence)?;
    let mut waited_for = waited_for(question).into_iter();
    let is_of_unknown = waited_for.any(|key| {
        let seen = question.known.get(key);
        seen.is_some_and(|seen| seen.is_of_unknown())
    });
    Ok((!is_of_unknown).then_some(sources))
}

fn trace(sources: &[Source], known: &KnownRunnables) -> Trace {
    let traced = sources
        .iter()
        .filter(|source| source.wait_for != WaitFor::Nothing);
    traced
        .map(|source| {
            let gives = known.get(&source.key).and_then(|seen| seen.gives());
            Trace::new(&source.key, source.revision.as_ref(), gives)
        })
        .collect()
}

/// Returns the hold that does not depend on what the sources derive from.
fn held(question: &Question<'_>) -> Option<Readiness> {
    cycle(question)
        .or_else(|| unusable(question))
        .or_else(|| at_work(question))
        .or_else(|| not_yet_looked(question))
        .or_else(|| not_succeeded(question))
        .or_else(|| without_value(question))
}

fn cycle(question: &Question<'_>) -> Option<Readiness> {
    let way = graph::way_round(&question.of, |key| -> Vec<&SourceKey> {
        let through = question.through_sinks.get(*key).into_iter().flatten();
        if *key == question.of {
            let sources = question.sources.iter().map(|source| &source.key);
            return sources.chain(through).collect();
        }
        let seen = question.known.get(*key).into_iter();
        let reads = seen.flat_map(|seen| seen.stems_from().keys());
        reads.chain(through).collect()
    })?;
    Some(Readiness::Cycle(way.into_iter().cloned().collect()))
}

fn unusable(question: &Question<'_>) -> Option<Readiness> {
    let unusable = question.sources.iter().filter_map(|source| {
        let Value::Unusable(why) = &source.value else {
            return None;
        };
        Some((&source.key, why))
    });
    let (key, why) = unusable.min()?;
    let error = SourceError::Unusable(key.clone(), why.clone());
    Some(Readiness::Error(error))
}

fn at_work(question: &Question<'_>) -> Option<Readiness> {
    let (who, why) = waited_for(question)
        .into_iter()
        .find_map(|key| unsettled(key, question.known))?;
    Some(Readiness::NotReady(who, NotReady::Busy(why)))
}

/// A source that has not yet seen the outputs of one further up is about to change its own.
fn not_yet_looked(question: &Question<'_>) -> Option<Readiness> {
    let direct: Vec<&SourceKey> = waited_for(question).into_iter().collect();
    coherence::not_yet_looked(&direct, question.known)
}

fn without_value(question: &Question<'_>) -> Option<Readiness> {
    let without = question.sources.iter().filter_map(|source| {
        let why = match source.value {
            Value::Missing => NotReady::Missing,
            Value::ObjectNotReady => NotReady::ObjectNotReady,
            Value::Given | Value::LeftOut | Value::Unusable(_) => return None,
        };
        Some((&source.key, why))
    });
    let (key, why) = without.min_by_key(|(key, why)| (*key, *why != NotReady::Missing))?;
    Some(Readiness::NotReady(key.clone(), why))
}

/// A source that has to have succeeded, and has not. If it only waits for a person, nothing has
/// failed.
fn not_succeeded(question: &Question<'_>) -> Option<Readiness> {
    let asked = question.sources.iter();
    let asked = asked.filter(|source| source.wait_for == WaitFor::Succeeded);
    let asked: BTreeSet<&SourceKey> = asked.map(|source| &source.key).collect();
    let not = asked.into_iter().filter_map(|key| {
        let seen = question.known.get(key)?;
        (!has_succeeded(&seen.status)).then_some((key, seen))
    });
    let (key, seen) = not.min_by_key(|(key, seen)| (!seen.reacts(), *key))?;
    let current = seen.status.current_run.as_ref();
    let has_failed =
        current.is_some_and(|run| run.result.is_some_and(|it| it != RunResult::Succeeded));
    let still = NotReady::of_still(seen).filter(|_| !has_failed);
    Some(match still {
        Some(why) => Readiness::NotReady(key.clone(), why),
        None => Readiness::Failed(Failed::Source(key.clone())),
    })
}

/// Returns the sources that are Runnables and are waited for, in order.
pub(super) fn waited_for<'a>(question: &Question<'a>) -> BTreeSet<&'a SourceKey> {
    let waited_for = question.sources.iter();
    let waited_for = waited_for.filter(|source| source.wait_for != WaitFor::Nothing);
    let keys = waited_for.map(|source| &source.key);
    keys.filter(|key| question.known.contains_key(*key))
        .collect()
}
