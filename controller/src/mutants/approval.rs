//! Mistakes in the scope of an approval.

use cartouche_crds::{Approval, ApprovalPolicy};
use cartouche_protocol::{
    decide::{Step, decide},
    facts::{DryRun, Facts},
    ledger::Change,
};

use super::{Mutant, makes};

/// Returns the step of the decision, changed by the mistake.
pub(super) fn change_step(step: Step, facts: &Facts) -> Step {
    if makes(Mutant::ApprovedByNumber) {
        return by_number(step, facts);
    }
    if makes(Mutant::ApprovedUncompared) {
        return uncompared(step, facts);
    }
    step
}

/// An approval of the number is enough, whatever the run is to make.
fn by_number(step: Step, facts: &Facts) -> Step {
    let given = facts.runnable.approved.as_deref().and_then(Approval::parse);
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
    let approved = current.and_then(|current| current.approved.clone());
    let is_same = |hash: &str| current.is_some_and(|current| current.input_hash == hash);
    let rendered = facts.rendering.as_ref();
    let is_same = rendered.is_ok_and(|it| is_same(it.document.input_hash()));
    if wanted.is_none() || approved.is_none() || !is_same {
        return step;
    }
    let mut facts = facts.clone();
    facts.policy.approval = ApprovalPolicy::Automatic;
    match decide(&facts) {
        Step::Write(mut ledger, change @ Change::Intent) => {
            if let Some(current) = &mut ledger.current {
                current.approved = approved;
            }
            Step::Write(ledger, change)
        }
        step => step,
    }
}

/// Returns the approval that a step waits for.
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
        Step::Stuck(problem) => problem.diagnosis?.wanted_approval().cloned(),
        _ => None,
    }
}
