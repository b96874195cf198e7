//! Signs of a Runnable's state in its status.

use cartouche_crds::{Approval, REJECTED_ANNOTATION, Rejection, Runnable, StopReason};
use kube::ResourceExt;

use crate::sight::{condition, confirmed, current, ready, refused, status};

/// Returns true if Ready has this reason, for the present generation.
pub(super) fn because(runnable: &Runnable, reason: &str) -> bool {
    condition(runnable, "Ready").is_some_and(|it| {
        it.reason == reason && it.observed_generation == runnable.metadata.generation
    })
}

pub(super) fn waits_for(runnable: &Runnable, reason: &str) -> bool {
    let pending = status(runnable).pending;
    because(runnable, reason) && pending.is_some_and(|it| it.reason == reason)
}

pub(super) fn at_work(runnable: &Runnable) -> bool {
    confirmed(runnable) && because(runnable, "RunInProgress")
}

/// Returns true if it has run for its source's outputs, or waits for its source (see `held.rs`).
pub(super) fn follows(runnable: &Runnable) -> bool {
    ready(runnable) || because(runnable, "DependencyNotReady")
}

/// Returns true if its outputs are in this many objects.
pub(super) fn written_to(runnable: &Runnable, objects: usize) -> bool {
    let status = status(runnable);
    let number = status.outputs_from.map(|it| it.sequence);
    let mut sinks = status.sinks.iter();
    ready(runnable)
        && status.sinks.len() == objects
        && sinks.all(|it| Some(it.sequence) == number && !it.behind)
}

pub(super) fn told(runnable: &Runnable, why: &StopReason) -> bool {
    let stop = current(runnable).ok().and_then(|it| it.stop);
    stop.is_some_and(|it| it.reason == *why)
}

pub(super) fn tried_again(runnable: &Runnable) -> bool {
    current(runnable).is_ok_and(|it| it.retry_at.is_some())
}

/// Returns true for a refused run, or a given-up one. The present release gives up a number of the later
/// release without a run a minute after its intent, and another minute passes before there is another number:
/// `docs/concepts/exactly-once.md`.
pub(super) fn refused_or_given_up(runnable: &Runnable) -> bool {
    let current = current(runnable);
    let is_given_up = current.is_ok_and(|it| {
        it.uid.is_none() && it.stop.is_some_and(|it| it.reason == StopReason::Withdrawn)
    });
    refused(runnable) || is_given_up && waits_for(runnable, "RunAtWork")
}

/// Returns true if a user has rejected the run that one release asked about. The other one does not know that
/// hash, and may ask anew (`docs/how-to/upgrade-and-uninstall.md`, "Upgrade").
pub(super) fn rejected_or_asked_anew(runnable: &Runnable) -> bool {
    let hashes_as = |approval: &str| {
        let hash = Approval::parse(approval)?.hash;
        hash.split(':').next().map(str::to_owned)
    };
    let rejected = runnable.annotations().get(REJECTED_ANNOTATION);
    let rejected = rejected.and_then(|it| hashes_as(&Rejection::parse(it)?.approval));
    let pending = status(runnable).pending.and_then(|it| it.approval);
    let asked = pending.and_then(|it| hashes_as(&it));
    let is_asked = waits_for(runnable, "ApprovalRequired");
    waits_for(runnable, "Rejected") || is_asked && rejected.is_some() && rejected != asked
}
