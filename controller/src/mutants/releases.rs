//! Mistakes in what becomes of a number that another release has given.

use cartouche_protocol::{
    decide::{Change, Step, Waiting, another_document, decide},
    facts::Facts,
    ledger::{Due, Ledger},
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
    let mut bent = facts.clone();
    let another = another_document(&rendering.document);
    bent.ledger = bent.ledger.migrate_hash(&another);
    match decide(&bent) {
        Step::Write(mut ledger, change) => {
            keep_hash(facts, &mut ledger);
            Step::Write(ledger, change)
        }
        step => step,
    }
}

/// The entry that was bent is what it was.
fn keep_hash(facts: &Facts, ledger: &mut Ledger) {
    let Some(bent) = &facts.ledger.current else {
        return;
    };
    let current = ledger.current.iter_mut();
    let mut current = current.filter(|it| it.sequence == bent.sequence);
    if let Some(current) = current.next() {
        current.input_hash.clone_from(&bent.input_hash);
    }
    let mut history = ledger.history_mut().iter_mut();
    if let Some(entry) = history.find(|it| it.sequence == bent.sequence) {
        entry.input_hash.clone_from(&bent.input_hash);
    }
}
