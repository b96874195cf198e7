//! A mistake in the debounce of changes.

use cartouche_protocol::{
    category::Category,
    decide::{Step, decide},
    facts::Facts,
};

use super::{Mutant, makes};

/// Returns the step of the decision, without the wait for a debounce.
pub(super) fn change_step(step: Step, facts: &Facts) -> Step {
    let waits = matches!(&step, Step::Stuck(problem) if problem.category == Category::Debouncing);
    if !waits || !makes(Mutant::NeverSettles) {
        return step;
    }
    let mut facts = facts.clone();
    facts.policy.debounce = None;
    decide(&facts)
}
