//! Mistakes in what becomes of a number that another release has given.

use cartouche_protocol::{
    decide::{Change, Step, Waiting, another_document, decide},
    facts::Facts,
    ledger::Due,
};

use super::{Mutant, makes};

/// Takes it for one that is known to be of another document.
pub(super) fn decided(step: Step, facts: &Facts) -> Step {
    let is_left = match &step {
        Step::Wait(Waiting::OtherRelease(_)) => true,
        Step::Write(_, Change::MakeWay) => {
            matches!(facts.due(&facts.ledger), Some(Due::OtherHash(_)))
        }
        _ => false,
    };
    let (true, true, Ok(rendering)) = (
        is_left,
        makes(Mutant::OtherReleaseSuperseded),
        &facts.rendering,
    ) else {
        return step;
    };
    let mut facts = facts.clone();
    let another = another_document(&rendering.document);
    facts.ledger = facts.ledger.migrate_hash(&another);
    decide(&facts)
}
