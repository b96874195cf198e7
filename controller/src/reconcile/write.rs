//! Writes the status: ledger, conditions and outputs in one request. I/O.

use std::{sync::Arc, time::Duration};

use cartouche_crds::{RunPhase, RunnableStatus};
use cartouche_protocol::{
    decide::{Step, decide},
    facts::{CreateOutcome, LedgerWriter, NameRead},
    ledger::{Change, Ledger, RunName, is_of_another_document},
    messages::reconcile_error::ReconcileError,
    retention::trim_history,
    sources::Provenance,
    status,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::reconciliation::{End, Reconciliation};
use crate::{
    api::ApiError,
    clock::boot_time,
    discovery::Kind,
    lock::lock,
    memory::Operation,
    metrics::StatusVerb,
    mutants::{self, Mutant},
};

/// A Runnable, reduced to its version.
#[derive(Deserialize)]
pub(super) struct RunnableVersion {
    pub(super) metadata: VersionMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VersionMeta {
    pub(super) resource_version: String,
}

/// Key under which all rewrites of hashes share one [`ContestedPace`](cartouche_protocol::pace::ContestedPace).
const HASH: u64 = 0;

/// Returns true if the ledger says of its run only that it is of another document.
fn is_noted_as_another(ledger: &Ledger) -> bool {
    let current = ledger.current.as_ref();
    current.is_some_and(|current| is_of_another_document(&current.input_hash))
}

impl Reconciliation<'_> {
    /// Writes the ledger, and with it all that the status says of it.
    pub(super) async fn write(&mut self, ledger: Ledger, change: Change) -> Result<(), End> {
        // These changes state a time after which no create is sent for superseded entries.
        let is_dated = matches!(change, Change::MakeWay | Change::Intent | Change::Renumber);
        if is_dated && self.is_clock_stale() {
            self.look_at_the_clock();
            return Ok(());
        }
        let policy = self.runnable.spec.retention_policy;
        let now = mutants::later(self.facts.now);
        let ledger = trim_history(ledger, policy, now, |entry, uid| {
            self.is_missing(entry, uid)
        });
        let ledger = self.with_provenance(ledger, change);
        if let Some(left) = self.contested(&ledger, change) {
            // Decisions use it from now on. It is stored with the next write that happens anyway.
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
        let mut status = mutants::play_release(status);
        if change == Change::Attempt {
            // The earlier problem is not known to be fixed.
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

    /// Returns the time until this may be written, if another release has put something else in its place.
    fn contested(&self, ledger: &Ledger, change: Change) -> Option<Duration> {
        let (memory, now) = (lock(&self.memory), boot_time());
        match change {
            // No other release replaces a hash that no document has.
            Change::MigrateHash if !is_noted_as_another(ledger) => {
                memory.rehashes.time_left(HASH, now)
            }
            Change::Record if memory.records.is_repeated() => {
                memory.records.time_left(ledger.digest_runs(), now)
            }
            _ => None,
        }
    }

    /// Adds to the ledger the sources that its runs were made from.
    fn with_provenance(&self, ledger: Ledger, change: Change) -> Ledger {
        let (before, dependencies) = (&self.facts.ledger, &self.facts.dependencies);
        let read = match change {
            Change::Intent => dependencies.of_intent(),
            Change::MoveOn => dependencies.traced.as_ref(),
            _ => None,
        };
        let provenance = Provenance::from_ledger(before).after(before, (&ledger, change), read);
        provenance.apply_to(ledger)
    }

    /// Returns the error that the next decision will name, for the write that comes before it.
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
        // No create was ever sent for a new intent, nor for one that was only refused.
        let unsent = |ledger: &Ledger| {
            let current = ledger.current.as_ref();
            current.is_some_and(|current| !current.attempted)
        };
        let intended = matches!(change, Change::Intent | Change::Renumber);
        self.facts.only_attempt = intended || change == Change::Attempt && unsent(before);
        self.facts.renumbered += u8::from(change == Change::Renumber);
        match change {
            Change::MigrateHash => lock(&self.memory).rehashes.record_write(HASH, boot_time()),
            Change::Record => {
                let recorded = self.facts.ledger.digest_runs();
                lock(&self.memory)
                    .records
                    .record_write(recorded, boot_time());
            }
            _ => {}
        }
        // The controller's own write is the latest.
        self.facts.ledger_writer = self.facts.ledger_writer.map(|_| LedgerWriter::Ours);
        if change == Change::Renumber {
            self.report_taken_name(before);
        }
        if intended {
            self.facts.created = None;
            // Earlier reads prove nothing about the superseded entry.
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
            // A denied read did not prevent the confirmation, but it prevents following the run.
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

    /// Drops the read of a run that will be retried, so that it is read once more before: the read that found the
    /// failure may have been stale.
    fn forget_last_word(&mut self, before: &Ledger) {
        let had = |ledger: &Ledger| {
            let current = ledger.current.as_ref();
            current.is_some_and(|current| current.retry_at.is_some())
        };
        if let Some(current) = &self.facts.ledger.current
            && had(&self.facts.ledger)
            && !had(before)
        {
            self.facts.reads.remove(&RunName::from_current(current));
        }
    }

    /// Replaces the status, with the resourceVersion that was read.
    pub(super) async fn put(&mut self, status: RunnableStatus) -> Result<(), End> {
        let path = &Kind::runnables().path(&self.key.namespace);
        let (own, name) = (self.ctx.identity.own(), &self.key.name);
        let latest = || async move { own.get::<Value>(path, name).await.ok() };
        let version = mutants::precondition(&self.resource_version, latest).await;
        let template = &self.runnable.spec.run_template_ref.name;
        let spec = json!({ "runTemplateRef": { "name": template } });
        let in_doubt = self.ctx.definitions.are_doubted();
        // The ledger is as old as the request: others may have written since, however late the answer comes.
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
                    memory.pace.record_write(&change, boot_time());
                    memory.state.wrote_status(&self.facts.stored, &version);
                    memory.clear_failure(&Operation::Status(self.facts.runnable.generation));
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

    /// Maps a failed write of the status to an end.
    fn unwritten(&self, error: &ApiError) -> End {
        match error {
            error if error.is_conflict() => {
                self.ctx.metrics.status_conflict();
                End::Conflict
            }
            error if error.is_not_found() => End::Gone,
            ApiError::Dropped(fields) => self.refuse_dropped(fields),
            error => {
                let what = Operation::Status(self.facts.runnable.generation);
                self.refuse(what, StatusVerb::Update, error)
            }
        }
    }
}
