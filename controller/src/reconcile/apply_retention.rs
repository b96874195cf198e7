//! Deletes finished runs beyond the retention policy, as the Runnable's account. I/O.

use std::{collections::BTreeSet, time::Duration};

use cartouche_crds::HistoryEntry;
use cartouche_protocol::{
    category::Category,
    facts::WatchState,
    ledger::old_enough,
    messages::reconcile_error::ReconcileError,
    retention::{retention, surplus},
};

use super::reconciliation::{CONFLICT_PAUSE, Reconciliation};
use crate::{
    api::{ApiError, Requests},
    clock::boot_time,
    events::{Occasion, WarningReason},
    lock::lock,
    memory::Operation,
    mutants,
    watched_kind::{Purpose, Watched},
};

impl Reconciliation<'_> {
    /// Deletes finished runs beyond the retention policy. Returns the time until the next reconciliation.
    pub(super) async fn apply_retention(&mut self) -> Option<Duration> {
        self.poll_surplus().await;
        let (ledger, policy) = (&self.facts.ledger, self.runnable.spec.retention_policy);
        let plan = {
            let state = &mut lock(&self.memory).state;
            state.prune_retired(ledger);
            let now = mutants::later(self.facts.now);
            retention(ledger, policy, now, |entry, uid| {
                !state.retired.contains(uid) && self.exists(entry, uid)
            })
        };
        if plan.delete.is_empty() {
            return plan.again;
        }
        let held = lock(&self.memory)
            .in_backoff(&Operation::Delete, boot_time())
            .map(|(_, left)| left);
        if held.is_some() {
            return held;
        }
        let account = self.account.clone()?;
        let mut again = plan.again;
        for entry in &plan.delete {
            match self.delete(&account, entry).await {
                Ok(()) => {}
                // Either another object has the name, and the watch will show that this one is gone. Or the API server
                // was inconsistent, and the run still exists.
                Err(error) if error.is_conflict() => {
                    again = again.into_iter().chain([CONFLICT_PAUSE]).min();
                }
                Err(error) => return Some(self.undeletable(&entry.name, &error)),
            }
        }
        lock(&self.memory).clear_failure(&Operation::Delete);
        again
    }

    /// Deletes one run, unless it is gone.
    async fn delete(&self, account: &Requests, entry: &HistoryEntry) -> Result<(), ApiError> {
        let (Some(Watched { kind, .. }), Some(uid)) = (self.runs_of(entry), &entry.uid) else {
            return Ok(());
        };
        let path = kind.path(&self.key.namespace);
        match account.delete(&path, &entry.name, uid).await {
            Err(error) if error.is_not_found() => return Ok(()),
            outcome => outcome?,
        }
        lock(&self.memory).state.retired.insert(uid.clone());
        self.ctx.metrics.run_deleted();
        let object = format!("{}/{}", kind.resource(), entry.name);
        self.publish(&Occasion::Removed(object));
        Ok(())
    }

    /// Returns the watch that covers an earlier run.
    fn runs_of(&self, entry: &HistoryEntry) -> Option<Watched> {
        let kinds = &self.ctx.kinds;
        let kind = kinds.known_objects(&entry.api_version, &entry.kind)?;
        Some(Watched {
            purpose: Purpose::Runs,
            kind,
        })
    }

    /// Returns true if the object of an earlier run is known to exist.
    fn exists(&self, entry: &HistoryEntry, uid: &str) -> bool {
        let watched = self.runs_of(entry);
        watched.is_some_and(|watched| self.ctx.runs.exists(&watched, uid))
    }

    /// Returns true if the object of an earlier run is known to be gone. Either a synced watch lacks it, or a complete
    /// list made long after it began.
    pub(super) fn is_missing(&self, entry: &HistoryEntry, uid: &str) -> bool {
        let Some(watched) = self.runs_of(entry) else {
            return false;
        };
        let runs = &self.ctx.runs;
        let is_known = match self.ctx.watches.state(&watched) {
            WatchState::Synced => true,
            WatchState::Polled => {
                let polled = runs.polled_at(&watched, &self.facts.runnable.uid);
                polled.is_some() && old_enough(entry.started_at.as_ref(), polled)
            }
            WatchState::Starting => false,
        };
        is_known && !runs.exists(&watched, uid)
    }

    /// Lists surplus runs of polled kinds other than that of the current run: nothing else lists those.
    async fn poll_surplus(&self) {
        let (ledger, policy) = (&self.facts.ledger, self.runnable.spec.retention_policy);
        let current = ledger.current.as_ref();
        let current = current.and_then(|run| {
            let kinds = &self.ctx.kinds;
            kinds.known_objects(&run.api_version, &run.kind)
        });
        let polled: BTreeSet<Watched> = surplus(ledger, policy)
            .filter(|entry| {
                let now = mutants::later(self.facts.now);
                old_enough(entry.finished_at.as_ref(), now)
            })
            .filter(|entry| {
                let mut uid = entry.uid.iter();
                uid.any(|uid| !self.is_missing(entry, uid))
            })
            .filter_map(|entry| self.runs_of(entry))
            .filter(|watched| Some(&watched.kind) != current.as_ref())
            .filter(|watched| self.ctx.watches.state(watched) == WatchState::Polled)
            .collect();
        for watched in polled {
            self.poll(&watched).await;
        }
    }

    /// Records a failed deletion with a growing backoff, and publishes one Warning. Returns the backoff.
    fn undeletable(&self, name: &str, error: &ApiError) -> Duration {
        let text = format!(
            "unable to delete finished run [{}/{name}]: {error}: grant the ServiceAccount the permission to delete, or raise spec.retentionPolicy",
            self.key.namespace
        );
        let error = ReconcileError::new(
            Category::StampedObjectRejectedByAPIServer,
            error.requeue(),
            text,
        );
        let mut memory = lock(&self.memory);
        if memory.last_failure(&Operation::Delete).is_none() {
            self.publish_warning(
                WarningReason::RetentionFailed.as_str(),
                error.message.clone(),
            );
        }
        memory.record_failure(Operation::Delete, &error, boot_time())
    }
}
