//! Approval of the next run by a person: of its number, and of all that the run is made of.
//!
//! An approval is for one number, which is given once, so no approval counts twice: not an old one,
//! not a copied one, and not one for a document that comes back. Its hash covers what is sent: the
//! document, with open tags filled in and the profile applied. Much of that can change once the
//! number is given, or after the run has failed, so the hash is compared again before each create.

use cartouche_crds::{Approval, ApprovalPolicy, CurrentRun, PinnedProfile};

use super::{Beginning, Step};
use crate::{
    category::Category,
    facts::{Facts, Rendering},
    ledger::{Change, Ledger},
    messages::{
        diagnosis::{ApprovalGuard, Diagnosis, GivenApproval},
        reconcile_error::{ReconcileError, Requeue},
    },
    status::reported_dry_run,
};

/// Returns the approved hash if the next number may be given to what is rendered and a person had
/// to approve more than its input hash. Otherwise returns the next step, or the error that waits
/// for approval.
///
/// A run that is begun once more, or retried, needs no further approval while it is made of what
/// was approved.
pub(super) fn check_approval(
    facts: &Facts,
    rendering: &Rendering,
    ledger: &Ledger,
    (pinned, beginning): (Option<&PinnedProfile>, Beginning),
) -> Result<Option<String>, Step> {
    if facts.policy.approval == ApprovalPolicy::Automatic {
        return Ok(None);
    }
    let hash = facts.approvable_next(rendering, ledger, pinned);
    let hash = hash.map_err(Step::Stuck)?;
    if beginning == Beginning::Run || !is_approved_already(facts, rendering, ledger, pinned)? {
        let asked = facts.asked_next(rendering, ledger, pinned);
        let wanted = Approval {
            sequence: ledger.next_sequence(),
            hash: asked.map_err(Step::Stuck)?,
        };
        said_yes(facts, &wanted, |wanted| {
            let is_known =
                facts.dry_run.is_some() || reported_dry_run(&facts.stored, wanted).is_some();
            (!is_known).then_some(Step::DryRun(wanted.sequence))
        })?;
    }
    Ok(Some(hash).filter(|hash| hash != rendering.document.input_hash()))
}

/// Returns true if the current entry was approved to be made of this.
fn is_approved_already(
    facts: &Facts,
    rendering: &Rendering,
    ledger: &Ledger,
    pinned: Option<&PinnedProfile>,
) -> Result<bool, Step> {
    let hash = facts.approvable_again(rendering, ledger, pinned);
    Ok(ledger.approved_hash() == Some(&hash.map_err(Step::Stuck)?))
}

/// Returns `Ok` if what is sent for an entry with a number is what was approved for it. Otherwise
/// returns the error that waits for approval, or the write of the ledger in which its present
/// content is approved.
pub(super) fn still_given(
    facts: &Facts,
    rendering: &Rendering,
    current: &CurrentRun,
) -> Result<(), Step> {
    if facts.policy.approval == ApprovalPolicy::Automatic {
        return Ok(());
    }
    let hash = facts.approvable_for(rendering, current);
    let hash = hash.map_err(Step::Stuck)?;
    if facts.ledger.approved_hash() == Some(&hash) {
        return Ok(());
    }
    let wanted = Approval {
        sequence: current.sequence,
        hash,
    };
    said_yes(facts, &wanted, |_| None)?;
    let next = facts.ledger.clone().approve(wanted.hash);
    Err(Step::Write(Box::new(next), Change::Approve))
}

/// Returns `Ok` if a person has approved exactly this. Otherwise returns the error that waits for
/// approval or reports the refusal. A step of `find_out` comes before the wait.
fn said_yes(
    facts: &Facts,
    wanted: &Approval,
    find_out: impl FnOnce(&Approval) -> Option<Step>,
) -> Result<(), Step> {
    let (text, runnable) = (wanted.to_string(), &facts.runnable);
    let guarded = || ApprovalGuard {
        wanted: wanted.clone(),
        namespace: runnable.namespace.clone(),
        runnable: runnable.name.clone(),
    };
    let rejected = runnable.rejected.as_ref();
    if let Some(rejection) = rejected.filter(|rejection| rejection.approval == text) {
        let cause = Diagnosis::Rejected(guarded(), rejection.clone());
        return Err(held(Category::Rejected, cause));
    }
    let given = runnable.approved.as_deref();
    if given == Some(text.as_str()) {
        return Ok(());
    }
    if let Some(step) = find_out(wanted) {
        return Err(step);
    }
    let given = given.map(|text| GivenApproval::compare(text, wanted));
    let cause = Diagnosis::ApprovalRequired(guarded(), given);
    Err(held(Category::ApprovalRequired, cause))
}

fn held(category: Category, cause: Diagnosis) -> Step {
    Step::Stuck(ReconcileError::from_diagnosis(
        category,
        Requeue::OnChange,
        cause,
        None,
    ))
}
