//! Events and metrics for the news in a status write.

use std::time::Duration;

use cartouche_crds::{RunnableStatus, StopReason, conditions};
use cartouche_protocol::{
    advice::advice,
    category::Category,
    ledger::{AtWork, Ledger},
    messages::format,
    status,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::reconciliation::Reconciliation;
use crate::{
    clock::boot_time,
    events::{Occasion, WarningReason},
    lock::lock,
};

impl Reconciliation<'_> {
    /// Counts a new result, and publishes an event for new outputs.
    pub(super) fn announce(&self, before: &Ledger) {
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

    /// Counts and publishes the runs that are newly asked to stop.
    pub(super) fn announce_stop(&self, before: &Ledger) {
        let is_new = |run: &AtWork<'_>| run.stop.is_some() && before.stop_of(run.uid).is_none();
        for run in self.facts.ledger.at_work().filter(is_new) {
            let reason = run.stop.map(|stop| &stop.reason);
            self.ctx.metrics.run_stopped(reason);
            let why = match reason {
                Some(StopReason::Replaced) => "is replaced by a later run",
                Some(StopReason::Cancelled) => "was cancelled, and is still running",
                _ => "has exceeded its timeout",
            };
            let message = format!(
                "run {} {why}: the controller asks it to stop",
                run.name.name
            );
            self.publish(&Occasion::Stopped(message));
        }
    }

    /// Publishes an event when a run needs approval: once for each, and at a limited pace if these follow each other.
    pub(super) fn announce_request(&self, new: &RunnableStatus) {
        let asks = {
            let telling = &mut lock(&self.memory).telling;
            telling.asks_anew(&self.facts.stored, new);
            telling.try_ask(new, boot_time())
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

    /// Publishes a pending request for approval if it is time. Returns the time until then otherwise.
    pub(super) fn asks_again(&self) -> Option<Duration> {
        let (asks, left) = {
            let (telling, now) = (&mut lock(&self.memory).telling, boot_time());
            (
                telling.try_ask(&self.facts.stored, now),
                telling.asks_after(now),
            )
        };
        if asks {
            self.ask_a_person(&self.facts.stored);
        }
        left
    }

    /// Counts a retry, and publishes when a failed run is retried, or that its attempts are exhausted.
    fn announce_attempts(&self, before: &Ledger) {
        let (Some(old), Some(current)) = (&before.current, &self.facts.ledger.current) else {
            return;
        };
        if current.sequence > old.sequence && current.attempt > old.attempt {
            self.ctx.metrics.run_retried();
        }
        // A pending change takes precedence over retries.
        if self.facts.is_another_due() {
            return;
        }
        // A cancelled run is not retried.
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
            self.publish_warning(WarningReason::RetriesExhausted.as_str(), message);
        }
    }

    /// Publishes a Warning event for every condition that is newly False. Publishes one too when the Runnable becomes
    /// Stalled because its template or input is still missing. A template may be created a moment after its Runnables,
    /// as an input may.
    pub(super) fn warn(&self, status: &RunnableStatus) {
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
        let is_reported_later = has_stalled || self.waits_for_template;
        for condition in status.conditions.iter().filter(|condition| {
            condition.status == conditions::FALSE
                && condition.type_ != conditions::READY
                && !(is_reported_later && is_of_template(condition))
        }) {
            let reported = self.facts.stored.conditions.iter().any(|stored| {
                stored.type_ == condition.type_
                    && stored.status == condition.status
                    && stored.reason == condition.reason
                    && format::without_tries(&stored.message)
                        == format::without_tries(&condition.message)
            });
            if !reported {
                let of_run = condition.type_ == conditions::STAMPED_OBJECT_CONDITION;
                let said = of_run.then(|| status::said_of_run(status)).flatten();
                let message = match (said, advice(status, condition)) {
                    (Some(said), Some(advice)) => format::message(said, &advice, None),
                    _ => condition.message.clone(),
                };
                self.publish_warning(&condition.reason, message);
            }
        }
    }
}
