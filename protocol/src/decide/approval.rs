//! Whether a person has approved the run that is due: this number, and all that the run is made of.
//!
//! An approval is for one number, which is given once, so that none counts twice: be it old, or copied, or for a document
//! that comes back. Its hash covers what is sent: the document, with open tags filled in and the profile applied. Much of that
//! can change once the number is given, or the run has failed, so that it is compared again before each create.

use cartouche_crds::{Approval, ApprovalPolicy, CurrentRun, PinnedProfile};

use super::{Beginning, Step};
use crate::{
    category::Category,
    diagnosis::{Diagnosis, GivenApproval, Guarded},
    facts::{Facts, Rendering},
    ledger::{Change, Ledger},
    reconcile_error::{ReconcileError, Requeue},
    status::dry_run_told,
};

/// The approved hash, if the next number may be given to what is rendered and a person had to approve more than its input hash;
/// else the next step, or that it waits. What is begun once more, or tried again, needs no other yes while it is made of what was
/// approved.
pub(super) fn given(
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
            let is_known = facts.dry_run.is_some() || dry_run_told(&facts.stored, wanted).is_some();
            (!is_known).then_some(Step::DryRun(wanted.sequence))
        })?;
    }
    Ok(Some(hash).filter(|hash| hash != rendering.document.input_hash()))
}

/// Whether the current entry was approved to be made of this.
fn is_approved_already(
    facts: &Facts,
    rendering: &Rendering,
    ledger: &Ledger,
    pinned: Option<&PinnedProfile>,
) -> Result<bool, Step> {
    let hash = facts.approvable_again(rendering, ledger, pinned);
    Ok(ledger.approved_hash() == Some(&hash.map_err(Step::Stuck)?))
}

/// `Ok` if what is sent for an entry that has its number is what was approved for it; else that it waits, or the ledger in which
/// what it is made of by now is approved.
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

/// `Ok` if a person has approved exactly this; else that it waits for that, or was refused. What is to be found out for the person
/// comes first.
fn said_yes(
    facts: &Facts,
    wanted: &Approval,
    find_out: impl FnOnce(&Approval) -> Option<Step>,
) -> Result<(), Step> {
    let (text, runnable) = (wanted.to_string(), &facts.runnable);
    let guarded = || Guarded {
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
    let given = given.map(|text| GivenApproval::of(text, wanted));
    let cause = Diagnosis::ApprovalRequired(guarded(), given);
    Err(held(Category::ApprovalRequired, cause))
}

fn held(category: Category, cause: Diagnosis) -> Step {
    Step::Stuck(ReconcileError::caused(
        category,
        Requeue::OnChange,
        cause,
        None,
    ))
}
