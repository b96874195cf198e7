//! Mistakes in the reads of Runnables by each other.

use cartouche_crds::Coherence;
use cartouche_protocol::{
    decide::{Step, decide},
    facts::Facts,
    ledger::Change,
};

use super::{Mutant, makes};

/// Returns true if a source has to be read, however recent the last read is.
pub(crate) fn is_read(consistent: bool) -> bool {
    consistent && !makes(Mutant::SourcesRemembered)
}

/// Returns the required coherence of sources.
pub(crate) fn coherence(asked: Coherence) -> Coherence {
    if makes(Mutant::CoherenceUnchecked) {
        return Coherence::Ignored;
    }
    asked
}

/// Returns the ancestors of a source that are followed.
pub(crate) fn further<T>(ancestors: Vec<T>) -> Vec<T> {
    if makes(Mutant::AncestorsUnasked) {
        return Vec::new();
    }
    ancestors
}

/// Returns the step of the decision, without a write that the present run's sources have moved.
pub(super) fn change_step(step: Step, facts: &Facts) -> Step {
    if !makes(Mutant::NeverMovesOn) || !matches!(step, Step::Write(_, Change::MoveOn)) {
        return step;
    }
    let mut facts = facts.clone();
    facts.dependencies.traced = None;
    decide(&facts)
}
