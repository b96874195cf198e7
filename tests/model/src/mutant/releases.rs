//! Mistakes in what becomes of a number that another release has given.

use cartouche_protocol::{
    decide::{Change, Step, Waiting, another_document, decide},
    facts::Facts,
    ledger::Due,
};

/// It is given up at once.
pub(super) fn superseded_at_once(facts: &Facts, step: Step) -> Step {
    match step {
        Step::Wait(Waiting::OtherRelease(_)) => superseded(facts),
        Step::Write(_, Change::MakeWay) => superseded_when_old(facts, step),
        step => step,
    }
}

/// It is given up when its intent is old, and is not withdrawn before that.
pub(super) fn superseded_when_old(facts: &Facts, step: Step) -> Step {
    let is_other = matches!(facts.due(&facts.ledger), Some(Due::OtherHash(_)));
    match step {
        Step::Write(_, Change::MakeWay) if is_other => superseded(facts),
        step => step,
    }
}

/// What is done about an entry that is known to be of another document.
fn superseded(facts: &Facts) -> Step {
    let Ok(rendering) = &facts.rendering else {
        return Step::Settled;
    };
    let mut facts = facts.clone();
    facts.ledger = facts
        .ledger
        .migrate_hash(&another_document(&rendering.document));
    decide(&facts)
}
