//! Pending run of a status: the next run, while it waits. Pure.

use cartouche_crds::{
    Approval, ApprovalPolicy, PendingRun, RunnableStatus, UnknownFields,
    conditions::STAMPED_OBJECT_CONDITION,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::{
    category::Category,
    facts::{Facts, overlap},
    ledger::{Due, Ledger, may_come, past_may_come},
    messages::reconcile_error::ReconcileError,
};

/// Returns the pending run while it waits: for a person, for its debounce or its sources, or for an earlier run,
/// even if the error is only that this run does not stop. A suspended Runnable shows by itself that it waits.
pub(super) fn pending(
    facts: &Facts,
    ledger: &Ledger,
    error: &ReconcileError,
) -> Option<PendingRun> {
    if let Some(wanted) = error.diagnosis.as_ref().and_then(|it| it.wanted_approval()) {
        return guarded(facts, wanted, error.category);
    }
    let reason = match error.category {
        Category::RunAtWork | Category::StopFailed => Category::RunAtWork,
        held @ Category::Debouncing => held,
        held if held.is_of_dependencies() => return dependent(facts, ledger, held),
        _ => return None,
    };
    let sequence = match facts.due(ledger)? {
        Due::New(sequence) => sequence,
        Due::Pending(sequence) if error.category == Category::RunAtWork => sequence,
        // A further attempt, or the same once more.
        Due::Nothing(_) if error.category == Category::RunAtWork => ledger.next_sequence(),
        _ => return None,
    };
    let document = facts.as_it_waits(facts.rendering.as_ref().ok()?);
    // Changes during the debounce are not worth a write.
    let reported_hash = match reason {
        Category::Debouncing => "",
        _ => document.input_hash(),
    };
    waiting(facts, sequence, reported_hash, reason)
}

/// Returns the run that waits for a person, or was rejected: one with a new number, or one whose number was given
/// and that is now made of something else.
fn guarded(facts: &Facts, wanted: &Approval, reason: Category) -> Option<PendingRun> {
    let document = facts.as_it_waits(facts.rendering.as_ref().ok()?);
    let dry_run = match &facts.dry_run {
        Some(answer) => Some(answer.to_string()),
        None => reported_dry_run(&facts.stored, wanted).map(str::to_owned),
    };
    Some(PendingRun {
        approval: Some(wanted.to_string()),
        dry_run,
        ..waiting(facts, wanted.sequence, document.input_hash(), reason)?
    })
}

/// Returns the run that waits for the sources of its inputs, even if nothing can be rendered without them. Changes
/// there in the meantime are not worth a write.
fn dependent(facts: &Facts, ledger: &Ledger, reason: Category) -> Option<PendingRun> {
    let sequence = match facts.due(ledger) {
        Some(Due::New(sequence) | Due::Pending(sequence)) => sequence,
        // Nothing is rendered, or a failed run is to be retried.
        Some(_) | None => ledger.next_sequence(),
    };
    waiting(facts, sequence, "", reason)
}

fn waiting(facts: &Facts, sequence: i64, hash: &str, reason: Category) -> Option<PendingRun> {
    let before = facts.stored.pending.as_ref();
    let is_same =
        |before: &&PendingRun| before.reason == reason.as_str() && before.input_hash == hash;
    let since = before.filter(is_same).map(|before| before.since.clone());
    Some(PendingRun {
        sequence,
        input_hash: hash.to_owned(),
        reason: reason.as_str().to_owned(),
        since: since.or_else(|| facts.now.map(Time))?,
        approval: None,
        dry_run: None,
        unknown_fields: UnknownFields::default(),
    })
}

/// Returns true if a ledger, written while nothing is wrong, leaves a pending change whose intent comes next.
/// Runnables that derive from this one must not assume that its spec has been observed.
pub(super) fn leaves_a_run_due(facts: &Facts, ledger: &Ledger) -> bool {
    matches!(facts.due(ledger), Some(Due::New(_)))
}

/// Returns true if the status says that the run which debounces here already waits for a later step. Another
/// controller has known the change for longer, or this one did before its restart. Otherwise each write would make
/// the other controller look again.
#[must_use]
pub fn waits_for_more(facts: &Facts) -> bool {
    let stored = &facts.stored;
    let (Some(pending), Some(Due::New(sequence))) = (&stored.pending, facts.due(&facts.ledger))
    else {
        return false;
    };
    let rendering = facts.rendering.as_ref().ok();
    let is_of_it = pending.sequence == sequence
        && rendering.is_some_and(|it| it.document.has_hash(&pending.input_hash));
    let goes_on = match pending.reason.as_str() {
        reason if reason == Category::ApprovalRequired.as_str() => {
            let is_asked = facts.policy.approval == ApprovalPolicy::Manual;
            is_asked && pending.approval != facts.runnable.approved
        }
        reason if reason == Category::Rejected.as_str() => {
            let rejected = facts.runnable.rejected.as_ref();
            pending.approval.as_ref() == rejected.map(|it| &it.approval)
        }
        reason if reason == Category::RunAtWork.as_str() => {
            overlap::is_asked(facts) && may_be_at_work(&facts.ledger)
        }
        _ => false,
    };
    let is_observed = stored.observed_generation == Some(facts.runnable.generation);
    is_of_it && goes_on && is_observed
}

/// Returns true if a run is at work, or may be without having been seen.
fn may_be_at_work(ledger: &Ledger) -> bool {
    ledger.at_work().next().is_some()
        || ledger.current.as_ref().is_some_and(may_come)
        || ledger.history.iter().any(past_may_come)
}

/// Returns the API server's answer to the dry run of what this approves, if the status has it: it is asked once.
#[must_use]
pub fn reported_dry_run<'a>(stored: &'a RunnableStatus, wanted: &Approval) -> Option<&'a str> {
    let pending = stored.pending.as_ref()?;
    let is_of_it = pending.approval.as_deref() == Some(wanted.to_string().as_str());
    pending.dry_run.as_deref().filter(|_| is_of_it)
}

/// Returns true if a ledger, written while nothing is wrong, leaves a pending change that was held back. The write
/// of its intent, or of its further wait, comes next. Until then the former report stands, or the end of the
/// earlier run would be taken for the end of all.
pub(super) fn is_between(facts: &Facts, ledger: &Ledger) -> bool {
    (facts.policy.may_hold() || facts.dependencies.has_sources)
        && ledger.current.is_some()
        && !facts.stored.conditions.is_empty()
        && leaves_a_run_due(facts, ledger)
}

/// Returns the status with the new condition of the present run and the former report of what waits.
pub(super) fn left_as_said(mut status: RunnableStatus, stored: &RunnableStatus) -> RunnableStatus {
    let fresh = std::mem::replace(&mut status.conditions, stored.conditions.clone());
    let mut fresh = fresh.into_iter();
    let of_run = fresh.find(|condition| condition.type_ == STAMPED_OBJECT_CONDITION);
    let mut kept = status.conditions.iter_mut();
    if let Some(of_run) = of_run
        && let Some(kept) = kept.find(|condition| condition.type_ == of_run.type_)
    {
        *kept = of_run;
    }
    status.observed_generation = stored.observed_generation;
    status.pending.clone_from(&stored.pending);
    status
}
