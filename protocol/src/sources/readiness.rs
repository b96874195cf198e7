//! Whether the sources of a Runnable hold a run back that is due. Pure.

use std::collections::BTreeSet;

use cartouche_crds::{Coherence, RunResult, WaitFor};

use super::{
    Edges, Known, Seen, coherence, graph,
    settle::{has_succeeded, unsettled},
};
use crate::{
    diagnosis::{Failed, NotReady},
    trace::{Revision, SourceKey, Sources, Trace, TraceError},
};

/// What one input of a Runnable is read from, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Which source.
    pub key: SourceKey,
    /// What is asked of it. Of what is no Runnable only whether it is traced depends on that.
    pub wait_for: WaitFor,
    /// The value that was read.
    pub value: Value,
    /// Its revision, [`Revision::absent`] where what is optional is not there. `None` if it is not traced, or a value is missing.
    pub revision: Option<Revision>,
}

/// What an input was given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// A value.
    Given,
    /// None, and it is left out: a default may stand for it.
    LeftOut,
    /// None, and one has to be there.
    Missing,
    /// The object is there, and says of itself that it is not ready.
    ObjectNotReady,
    /// None can be had: why. Nobody may read it, a path does not lead to one value, a name is given twice.
    Unusable(String),
}

/// What is known when it is asked whether a Runnable may run.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The Runnable.
    pub of: &'a SourceKey,
    /// The `ServiceAccount` that it reads as, as [`super::account`] has it.
    pub account: &'a str,
    /// What its inputs are read from. Their order does not matter.
    pub sources: &'a [Source],
    /// The Runnables among these, as they were read with the values, and all others as far as a cache has them.
    pub known: &'a Known,
    /// The ways that lead on through objects which outputs are written to. They count for nothing but whether it stems from itself: what is
    /// read is the object, and nobody waits for who writes it.
    pub through_sinks: &'a Edges,
    /// Whether they have to be coherent.
    pub coherence: Coherence,
}

/// Whether a run that is due may be intended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It may, and this is what it is made from; `None` if nobody knows.
    Ready(Option<Sources>),
    /// It waits for this source or ancestor (`DependencyNotReady`).
    NotReady(SourceKey, NotReady),
    /// Only a change helps (`DependencyFailed`).
    Failed(Failed),
    /// It stems from itself, this way round (`DependencyCycle`).
    Cycle(Vec<SourceKey>),
    /// A value cannot be had (`SourceError`).
    Error(SourceError),
}

impl Readiness {
    /// The reason for which a source or an ancestor is waited for.
    #[must_use]
    pub fn awaited(&self) -> Option<&NotReady> {
        match self {
            Self::NotReady(_, why) => Some(why),
            _ => None,
        }
    }
}

impl NotReady {
    /// Why one does not follow that does not react.
    pub(super) fn of_still(seen: &Seen) -> Option<Self> {
        let suspended = seen.suspended.then_some(Self::Suspended);
        suspended.or_else(|| seen.deleting.then_some(Self::Deleting))
    }
}

/// Why no value can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceError {
    /// This source gives none: why.
    Unusable(SourceKey, String),
    /// So many sources and ancestors are traced, which are too many.
    TooMany(usize),
}

/// Whether the sources of a Runnable hold back its run. It is asked only where one is due, and says nothing else of those
/// where none is.
///
/// What only somebody's change ends comes before what ends by itself, as far as it is told by the spec; of sources, who is at
/// work comes before who has failed, since it is about to change that. Of several that are alike the first by name is named.
#[must_use]
pub fn readiness(question: &Question<'_>) -> Readiness {
    held(question).unwrap_or_else(|| match traced(question) {
        Ok(sources) => Readiness::Ready(sources),
        Err(TraceError::TooMany(count)) => Readiness::Error(SourceError::TooMany(count)),
        Err(TraceError::Incoherent(first)) => {
            let trace = trace(question.sources, question.known);
            let direct: Vec<&SourceKey> = waited_for(question).into_iter().collect();
            coherence::judged(&trace, &first, &direct, question.known)
        }
    })
}

/// Whether a run is held back by nothing but that the sources differ, and on what is read here itself and is no Runnable. Out of
/// memory that may be older than what the others have looked at already: only a consistent read tells who is behind.
#[must_use]
pub fn rests_on_own_reads(question: &Question<'_>) -> bool {
    if question.coherence == Coherence::Ignored {
        return false;
    }
    let trace = trace(question.sources, question.known);
    let is_own = |ancestor: &SourceKey| {
        !question.known.contains_key(ancestor) && trace.read_itself(ancestor).is_some()
    };
    // Most often nothing differs, and what else holds it back, which takes longer to find, is not asked a second time.
    trace.incoherences().any(|it| is_own(&it.ancestor)) && held(question).is_none()
}

/// What is rendered from these sources stems from this. `None` if that cannot be told, since of the outputs of one of them nobody
/// knows what they were made from: to name what the others stem from would claim it of these, too. It holds whether or not a run may be made of it: where the document is
/// that of the current run, the ledger moves on to it ([`super::Provenance::moves_on`]).
pub fn traced(question: &Question<'_>) -> Result<Option<Sources>, TraceError> {
    let trace = trace(question.sources, question.known);
    let sources = trace.sources_for(question.coherence)?;
    let mut waited_for = waited_for(question).into_iter();
    let is_of_unknown = waited_for.any(|key| {
        let seen = question.known.get(key);
        seen.is_some_and(|seen| seen.is_of_unknown())
    });
    Ok((!is_of_unknown).then_some(sources))
}

fn trace(sources: &[Source], known: &Known) -> Trace {
    let traced = sources
        .iter()
        .filter(|source| source.wait_for != WaitFor::Nothing);
    traced
        .map(|source| {
            let gives = known.get(&source.key).and_then(|seen| seen.gives());
            Trace::of(&source.key, source.revision.as_ref(), gives)
        })
        .collect()
}

/// What holds it back whatever its sources stem from.
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

/// A source that has seen nothing yet of what one further up gives is about to give something else as well.
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

/// A source that has to have succeeded, and has not. It may only be waiting for a person: then nothing has failed.
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

/// The sources that are Runnables and are waited for, in order.
pub(super) fn waited_for<'a>(question: &Question<'a>) -> BTreeSet<&'a SourceKey> {
    let waited_for = question.sources.iter();
    let waited_for = waited_for.filter(|source| source.wait_for != WaitFor::Nothing);
    let keys = waited_for.map(|source| &source.key);
    keys.filter(|key| question.known.contains_key(*key))
        .collect()
}
