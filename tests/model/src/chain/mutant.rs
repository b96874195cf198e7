//! Deliberate mistakes that the check must catch.
//!
//! A mistake in a rule bends the input or the result of the rule; a mistake in a look is in `worker`.

use std::sync::Arc;

use cartouche_protocol::{
    ledger::Ledger,
    sources::{KnownRunnables, Provenance, Seen, Source, Value, WaitFor},
    trace::{Revision, SourceKey},
};

use super::{
    known::key,
    world::{Stored, Who},
};

/// One mistake, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mutant {
    /// The unmodified code.
    #[default]
    None,
    /// Sources of different revisions are no reason to wait.
    CoherenceUnchecked,
    /// A revision is the number of the run that gave the outputs.
    RevisionByNumber,
    /// The ledger keeps the sources that the current run was intended with.
    NoMovingOn,
    /// The ledger takes the present sources each time, whether they moved or not.
    AlwaysMoves,
    /// Outputs of a superseded run count as made from the sources of the current one.
    LateOfPresent,
    /// An intent is rendered from the cached values of the sources.
    CachedValue,
    /// A status counts as that of the present spec.
    GenerationUnread,
    /// A missing value counts as empty.
    MissingIsEmpty,
    /// Cycles are not detected.
    CycleUnchecked,
    /// Outputs of unknown provenance count as made from nothing.
    UnknownIsNothing,
    /// Outputs that a rebuild finds again count as made from the present sources.
    RebuiltOfPresent,
    /// A Runnable waits only for its sources and the sources of these.
    NearOnly,
}

impl Mutant {
    /// Bends the view of a Runnable.
    pub(super) fn bend_seen(self, mut seen: Seen) -> Seen {
        match self {
            Self::RevisionByNumber => {
                let from = seen.status.outputs_from.as_ref();
                seen.revision = from.map(|from| Revision::from_text(from.sequence.to_string()));
            }
            Self::GenerationUnread => {
                seen.generation = seen.status.observed_generation.unwrap_or_default();
            }
            Self::CycleUnchecked => seen.reads.clear(),
            Self::UnknownIsNothing => seen.has_sources = false,
            _ => {}
        }
        seen
    }

    /// Bends the knowledge of all Runnables, of which these were read.
    pub(super) fn bend_known(
        self,
        mut known: KnownRunnables,
        read: &[(Who, Stored)],
    ) -> KnownRunnables {
        if self == Self::NearOnly {
            let direct: Vec<SourceKey> = read.iter().map(|(who, _)| key(*who)).collect();
            for (_, seen) in known.iter_mut().filter(|(it, _)| !direct.contains(it)) {
                for wait_for in Arc::make_mut(seen).reads.values_mut() {
                    *wait_for = WaitFor::Nothing;
                }
            }
        }
        known
    }

    /// Bends a source that was read.
    pub(super) fn bend_source(self, mut source: Source) -> Source {
        if self == Self::MissingIsEmpty && source.value == Value::Missing {
            source.value = Value::Given;
        }
        source
    }

    /// Bends the provenance beside a ledger after a transition.
    pub(super) fn bend_provenance(
        self,
        before: &Ledger,
        after: &Ledger,
        provenance: Provenance,
    ) -> Provenance {
        let is_late = after.outputs_from != before.outputs_from
            && after
                .outputs_from
                .as_ref()
                .is_some_and(|from| !after.is_at(&from.uid));
        let is_bent = match self {
            Self::LateOfPresent => is_late,
            Self::RebuiltOfPresent => provenance.of_outputs().is_none(),
            _ => false,
        };
        let (Some(current), Some(sources)) = (&after.current, provenance.of_current(after)) else {
            return provenance;
        };
        if !is_bent || after.outputs_from.is_none() {
            return provenance;
        }
        let run = (current.sequence, current.input_hash.clone());
        let sources = sources.clone();
        Provenance::new([(run, sources.clone())], Some(sources))
    }
}
