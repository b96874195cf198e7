//! Whether a person has approved the run that is due: this number, of this document, made with this profile.
//!
//! An approval is for one number, which is given once, so that none counts twice: be it old, or copied, or for a document
//! that comes back.

use cartouche_crds::{Approval, ApprovalPolicy, PinnedProfile};

use super::{Step, profile};
use crate::{
    diagnosis::{Diagnosis, GivenApproval},
    facts::{Facts, Rendering},
    ledger::Ledger,
    reconcile_error::{Category, ReconcileError, Requeue},
    status::dry_run_told,
};

/// `Ok` if the next number may be given to what is rendered; else what is to be done, or that it waits.
pub(super) fn given(
    facts: &Facts,
    rendering: &Rendering,
    ledger: &Ledger,
    pinned: Option<&PinnedProfile>,
) -> Result<(), Step> {
    if facts.policy.approval == ApprovalPolicy::Automatic {
        return Ok(());
    }
    let wanted = Approval {
        sequence: ledger.next_sequence(),
        input_hash: rendering.document.input_hash().to_owned(),
        profile: profile::version(facts, pinned),
    };
    let given = facts.runnable.approved.as_deref();
    if given == Some(wanted.to_string().as_str()) {
        return Ok(());
    }
    if facts.dry_run.is_none() && dry_run_told(&facts.stored, &wanted).is_none() {
        return Err(Step::DryRun(wanted.sequence));
    }
    let cause = Diagnosis::ApprovalRequired {
        sequence: wanted.sequence,
        namespace: facts.runnable.namespace.clone(),
        runnable: facts.runnable.name.clone(),
        given: given.map(|text| GivenApproval::of(text, &wanted)),
    };
    let held = ReconcileError::caused(Category::ApprovalRequired, Requeue::OnChange, cause, None);
    Err(Step::Stuck(held))
}
