//! Mistakes about a number that another release has given.

use cartouche_protocol::{
    decide::{Step, Waiting, another_document, decide},
    facts::Facts,
    ledger::{Change, Due, Ledger},
};

/// Gives the number up at once.
pub(super) fn superseded_at_once(facts: &Facts, step: Step) -> Step {
    match step {
        Step::Wait(Waiting::OtherRelease(_)) => superseded(facts),
        Step::Write(_, Change::MakeWay) => superseded_when_old(facts, step),
        step => step,
    }
}

/// Gives the number up when its intent is old, and does not withdraw it before that.
pub(super) fn superseded_when_old(facts: &Facts, step: Step) -> Step {
    let is_other = matches!(facts.due(&facts.ledger), Some(Due::OtherHash(_)));
    match step {
        Step::Write(_, Change::MakeWay) if is_other => superseded(facts),
        step => step,
    }
}

/// Returns the step for an entry that is known to be of another document.
fn superseded(facts: &Facts) -> Step {
    let Ok(rendering) = &facts.rendering else {
        return Step::Settled;
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

/// Gives the bent entry its hash back.
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
