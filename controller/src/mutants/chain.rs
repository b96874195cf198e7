//! Mistakes in how Runnables read each other.

use cartouche_crds::Coherence;
use cartouche_protocol::{
    decide::{Step, decide},
    facts::Facts,
    ledger::Change,
};

use super::{Mutant, makes};

/// Whether a source has to be read, however lately it was.
pub(crate) fn is_read(consistent: bool) -> bool {
    consistent && !makes(Mutant::SourcesRemembered)
}

/// Whether sources have to be coherent.
pub(crate) fn coherence(asked: Coherence) -> Coherence {
    if makes(Mutant::CoherenceUnchecked) {
        return Coherence::Ignored;
    }
    asked
}

/// Whom a source reads in turn.
pub(crate) fn further<T>(ancestors: Vec<T>) -> Vec<T> {
    if makes(Mutant::AncestorsUnasked) {
        return Vec::new();
    }
    ancestors
}

/// What was decided. That the present run stems from something else by now is not written.
pub(super) fn decided(step: Step, facts: &Facts) -> Step {
    if !makes(Mutant::NeverMovesOn) || !matches!(step, Step::Write(_, Change::MoveOn)) {
        return step;
    }
    let mut facts = facts.clone();
    facts.dependencies.traced = None;
    decide(&facts)
}
