//! Failures to read or write the ledger itself. Without it nothing may be done.

use std::time::Duration;

use cartouche_protocol::{
    category::Category,
    messages::reconcile_error::{ReconcileError, Requeue},
};
use serde::de::DeserializeOwned;

use super::{
    finish::log,
    make::LEDGER_FRESH_FOR,
    reconciliation::{End, Reconciliation},
};
use crate::{
    api::ApiError,
    clock::boot_time,
    discovery::Kind,
    events::WarningReason,
    lock::lock,
    memory::{Operation, digest},
    metrics::StatusVerb,
};

/// Minimum time between two events of one Runnable that another release is needed.
const REPORTED_AGAIN_AFTER: Duration = Duration::from_hours(1);

impl Reconciliation<'_> {
    /// Leaves alone a Runnable that a newer release serves: this process does nothing for it and watches nothing. Other
    /// Runnables may still read its outputs.
    pub(super) fn leave_alone(&self, newer: &ReconcileError) {
        log(&self.key, newer);
        self.ctx.metrics.problem(newer.category);
        self.ctx.unwatch(&self.key);
        let watched = std::mem::take(&mut lock(&self.memory).watched);
        for watched in &watched {
            self.ctx.selections.remove(watched, &self.key);
        }
        self.tell_of_release(newer);
    }

    /// Publishes at intervals that another release is needed, of the controller or of the definitions.
    pub(super) fn tell_of_release(&self, needed: &ReconcileError) {
        let what = digest((
            needed.category.as_str(),
            needed.requeue == Requeue::OnChange,
        ));
        let now = boot_time();
        {
            let reported = &mut lock(&self.memory).reported_release;
            if reported
                .is_some_and(|(reported, at)| reported == what && now < at + REPORTED_AGAIN_AFTER)
            {
                return;
            }
            *reported = Some((what, now));
        }
        self.publish_warning(needed.category.as_str(), needed.message.clone());
    }

    /// Handles a write whose fields the API server has dropped, or would have: the written status is not trusted.
    pub(super) fn refuse_dropped(&self, fields: &[String]) -> End {
        let left = self.ctx.definitions.drop_fields(fields, boot_time());
        if let Some(outdated) = self.ctx.definitions.outdated_error() {
            self.tell_of_release(&outdated);
        }
        End::Refused(left)
    }

    /// Returns the backoff during which nothing is done, since a write of the status was refused and nothing could be
    /// recorded. Another spec may lead to another status.
    pub(super) fn refused_backoff(&self) -> Option<Duration> {
        let what = Operation::Status(self.facts.runnable.generation);
        let memory = lock(&self.memory);
        memory.in_backoff(&what, boot_time()).map(|(_, left)| left)
    }

    /// Reads the Runnable once more. Returns `Err` if another client has written since this reconciliation read it.
    pub(super) async fn read_again<T: DeserializeOwned>(
        &self,
        version: impl Fn(&T) -> &str,
    ) -> Result<T, End> {
        if let Some((_, left)) = lock(&self.memory).in_backoff(&Operation::Ledger, boot_time()) {
            return Err(End::Refused(left));
        }
        let path = Kind::runnables().path(&self.key.namespace);
        let own = self.ctx.identity.own();
        let began = boot_time();
        match own.get::<T>(&path, &self.key.name).await {
            // The answer is too old to act on.
            Ok(_) if boot_time().saturating_sub(began) > LEDGER_FRESH_FOR => {
                let late = format!("the answer took more than {} s", LEDGER_FRESH_FOR.as_secs());
                Err(self.refuse(
                    Operation::Ledger,
                    StatusVerb::Get,
                    &ApiError::Unanswered(late),
                ))
            }
            Ok(found) if version(&found) == self.resource_version => {
                lock(&self.memory).clear_failure(&Operation::Ledger);
                Ok(found)
            }
            Ok(_) => Err(End::Conflict),
            Err(error) if error.is_not_found() => Err(End::Gone),
            Err(error) => Err(self.refuse(Operation::Ledger, StatusVerb::Get, &error)),
        }
    }

    /// Reports once that the ledger cannot be read or written, and retries with a growing backoff.
    pub(super) fn refuse(&self, what: Operation, verb: StatusVerb, error: &ApiError) -> End {
        let doing = verb.doing();
        let refusal = ReconcileError::new(
            Category::UnknownError,
            error.requeue(),
            format!(
                "unable to {doing} the status of the Runnable, so nothing runs for it: {error}; check the permissions of the controller, and admission policies for runnables/status"
            ),
        );
        tracing::warn!(namespace = self.key.namespace, runnable = self.key.name, %error, "failed to {doing} the status of a Runnable");
        self.ctx.metrics.status_refused(verb);
        let mut memory = lock(&self.memory);
        if memory.last_failure(&what).is_none() {
            self.publish_warning(
                WarningReason::StatusRefused.as_str(),
                refusal.message.clone(),
            );
        }
        End::Refused(memory.record_failure(what, &refusal, boot_time()))
    }
}
