//! Status of a Runnable: facts and outcome in, the whole status out. Pure.

mod awaited;
mod condition_value;
mod follows;
mod pending;
mod run_message;
mod run_state;
mod unsatisfied;

use std::sync::Arc;

use cartouche_crds::{
    CurrentRun, RunPhase, RunResult, RunnableStatus, Stop, StopReason, UnknownFields,
    conditions::{
        FALSE, READY, RECONCILING, RETRY_SCHEDULED, RUN_IN_PROGRESS, RUN_LOST, RUN_TEMPLATE_READY,
        STALLED, STAMPED_OBJECT_CONDITION, TRUE, UNKNOWN, WATCH_UNAVAILABLE, find,
    },
};
use cartouche_engines::Health;
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};

use crate::{
    category::Category,
    facts::Facts,
    ledger::Ledger,
    messages::{
        diagnosis::Diagnosis,
        format::{MessageParts, joined_tries, plain},
        reconcile_error::{ReconcileError, Requeue},
    },
    policy::Ahead,
};
pub use awaited::{awaited_for, image_awaited_for};
pub use condition_value::ConditionValue;
pub use pending::{reported_dry_run, waits_for_more};
pub use run_message::{BEING_MADE, NOT_ENDED, is_at_work, said_of_run};
use run_message::{describe_run, is_of_run};
pub use run_state::RunState;
use unsatisfied::unsatisfied;

/// Returns true if the stored status already reports this health of its run, with or without the words of
/// containers. Whether these are shown is decided when the run is read, and another read would bring nothing new.
#[must_use]
pub fn reports(stored: &RunnableStatus, health: &Health) -> bool {
    find(stored, STAMPED_OBJECT_CONDITION).is_some_and(|condition| {
        let says =
            |health| ConditionValue::from_condition(condition) == ConditionValue::of_run(health);
        says(health) || says(&health.clone().silence())
    })
}

/// Returns the time of a statement about an object. It is never earlier than its creation, even if no answer of the
/// API server has reached that second yet. No age is computed from it: the object may date from a time when that
/// server's clock was fast.
#[must_use]
pub fn statement_time(now: Option<Timestamp>, created: Option<Timestamp>) -> Option<Timestamp> {
    now.map(|now| created.map_or(now, |at| now.max(at)))
}

/// Builds the whole status from a ledger and, if something is wrong, the error.
#[must_use]
pub fn status(facts: &Facts, ledger: &Ledger, error: Option<&ReconcileError>) -> RunnableStatus {
    let remark = error.filter(|error| error.category.is_remark());
    let error = error.filter(|_| remark.is_none());
    let is_between = error.is_none() && pending::is_between(facts, ledger);
    let left_over = (error.is_none() && !is_between)
        .then(|| unsatisfied(facts, ledger).or_else(|| facts.sinks.error.clone()))
        .flatten();
    let error = error.or(left_over.as_ref());
    let template = error
        .or(remark)
        .map_or_else(ConditionValue::ready, ConditionValue::of_error);
    let stamped = (!error.is_some_and(|error| error.category.precedes_stamping()))
        .then(|| stamped(facts, ledger, error));
    let mut ready = aggregate(&template, stamped.as_ref());
    if let Some(stamped) = stamped
        .as_ref()
        .filter(|stamped| is_of_run(&ready, stamped))
    {
        if let Some(said) = describe_run(facts, ledger, stamped) {
            let reason = said.reason.map(|reason| reason.as_str().to_owned());
            ready.reason = reason.unwrap_or(ready.reason);
            ready.message = said.words;
        }
        // The words of an engine and its pods must not pass for marks of our own.
        ready.message = plain(&ready.message);
    }
    let extra = abnormal(facts, &ready, ledger, error);

    let values = [Some((RUN_TEMPLATE_READY, template))]
        .into_iter()
        .chain([stamped.map(|stamped| (STAMPED_OBJECT_CONDITION, stamped))])
        .chain([Some((READY, ready)), extra, unwatched(facts)]);
    let (stored, now) = (
        &facts.stored.conditions,
        statement_time(facts.now, facts.runnable.created).unwrap_or(Timestamp::UNIX_EPOCH),
    );
    let generation = Some(facts.runnable.generation);
    let status = RunnableStatus {
        observed_generation: if error.is_none() && pending::leaves_a_run_due(facts, ledger) {
            facts.stored.observed_generation
        } else {
            generation
        },
        conditions: values
            .flatten()
            .map(|(name, value)| condition(stored, name, value, generation, now))
            .collect(),
        outputs: ledger.outputs.clone(),
        outputs_from: ledger.outputs_from.clone(),
        sensitive_outputs: facts.sinks.sensitive.clone(),
        sinks: facts.sinks.written.clone(),
        failure: ledger.failure.clone(),
        profile: ledger.profile.clone(),
        current_run: ledger.current.clone(),
        pending: error.and_then(|error| pending::pending(facts, ledger, error)),
        answered_token: ledger.answered_token.clone(),
        history: ledger.history.clone(),
        unreadable_history: facts.stored.unreadable_history.clone(),
        // This write removes the dropped lines, and may be made for that alone.
        dropped_lines: 0,
        breaker: ledger.breaker.clone(),
        needs: facts.stored.needs.clone(),
        unknown_fields: UnknownFields::default(),
    };
    let status = status.with_unknown_fields_of(&facts.stored);
    if is_between {
        return pending::left_as_said(status, &facts.stored);
    }
    status
}

/// Returns the conditions of a Runnable that cannot be read; the condition of its run stays.
#[must_use]
pub fn unreadable(
    stored: &[Condition],
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let value = |status| ConditionValue {
        status,
        reason: Category::InvalidRunnable.as_str().to_owned(),
        message: Diagnosis::Unreadable(message.to_owned()).message(None),
    };
    let set = |name, status| condition(stored, name, value(status), generation, now);
    let of_run = stored
        .iter()
        .find(|condition| condition.type_ == STAMPED_OBJECT_CONDITION);
    let template = set(RUN_TEMPLATE_READY, FALSE);
    let others = [set(READY, FALSE), set(STALLED, TRUE)];
    let first = [template].into_iter().chain(of_run.cloned());
    first.chain(others).collect()
}

/// Builds a condition of an object whose conditions are `stored`. Its time changes only with its status; that of
/// `Reconciling` changes with its reason and generation, too. The count of tries continues from the stored message.
#[must_use]
pub fn condition(
    stored: &[Condition],
    name: &str,
    value: ConditionValue,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let mut stored = stored.iter();
    // Each reason to wait has its own time, from which the length of the wait is computed.
    let is_waiting_anew = |it: &Condition| {
        name == RECONCILING && (it.reason != value.reason || it.observed_generation != generation)
    };
    let is_same = |it: &&Condition| it.type_ == name && it.status == value.status;
    let same = stored.find(is_same);
    let joined = same.and_then(|it| joined_tries(&it.message, &value.message));
    let kept = same.filter(|it| !is_waiting_anew(it));
    Condition {
        type_: name.to_owned(),
        status: value.status.to_owned(),
        reason: value.reason,
        message: joined.unwrap_or(value.message),
        last_transition_time: kept.map_or(Time(now), |kept| kept.last_transition_time.clone()),
        observed_generation: generation,
    }
}

fn aggregate(template: &ConditionValue, stamped: Option<&ConditionValue>) -> ConditionValue {
    let blocking = first_blocking(Some(template), stamped, |value| {
        (value.status, &value.reason)
    });
    let mut ready = blocking.cloned().unwrap_or_else(ConditionValue::ready);
    let is_of_run = blocking.is_some() && blocking == stamped;
    if is_of_run && ready.status == UNKNOWN && ready.reason != RUN_LOST {
        RUN_IN_PROGRESS.clone_into(&mut ready.reason);
    }
    ready
}

/// Returns what keeps `Ready` from being True: the run if it has failed, else the template if it has, else what is
/// unknown. While the next run is held (see [`Category::goes_before_the_run`]), the result of the run before does
/// not count.
fn first_blocking<'a, T>(
    template: Option<&'a T>,
    stamped: Option<&'a T>,
    said: impl Fn(&T) -> (&str, &str),
) -> Option<&'a T> {
    let reason = template.and_then(|one| Category::parse(said(one).1));
    let waits = reason.is_some_and(Category::goes_before_the_run);
    let both = [template, stamped.filter(|_| !waits)];
    let conditions = both.into_iter().flatten();
    let mut unknown = conditions.clone().filter(|one| said(one).0 == UNKNOWN);
    let failed = conditions.filter(|one| said(one).0 == FALSE).last();
    failed.or_else(|| unknown.next())
}

/// Returns the condition that keeps `Ready` from being True.
#[must_use]
pub fn blocking(status: &RunnableStatus) -> Option<&Condition> {
    first_blocking(
        find(status, RUN_TEMPLATE_READY),
        find(status, STAMPED_OBJECT_CONDITION),
        |condition| (&condition.status, &condition.reason),
    )
}

/// Returns `Reconciling` while something is under way, retried or on its way from upstream, and `Stalled` if only a
/// change can help. `None` while the Runnable waits for a person.
fn abnormal(
    facts: &Facts,
    ready: &ConditionValue,
    ledger: &Ledger,
    error: Option<&ReconcileError>,
) -> Option<(&'static str, ConditionValue)> {
    let reason = Category::parse(&ready.reason);
    if ready.status == TRUE {
        return Some((RECONCILING, follows::upstream_change(facts, error)?));
    }
    if reason.is_some_and(Category::waits_for_a_person) {
        return None;
    }
    if let Some(ahead) = facts.policy.ahead(ledger)
        && error.is_none_or(|error| error.category == Category::Suspended)
    {
        // A suspended Runnable waits for its user.
        return (!facts.runnable.suspended).then(|| retry_scheduled(&ahead, ready, ledger));
    }
    let ended = ledger.current.as_ref().is_some_and(|current| {
        current
            .result
            .is_some_and(|result| result != RunResult::Succeeded)
    });
    let stalled = match error {
        Some(error) if error.category == Category::Suspended => ended,
        Some(error) if awaited::may_come(error) => awaited_for(facts, error).is_none(),
        Some(error) => {
            error.requeue == Requeue::OnChange && error.category != Category::OtherController
        }
        None if awaited::waits_for_image(ready.status, &ready.reason) => {
            image_awaited_for(facts, ready.status, &ready.reason).is_none()
        }
        None => ended,
    };
    let name = if stalled { STALLED } else { RECONCILING };
    let own = error.filter(|_| !stalled).and_then(awaited::own_reason);
    let reason = own.map_or_else(|| ready.reason.clone(), str::to_owned);
    Some((
        name,
        ConditionValue {
            status: TRUE,
            reason,
            // Scripts look for Cartographer's words in the conditions that Cartographer has.
            message: MessageParts::own(&ready.message).to_owned(),
        },
    ))
}

fn retry_scheduled(
    ahead: &Ahead,
    ready: &ConditionValue,
    ledger: &Ledger,
) -> (&'static str, ConditionValue) {
    let current = ledger.current.as_ref();
    let lost = current.filter(|current| current.result == Some(RunResult::Lost));
    // A lost run that is retried needs no action.
    let lost = lost.map(vanished);
    let after = lost.unwrap_or_else(|| MessageParts::own(&ready.message).to_owned());
    let message = format!("{ahead}, after: {after}");
    let value = ConditionValue {
        status: TRUE,
        reason: RETRY_SCHEDULED.to_owned(),
        message,
    };
    (RECONCILING, value)
}

/// Returns the condition that warns of late events while watches fail, whatever the other conditions say.
fn unwatched(facts: &Facts) -> Option<(&'static str, ConditionValue)> {
    let message = facts.unwatched.clone()?;
    let value = ConditionValue {
        status: TRUE,
        reason: "WatchFailing".to_owned(),
        message,
    };
    Some((WATCH_UNAVAILABLE, value))
}

/// Returns the condition of the run for the present rendering, or of the run before it while the next one is held
/// back.
fn stamped(facts: &Facts, ledger: &Ledger, error: Option<&ReconcileError>) -> ConditionValue {
    let stored = || {
        find(&facts.stored, STAMPED_OBJECT_CONDITION)
            .map_or_else(ConditionValue::unknown, ConditionValue::from_condition)
    };
    let stuck_on = |category| error.is_some_and(|error| error.category == category);
    if stuck_on(Category::OtherController) {
        return stored();
    }
    let rendered = facts.rendering.as_ref();
    let is_rendered =
        |hash: &str| rendered.is_ok_and(|rendering| rendering.document.has_hash(hash));
    // While the next run has to wait, the run before it is reported.
    let is_held =
        error.is_some_and(|error| error.category.is_hold()) || stuck_on(Category::Rejected);
    let slowed = stuck_on(Category::RunawayDetected)
        || stuck_on(Category::StopFailed)
        || error.is_some_and(|error| error.category.leaves_the_run())
        || is_held;
    let Some(current) = ledger.current.as_ref().filter(|current| {
        current.phase == RunPhase::Created && (slowed || is_rendered(&current.input_hash))
    }) else {
        return ConditionValue::unknown();
    };
    if current.result == Some(RunResult::Lost) {
        return lost(current);
    }
    if let Some(run) = facts.shown_run(current) {
        return ConditionValue::of_run(&run.health);
    }
    let uid = current.uid.as_deref().unwrap_or_default();
    let value = stored();
    if is_stored(facts, current) && result(value.status) == current.result {
        value
    } else {
        let there = facts.cached_run(uid).is_some_and(|seen| !seen.deleted);
        recorded(current, there)
    }
}

/// Returns true if the stored status reports this run.
fn is_stored(facts: &Facts, current: &CurrentRun) -> bool {
    let stored = facts.stored.current_run.as_ref();
    stored.is_some_and(|stored| stored.sequence == current.sequence)
}

fn result(status: &str) -> Option<RunResult> {
    match status {
        TRUE => Some(RunResult::Succeeded),
        FALSE => Some(RunResult::Failed),
        _ => None,
    }
}

/// Returns the condition of a run from the ledger alone, for lack of its engine's words, mostly because the run is
/// gone. What a watch shows must not be repeated here, since the account may not be allowed to see it.
fn recorded(current: &CurrentRun, there: bool) -> ConditionValue {
    let end = if there { "" } else { "; its object is gone" };
    let value = |status, did: &str| ConditionValue {
        status,
        reason: "SucceededCondition".to_owned(),
        message: format!("run [{}] {did}{end}", current.name),
    };
    match current.result {
        Some(RunResult::Succeeded) => value(TRUE, "succeeded"),
        Some(RunResult::Failed) => value(FALSE, ended_by(current.stop.as_ref())),
        Some(RunResult::Lost) => lost(current),
        None => ConditionValue::unknown(),
    }
}

/// Describes the end of a failed run from the ledger alone.
fn ended_by(stop: Option<&Stop>) -> &'static str {
    match stop.map(|stop| &stop.reason) {
        Some(StopReason::TimedOut) => "was stopped by its timeout",
        Some(StopReason::Replaced) => "was stopped for a later run",
        Some(StopReason::Cancelled) => "was cancelled",
        Some(StopReason::Withdrawn | StopReason::Other(_)) => "was stopped",
        None => "failed",
    }
}

fn lost(current: &CurrentRun) -> ConditionValue {
    ConditionValue {
        status: UNKNOWN,
        reason: RUN_LOST.to_owned(),
        message: format!(
            "{}, so its result is not known: change an input to run again, or set the annotation {} to a new value",
            vanished(current),
            cartouche_crds::RERUN_TOKEN_ANNOTATION
        ),
    }
}

fn vanished(current: &CurrentRun) -> String {
    format!(
        "run [{}] disappeared before the controller saw its end",
        current.name
    )
}

/// Returns true if the next status differs from the stored one, so that the caller has something to write.
#[must_use]
pub fn differs(stored: &Arc<RunnableStatus>, next: &RunnableStatus) -> bool {
    **stored != *next
}

#[cfg(test)]
mod tests;
