//! A mistake in what has to stay the same for a while.

use cartouche_protocol::{
    category::Category,
    decide::{Step, decide},
    facts::Facts,
};

use super::{Mutant, makes};

/// What was decided. What changes again and again runs at once.
pub(super) fn decided(step: Step, facts: &Facts) -> Step {
    let waits = matches!(&step, Step::Stuck(problem) if problem.category == Category::Debouncing);
    if !waits || !makes(Mutant::NeverSettles) {
        return step;
    }
    let mut facts = facts.clone();
    facts.policy.debounce = None;
    decide(&facts)
}
