//! A mistake in what an approval is for.

use cartouche_crds::Approval;
use cartouche_protocol::{
    decide::{Step, decide},
    facts::Facts,
    reconcile_error::Category,
};

use super::{Mutant, makes};

/// What was decided. An approval of the number is enough, whatever it is to make.
pub(super) fn decided(step: Step, facts: &Facts) -> Step {
    let waits = match &step {
        Step::DryRun(_) => true,
        Step::Stuck(problem) => problem.category == Category::ApprovalRequired,
        _ => false,
    };
    let given = facts.runnable.approved.as_deref().and_then(Approval::of);
    let (true, true, Some(given), Ok(rendering)) = (
        makes(Mutant::ApprovedByNumber),
        waits,
        given,
        &facts.rendering,
    ) else {
        return step;
    };
    let mut facts = facts.clone();
    let input_hash = rendering.document.input_hash().to_owned();
    facts.runnable.approved = Some(
        Approval {
            input_hash,
            ..given
        }
        .to_string(),
    );
    decide(&facts)
}
