//! Mistakes in which runs may be at work at once.

use cartouche_crds::ConcurrencyPolicy;
use cartouche_protocol::{
    category::Category,
    decide::{Step, decide},
    facts::Facts,
    ledger::Change,
};

use super::{Mutant, makes};

/// Returns the step of the decision, changed by the mistakes.
pub(super) fn change_step(step: Step, facts: &Facts) -> Step {
    let waits = match &step {
        Step::Write(_, change) => *change == Change::MakeWay,
        Step::Stuck(problem) => problem.category == Category::RunAtWork,
        _ => false,
    };
    let is_over =
        makes(Mutant::RunsBeside) || makes(Mutant::AskedIsOver) && are_all_asked_to_stop(facts);
    if !waits || !is_over {
        return step;
    }
    let mut facts = facts.clone();
    facts.policy.concurrency = ConcurrencyPolicy::Allow;
    decide(&facts)
}

/// Returns true if all runs at work were asked to stop.
fn are_all_asked_to_stop(facts: &Facts) -> bool {
    let mut at_work = facts.ledger.at_work().peekable();
    at_work.peek().is_some() && at_work.all(|run| run.stop.is_some())
}
