//! Mistakes in what an approval is for.

use cartouche_crds::{Approval, ApprovalPolicy};
use cartouche_protocol::{
    decide::{Step, decide},
    facts::{DryRun, Facts},
};

use super::{Mutant, makes};

/// The decision, but for the mistake.
pub(super) fn decided(step: Step, facts: &Facts) -> Step {
    if makes(Mutant::ApprovedByNumber) {
        return by_number(step, facts);
    }
    if makes(Mutant::ApprovedUncompared) {
        return uncompared(step, facts);
    }
    step
}

/// An approval of the number is enough, whatever it is to make.
fn by_number(step: Step, facts: &Facts) -> Step {
    let given = facts.runnable.approved.as_deref().and_then(Approval::of);
    let wanted = wanted(&step, facts);
    match (given, wanted) {
        (Some(given), Some(wanted)) if given.sequence == wanted.sequence => {
            let mut facts = facts.clone();
            facts.runnable.approved = Some(wanted.to_string());
            decide(&facts)
        }
        _ => step,
    }
}

/// The approved hash is not compared again once a run has its number.
fn uncompared(step: Step, facts: &Facts) -> Step {
    let wanted = wanted(&step, facts);
    let current = facts.ledger.current.as_ref();
    let was_approved = current.is_some_and(|current| current.approved.is_some());
    let rendered = facts.rendering.as_ref();
    let is_same = rendered.is_ok_and(|it| {
        current.is_some_and(|current| it.document.input_hash() == current.input_hash)
    });
    if wanted.is_none() || !was_approved || !is_same {
        return step;
    }
    let mut facts = facts.clone();
    facts.policy.approval = ApprovalPolicy::Automatic;
    decide(&facts)
}

/// The approval that a step waits for.
fn wanted(step: &Step, facts: &Facts) -> Option<Approval> {
    let mut facts = facts.clone();
    let step = match step {
        Step::DryRun(_) => {
            facts.dry_run = Some(DryRun::Accepted);
            decide(&facts)
        }
        step => step.clone(),
    };
    match step {
        Step::Stuck(problem) => problem.diagnosis?.wanted().cloned(),
        _ => None,
    }
}
