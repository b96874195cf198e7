//! Creates the run of the pending entry, under the name that the intent fixed.

use cartouche_crds::{CurrentRun, RunPhase};

use super::{Step, crowded, gate, room};
use crate::{
    category::Category,
    facts::{CreateOutcome, Facts, NameRead, Rendering},
    ledger::{
        CachedRun, Change, FetchedRun, MAX_HISTORY, RunName, is_withdrawn, may_come, result_of,
    },
    messages::{
        diagnosis::{Denied, Diagnosis, Holder, Who},
        reconcile_error::{ReconcileError, Requeue},
    },
};

/// Maximum number of numbers that one reconciliation gives up. After them the next waits, longer
/// each time.
pub const MOST_RENUMBERED: u8 = 3;

pub(super) fn pending(facts: &Facts, rendering: &Rendering, current: &CurrentRun) -> Step {
    match &facts.created {
        None => seen_to_go(facts, current)
            .or_else(|| read_unconfirmed(facts, current))
            .unwrap_or_else(|| send(facts, rendering, current)),
        Some(CreateOutcome::Created(fetched)) => {
            confirm(facts, fetched).unwrap_or_else(|| Step::Stuck(strange(facts, current)))
        }
        Some(CreateOutcome::MadeBefore(fetched)) => seen_to_go(facts, current)
            .or_else(|| made_before(facts, current, fetched))
            .unwrap_or_else(|| Step::Stuck(strange(facts, current))),
        Some(CreateOutcome::AlreadyExists) => handle_taken_name(facts, rendering, current),
        Some(CreateOutcome::Refused(error)) => refused(facts, current, error),
        Some(CreateOutcome::Unknown(error)) => Step::Stuck(error.clone()),
    }
}

/// Confirms a run that an earlier reconciliation made, even while something else is stuck.
pub(super) fn known_made(facts: &Facts) -> Option<Step> {
    match &facts.created {
        Some(CreateOutcome::MadeBefore(fetched)) => confirm(facts, fetched),
        _ => None,
    }
}

/// Handles a withdrawn entry whose run turned up all the same, and was seen deleted before it could
/// be confirmed.
pub(super) fn went_withdrawn(facts: &Facts, current: &CurrentRun) -> Option<Step> {
    is_withdrawn(current)
        .then(|| seen_to_go(facts, current))
        .flatten()
}

/// Reads first what the watch has shown meanwhile, so that one write confirms the run and records
/// how it ended.
fn made_before(facts: &Facts, current: &CurrentRun, fetched: &FetchedRun) -> Option<Step> {
    let name = RunName::from_current(current);
    match facts.reads.get(&name) {
        Some(NameRead::Found(found)) if found.run.uid == fetched.run.uid => confirm(facts, found),
        None if has_ended(facts, fetched) => Some(Step::ReadRun(name)),
        _ => confirm(facts, fetched),
    }
}

fn has_ended(facts: &Facts, fetched: &FetchedRun) -> bool {
    facts
        .cached_run(&fetched.run.uid)
        .is_some_and(CachedRun::is_finished)
}

/// Reads the run if no create is sent whose refusal would show that an earlier create has made it.
/// That is so while the entry is withdrawn, while the Runnable is suspended, cannot be rendered or
/// waits with another document, or if its profile is gone or no longer fits.
///
/// A listed run is read too: outputs of an earlier run must not come before its own in the time
/// that the stuck create would leave.
pub(super) fn read_unconfirmed(facts: &Facts, current: &CurrentRun) -> Option<Step> {
    let is_sent = !is_withdrawn(current)
        && facts.rendering.as_ref().is_ok_and(|rendering| {
            rendering.document.has_hash(&current.input_hash)
                && facts.made_for(rendering, current).is_ok()
        });
    let is_listed = facts.listed.iter().flatten();
    let is_listed = is_listed
        .map(|found| &found.run)
        .any(|run| facts.is_run_of(run, current));
    if is_sent && !facts.runnable.suspended && !is_listed {
        return None;
    }
    let name = RunName::from_current(current);
    match facts.reads.get(&name) {
        Some(NameRead::Found(found)) if facts.is_run_of(&found.run, current) => {
            confirm(facts, found)
        }
        Some(_) => None,
        None => {
            let seen = facts
                .cached_runs
                .iter()
                .any(|cached_run| !cached_run.deleted && facts.is_run_of(&cached_run.run, current));
            (is_listed || seen).then_some(Step::ReadRun(name))
        }
    }
}

/// Sends the create. A further attempt after a refusal is recorded first.
fn send(facts: &Facts, rendering: &Rendering, current: &CurrentRun) -> Step {
    if let Err(step) = gate::create(facts, rendering, current) {
        return made_meanwhile(facts, current, step);
    }
    if current.phase == RunPhase::Rejected && !current.attempted {
        return Step::Write(Box::new(facts.ledger.clone().attempt()), Change::Attempt);
    }
    Step::Create
}

/// Reads the run once if the create is held: no refusal would show that an earlier create has made
/// it.
fn made_meanwhile(facts: &Facts, current: &CurrentRun, held: Step) -> Step {
    let waits = |it: &ReconcileError| it.category.waits_with_its_number();
    let waits = matches!(&held, Step::Stuck(error) if waits(error));
    if !waits || !may_come(current) {
        return held;
    }
    let name = RunName::from_current(current);
    match facts.reads.get(&name) {
        None => Step::ReadRun(name),
        Some(NameRead::Found(found)) if facts.is_run_of(&found.run, current) => {
            confirm(facts, found).unwrap_or(held)
        }
        Some(NameRead::Found(_) | NameRead::Absent | NameRead::Denied) => held,
    }
}

/// Handles a run that was made by a create without an answer, and seen deleted before it could be
/// confirmed. It is not made again under its number.
fn seen_to_go(facts: &Facts, current: &CurrentRun) -> Option<Step> {
    let cached_run = facts.cached_runs.iter().find(|cached_run| {
        cached_run.deleted
            && cached_run.run.name == current.name
            && facts.is_run_of(&cached_run.run, current)
    })?;
    let result = result_of(cached_run.health.verdict);
    // The deletion of an ended run may only follow from a list that lacks it; then its outputs can
    // still be read.
    let name = RunName::from_current(current);
    match facts.reads.get(&name) {
        None if result.is_some() => return Some(Step::ReadRun(name)),
        // Another object under the name gives no outputs, unless this process has made it: any
        // client can create an object under a name that is free again.
        Some(NameRead::Found(found))
            if found.run.uid == cached_run.run.uid
                || facts.created_run(&found.run.uid).is_some() =>
        {
            return confirm(facts, found);
        }
        _ => {}
    }
    let next =
        facts
            .ledger
            .clone()
            .record_sighting(&cached_run.run, result, cached_run.asked, facts.now);
    Some(Step::Write(Box::new(next), Change::Record))
}

/// Returns the write that confirms the run, or `None` unless the object's sequence and hash are the
/// ledger's.
fn confirm(facts: &Facts, fetched: &FetchedRun) -> Option<Step> {
    let confirmed = facts
        .ledger
        .confirm(&fetched.run)?
        .record(fetched, facts.now);
    Some(Step::Write(Box::new(confirmed), Change::Confirm))
}

fn refused(facts: &Facts, current: &CurrentRun, error: &ReconcileError) -> Step {
    if current.phase == RunPhase::Rejected {
        return Step::Stuck(error.clone());
    }
    Step::Write(
        Box::new(facts.ledger.clone().reject(facts.only_attempt)),
        Change::Reject,
    )
}

/// Handles a name that is taken, by our own earlier create or by an unknown run. If it is certain
/// that no create of ours made the object, the number is given up and the next one taken. Otherwise
/// the run never gets a second name: an admission webhook may have removed the marks from our own
/// run.
fn handle_taken_name(facts: &Facts, rendering: &Rendering, current: &CurrentRun) -> Step {
    let name = RunName::from_current(current);
    let found = match facts.reads.get(&name) {
        None => return Step::ReadRun(name),
        Some(NameRead::Denied) => return Step::Stuck(unreadable(facts, current)),
        Some(NameRead::Absent) => return Step::Stuck(vanished(facts, current)),
        Some(NameRead::Found(found)) => found,
    };
    let run = &found.run;
    let confirmed = facts
        .is_run_of(run, current)
        .then(|| confirm(facts, found))
        .flatten();
    if let Some(step) = confirmed {
        return step;
    }
    let own = run.is_owned_by(&facts.runnable.uid);
    if rendering.document.fixed_name().is_some() {
        return refused(facts, current, &name_conflict(facts, rendering, current));
    }
    let hash = run.input_hash.as_ref();
    let known = facts.unknown_runs.contains(&run.uid);
    if known || run.is_older_than(current) || hash.is_some_and(|hash| *hash != current.input_hash) {
        return renumber(facts, rendering, current, &run.uid);
    }
    // It lacks something that a run of ours has, or has what it lacks. The probe shows whether that
    // comes of itself.
    match facts.probe {
        None => Step::Probe,
        Some(probe) if probe.marked && probe.with_status && own && run.answers(current) => {
            confirm(facts, found).unwrap_or_else(|| Step::Stuck(strange(facts, current)))
        }
        Some(probe) if probe.marked => renumber(facts, rendering, current, &run.uid),
        // It may be ours: another number might be one more run.
        Some(_) if own => Step::Stuck(strange(facts, current)),
        Some(_) => refused(facts, current, &name_conflict(facts, rendering, current)),
    }
}

/// Takes the next number, a few times at once and then with longer and longer pauses.
fn renumber(facts: &Facts, rendering: &Rendering, current: &CurrentRun, holder: &str) -> Step {
    if facts.renumbered >= MOST_RENUMBERED {
        return Step::Stuck(name_conflict(facts, rendering, current));
    }
    let uid = &facts.runnable.uid;
    let next = facts.ledger.clone().renumber(
        |sequence| rendering.document.run_name(uid, sequence),
        holder.to_owned(),
        facts.chance,
        facts.now,
    );
    if next.history.len() > MAX_HISTORY {
        return Step::Stuck(crowded());
    }
    if let Err(step) = room::check_room(facts, &next) {
        return step;
    }
    Step::Write(Box::new(next), Change::Renumber)
}

fn name_conflict(facts: &Facts, rendering: &Rendering, current: &CurrentRun) -> ReconcileError {
    let name = RunName::from_current(current);
    let object = name.object(&facts.runnable.namespace);
    let is_fixed = rendering.document.fixed_name().is_some();
    let holder = match facts.reads.get(&name) {
        Some(NameRead::Found(found)) => Holder::from_found(found, &facts.runnable.uid, is_fixed),
        _ => Holder::Unknown,
    };
    let cause = Diagnosis::NameTaken(object, is_fixed, holder);
    ReconcileError::from_diagnosis(Category::NameConflict, Requeue::Backoff, cause, None)
}

fn vanished(facts: &Facts, current: &CurrentRun) -> ReconcileError {
    rejected(
        facts,
        current,
        Diagnosis::NameFreed,
        "another object had this name when it was created, and is gone now: the controller retries",
    )
}

fn unreadable(facts: &Facts, current: &CurrentRun) -> ReconcileError {
    let resource = facts.resource.clone();
    let object = resource.unwrap_or_else(|| current.kind.clone());
    let runnable = &facts.runnable;
    let who = Who::Account(
        runnable.namespace.clone(),
        runnable.account.clone(),
        runnable.name.clone(),
    );
    let mut error = rejected(
        facts,
        current,
        Diagnosis::Forbidden(
            who,
            vec![Denied {
                verbs: vec!["get".to_owned(), "list".to_owned()],
                resource: object,
                name: None,
                namespace: None,
            }],
        ),
        "it exists already, and the ServiceAccount may neither get nor list it to see whose it is: give it one of these permissions",
    );
    error.requeue = Requeue::OnRbac;
    error
}

fn strange(facts: &Facts, current: &CurrentRun) -> ReconcileError {
    rejected(
        facts,
        current,
        Diagnosis::MarksRemoved,
        "the API server returned the object without the label or annotation of its run; does an admission webhook remove them?",
    )
}

fn rejected(facts: &Facts, current: &CurrentRun, cause: Diagnosis, why: &str) -> ReconcileError {
    let (namespace, name, template) = (
        &facts.runnable.namespace,
        &current.name,
        &facts.runnable.template,
    );
    ReconcileError::from_diagnosis(
        Category::StampedObjectRejectedByAPIServer,
        Requeue::Backoff,
        cause,
        Some(format!(
            "unable to apply object [{namespace}/{name}] for run template [{template}]: create: {why}"
        )),
    )
}
