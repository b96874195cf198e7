//! Writes the status: ledger, conditions and outputs in one request. I/O.

use std::{sync::Arc, time::Duration};

use cartouche_crds::{RunPhase, RunnableStatus, StopReason};
use cartouche_protocol::{
    advice::advice,
    category::Category,
    conditions,
    decide::{Step, decide},
    facts::{CreateOutcome, LedgerWriter, NameRead},
    ledger::{AtWork, Change, Ledger, RunName, is_of_another_document},
    reconcile_error::ReconcileError,
    retention::trimmed,
    sources::Provenance,
    status, told,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reconciliation::{End, Reconciliation};
use crate::{
    api::ApiError,
    clock::boot_time,
    discovery::Kind,
    events::Occasion,
    lock::lock,
    memory::Operation,
    metrics::StatusVerb,
    mutants::{self, Mutant},
};

/// Of a Runnable, only which version it is.
#[derive(Deserialize)]
pub(super) struct RunnableVersion {
    pub(super) metadata: VersionMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VersionMeta {
    pub(super) resource_version: String,
}

/// Hashes of one process are one to its [`ContestedPace`](cartouche_protocol::pace::ContestedPace), whatever they are of.
const HASH: u64 = 0;

/// True if the ledger says of its run only that it is of another document.
fn is_noted_as_another(ledger: &Ledger) -> bool {
    let current = ledger.current.as_ref();
    current.is_some_and(|current| is_of_another_document(&current.input_hash))
}

impl Reconciliation<'_> {
    /// Writes the ledger, and with it all that the status says of it.
    pub(super) async fn write(&mut self, ledger: Ledger, change: Change) -> Result<(), End> {
        // It is said of entries that no create for them is sent any more from now on.
        let is_dated = matches!(change, Change::MakeWay | Change::Intent | Change::Renumber);
        if is_dated && self.is_clock_stale() {
            self.look_at_the_clock();
            return Ok(());
        }
        let policy = self.runnable.spec.retention_policy;
        let now = mutants::later(self.facts.now);
        let ledger = trimmed(ledger, policy, now, |entry, uid| {
            self.is_missing(entry, uid)
        });
        let ledger = self.with_provenance(ledger, change);
        if let Some(left) = self.contested(&ledger, change) {
            // It is decided by from here on, and stored with the next write that is made anyway.
            self.contested_after = self.contested_after.into_iter().chain([left]).min();
            self.facts.ledger = ledger;
            return Ok(());
        }
        if ledger.outputs_from != self.facts.ledger.outputs_from
            || ledger.outputs != self.facts.ledger.outputs
        {
            Box::pin(self.write_sinks(&ledger)).await?;
        }
        let error = match (&self.facts.created, change) {
            _ if self.stuck_on.is_some() => self.stuck_on.clone(),
            (Some(CreateOutcome::Refused(error)), Change::Reject) => Some(error.clone()),
            (Some(CreateOutcome::AlreadyExists), Change::Reject) => self.conflict(),
            _ => None,
        };
        let status = status::status(&self.facts, &ledger, error.as_ref());
        let mut status = mutants::said(status);
        if change == Change::Attempt {
            // What is wrong is not known to be cured.
            status.conditions.clone_from(&self.facts.stored.conditions);
        }
        let before = std::mem::replace(&mut self.facts.ledger, ledger);
        let kept_back = change == Change::Intent && mutants::makes(Mutant::NoIntent);
        if !kept_back && let Err(end) = self.put(status).await {
            self.facts.ledger = before;
            return Err(end);
        }
        self.contested_after = None;
        self.after_write(&before, change);
        self.observe_watches().await;
        Ok(())
    }

    /// The time until this may be written, if another release has put something else in its place.
    fn contested(&self, ledger: &Ledger, change: Change) -> Option<Duration> {
        let (memory, now) = (lock(&self.memory), boot_time());
        match change {
            // A hash that no document has is no other release's to put back.
            Change::MigrateHash if !is_noted_as_another(ledger) => memory.rehashes.left(HASH, now),
            Change::Record if memory.records.is_repeated() => {
                memory.records.left(ledger.recorded(), now)
            }
            _ => None,
        }
    }

    /// The ledger with what its runs were made from.
    fn with_provenance(&self, ledger: Ledger, change: Change) -> Ledger {
        let (before, dependencies) = (&self.facts.ledger, &self.facts.dependencies);
        let read = match change {
            Change::Intent => dependencies.of_intent(),
            Change::MoveOn => dependencies.traced.as_ref(),
            _ => None,
        };
        let provenance = Provenance::of(before).after(before, (&ledger, change), read);
        provenance.told_in(ledger)
    }

    /// The error that the next decision will name, for the write that comes before it.
    fn conflict(&self) -> Option<ReconcileError> {
        let mut facts = self.facts.clone();
        if let Some(current) = &mut facts.ledger.current {
            current.phase = RunPhase::Rejected;
        }
        match decide(&facts) {
            Step::Stuck(error) => Some(error),
            _ => None,
        }
    }

    fn after_write(&mut self, before: &Ledger, change: Change) {
        // Nothing was ever sent for what was intended just now, nor for what was only ever refused.
        let unsent = |ledger: &Ledger| {
            let current = ledger.current.as_ref();
            current.is_some_and(|current| !current.attempted)
        };
        let intended = matches!(change, Change::Intent | Change::Renumber);
        self.facts.only_attempt = intended || change == Change::Attempt && unsent(before);
        self.facts.renumbered += u8::from(change == Change::Renumber);
        match change {
            Change::MigrateHash => lock(&self.memory).rehashes.wrote(HASH, boot_time()),
            Change::Record => {
                let recorded = self.facts.ledger.recorded();
                lock(&self.memory).records.wrote(recorded, boot_time());
            }
            _ => {}
        }
        // What was written by us is the latest.
        self.facts.ledger_writer = self.facts.ledger_writer.map(|_| LedgerWriter::Ours);
        if change == Change::Renumber {
            self.report_taken_name(before);
        }
        if intended {
            self.facts.created = None;
            // What was read before is no proof of what becomes of the entry that is superseded.
            self.facts.reads.clear();
            self.facts.listed = None;
        }
        lock(&self.memory)
            .state
            .wrote_ledger(&self.facts.ledger, change, boot_time());
        self.forget_last_word(before);
        if change == Change::Record {
            self.facts.release_recorded();
        }
        if change == Change::Confirm {
            // A refusal to read was no hindrance to confirm; to follow the run it is.
            self.facts.reads.retain(|_, read| *read != NameRead::Denied);
        }
        if matches!(change, Change::Stop | Change::MakeWay) {
            self.announce_stop(before);
        }
        if change == Change::MoveOn
            && let Some(traced) = &self.facts.dependencies.traced
        {
            lock(&self.memory).telling.moved_on(traced, boot_time());
        }
        self.announce(before);
    }

    /// What is tried again is read once more before that: the read that found it failed need not have been consistent.
    fn forget_last_word(&mut self, before: &Ledger) {
        let had = |ledger: &Ledger| {
            let current = ledger.current.as_ref();
            current.is_some_and(|current| current.retry_at.is_some())
        };
        if let Some(current) = &self.facts.ledger.current
            && had(&self.facts.ledger)
            && !had(before)
        {
            self.facts.reads.remove(&RunName::of(current));
        }
    }

    /// Counts a result that is new, and says that there are new outputs.
    fn announce(&self, before: &Ledger) {
        let Some(current) = &self.facts.ledger.current else {
            return;
        };
        let result = |ledger: &Ledger| ledger.current.as_ref().and_then(|current| current.result);
        if result(before) != current.result
            && let Some(result) = current.result
        {
            self.ctx.metrics.run_finished(result);
        }
        self.announce_attempts(before);
        if before.outputs != self.facts.ledger.outputs
            && let Some(from) = &self.facts.ledger.outputs_from
        {
            let object = format!("{}/{}", self.resource_of(current), from.name);
            self.publish(&Occasion::OutputChanged(object));
        }
    }

    /// Says which runs are told to stop.
    fn announce_stop(&self, before: &Ledger) {
        let is_new = |run: &AtWork<'_>| run.stop.is_some() && before.stop_of(run.uid).is_none();
        for run in self.facts.ledger.at_work().filter(is_new) {
            let reason = run.stop.map(|stop| &stop.reason);
            self.ctx.metrics.run_stopped(reason);
            let why = match reason {
                Some(StopReason::Replaced) => "makes way for a later run",
                Some(StopReason::Cancelled) => "was cancelled, and works on",
                _ => "has worked for longer than its timeout",
            };
            let message = format!("run {} {why}, and is told to stop", run.name.name);
            self.publish(&Occasion::Stopped(message));
        }
    }

    /// Says that a run waits for a person, once for each that does, and once in a while where these follow each other.
    fn announce_request(&self, new: &RunnableStatus) {
        let asks = {
            let telling = &mut lock(&self.memory).telling;
            telling.asks_anew(&self.facts.stored, new);
            telling.may_ask(new, boot_time())
        };
        if asks {
            self.ask_a_person(new);
        }
    }

    fn ask_a_person(&self, status: &RunnableStatus) {
        if let Some(waits) = conditions::find(status, conditions::RUN_TEMPLATE_READY) {
            let message = waits.message.clone();
            self.publish(&Occasion::ApprovalRequested(message));
        }
    }

    /// Says what a person has yet to be asked for, if it is time: how long until it is, otherwise.
    pub(super) fn asks_again(&self) -> Option<Duration> {
        let (asks, left) = {
            let (telling, now) = (&mut lock(&self.memory).telling, boot_time());
            (
                telling.may_ask(&self.facts.stored, now),
                telling.asks_after(now),
            )
        };
        if asks {
            self.ask_a_person(&self.facts.stored);
        }
        left
    }

    /// Says when what failed is tried again, and when it is not any more.
    fn announce_attempts(&self, before: &Ledger) {
        let (Some(old), Some(current)) = (&before.current, &self.facts.ledger.current) else {
            return;
        };
        if current.sequence > old.sequence && current.attempt > old.attempt {
            self.ctx.metrics.run_retried();
        }
        // A change goes first.
        if self.facts.is_another_due() {
            return;
        }
        // Who cancels a run asks for no further attempt.
        let uid = current.uid.as_deref().unwrap_or_default();
        let is_cancelled = self.facts.is_cancelled(uid);
        let has_ended = current
            .result
            .filter(|_| old.result.is_none() && !is_cancelled);
        let (Some(result), Some(retry)) = (has_ended, &self.facts.policy.retry) else {
            return;
        };
        let is_held = self.facts.runnable.suspended || self.stuck_on.is_some();
        if let Some(ahead) = self.facts.policy.ahead(&self.facts.ledger) {
            if is_held {
                return;
            }
            let message = format!(
                "run {} has ended as {}: {ahead}",
                current.name,
                result.as_str()
            );
            self.publish(&Occasion::RetryScheduled(message));
        } else if retry.is_exhausted(current) {
            let message = format!(
                "run {} has ended as {}: it was attempt {} of {}, the last one",
                current.name,
                result.as_str(),
                current.attempt,
                current.attempt,
            );
            self.publish_warning("RetriesExhausted", message);
        }
    }

    /// Replaces the status, with the resourceVersion of what was read.
    pub(super) async fn put(&mut self, status: RunnableStatus) -> Result<(), End> {
        let path = &Kind::runnables().path(&self.key.namespace);
        let (own, name) = (self.ctx.identity.own(), &self.key.name);
        let latest = || async move { own.get::<Value>(path, name).await.ok() };
        let version = mutants::precondition(&self.resource_version, latest).await;
        let template = &self.runnable.spec.run_template_ref.name;
        let spec = json!({ "runTemplateRef": { "name": template } });
        let in_doubt = self.ctx.definitions.are_doubted();
        // What is written holds from when it was sent: others may have written since, however late the answer comes.
        let sent = boot_time();
        match own
            .replace_status::<RunnableVersion, _>(
                &*self.runnable,
                &version,
                (spec, &status),
                in_doubt,
            )
            .await
        {
            Ok(written) => {
                let version = written.metadata.resource_version;
                self.warn(&status);
                self.announce_request(&status);
                let change = self.change_to(&status);
                self.facts.stored = Arc::new(status);
                {
                    let mut memory = lock(&self.memory);
                    memory.pace.wrote(&change, boot_time());
                    memory.state.wrote_status(&self.facts.stored, &version);
                    memory.succeeded(&Operation::Status(self.facts.runnable.generation));
                }
                self.resource_version = version;
                self.read_at = sent;
                self.has_written = true;
                self.look_at_the_clock();
                Ok(())
            }
            Err(error) => Err(self.unwritten(&error)),
        }
    }

    /// The status was not written, or not as it was to be.
    fn unwritten(&self, error: &ApiError) -> End {
        match error {
            error if error.is_conflict() => {
                self.ctx.metrics.status_conflict();
                End::Conflict
            }
            error if error.is_not_found() => End::Gone,
            ApiError::Dropped(fields) => self.dropped(fields),
            error => {
                let what = Operation::Status(self.facts.runnable.generation);
                self.refuse(what, StatusVerb::Update, error)
            }
        }
    }

    /// A Warning event for every condition that is False and says something new, and one when what is waited for has not come for so
    /// long that only a change helps. A template may come a moment after its Runnables, as an input may.
    fn warn(&self, status: &RunnableStatus) {
        let stalled =
            |status: &RunnableStatus| conditions::find(status, conditions::STALLED).is_some();
        let is_of_template = |it: &Condition| it.reason == Category::RunTemplateNotFound.as_str();
        let waits = conditions::find(status, conditions::RUN_TEMPLATE_READY).filter(|it| {
            let is_of_input = it.reason == Category::DependencyNotReady.as_str();
            is_of_template(it) || is_of_input && it.status != conditions::FALSE
        });
        let has_stalled = stalled(status) && !stalled(&self.facts.stored);
        if let Some(waits) = waits.filter(|_| has_stalled) {
            self.publish_warning(&waits.reason, waits.message.clone());
        }
        let is_told_later = has_stalled || self.waits_for_template;
        for condition in status.conditions.iter().filter(|condition| {
            condition.status == conditions::FALSE
                && condition.type_ != conditions::READY
                && !(is_told_later && is_of_template(condition))
        }) {
            let reported = self.facts.stored.conditions.iter().any(|stored| {
                stored.type_ == condition.type_
                    && stored.status == condition.status
                    && stored.reason == condition.reason
                    && told::without_tries(&stored.message)
                        == told::without_tries(&condition.message)
            });
            if !reported {
                let of_run = condition.type_ == conditions::STAMPED_OBJECT_CONDITION;
                let said = of_run.then(|| status::said_of_run(status)).flatten();
                let message = match (said, advice(status, condition)) {
                    (Some(said), Some(advice)) => told::message(said, &advice, None),
                    _ => condition.message.clone(),
                };
                self.publish_warning(&condition.reason, message);
            }
        }
    }
}
