//! The end of a reconciliation: writes its status and schedules the next. I/O.

use std::{sync::Mutex, time::Duration};

use cartouche_crds::{RunnableStatus, conditions};
use cartouche_engines::RunReason;
use cartouche_protocol::{
    category::Category,
    decide::{Waiting, may_report},
    ledger::{CREATES_SETTLE_IN, RunName},
    messages::reconcile_error::{ReconcileError, Requeue},
    pace::{self, WriteTime},
    status,
};

use super::reconciliation::{CONFLICT_PAUSE, End, Reconciliation, SECOND};
use crate::{
    backoff::HALF,
    clock::boot_time,
    lock::lock,
    memory::{Memory, Operation},
    mutants,
    runnable_key::RunnableKey,
};

/// Minimum time between two reports that another controller writes the same status.
const OTHER_PAUSE: Duration = Duration::from_secs(10);

/// Time after which a created run is confirmed, unless others have their turn first. A quick engine has finished by
/// then, which saves a write and does not delay its outputs.
const PUT_OFF: Duration = Duration::from_millis(100);

impl Reconciliation<'_> {
    /// Writes the outstanding status, cleans up, and returns the time until the next reconciliation.
    pub(super) async fn finish(mut self: Box<Self>, mut end: End) -> Option<Duration> {
        let has_outputs = self.facts.ledger.outputs_from.is_some();
        if matches!(end, End::Settled | End::Stuck(..))
            && may_report(&self.facts)
            && !self.clear_unused_sinks(has_outputs)
            && let Err(instead) = Box::pin(self.keep_sinks()).await
        {
            end = instead;
        }
        let settled = matches!(end, End::Settled);
        let waits = matches!(&end, End::Stuck(error, _) if error.category.waits_beside_inputs());
        {
            let mut memory = lock(&self.memory);
            (memory.is_unsettled, memory.waits_beside_inputs) = (!settled, waits);
        }
        if !waits {
            // Anything read before the wait ended may have changed since.
            self.ctx.enqueuer.hasten(&self.key);
        }
        // The decision used old profiles, and the change of profiles did not find this Runnable waiting yet.
        let namespace = &self.key.namespace;
        if !settled
            && self
                .ctx
                .profiles
                .have_changed(&self.facts.profiles, namespace)
        {
            self.ctx.enqueuer.enqueue(&self.key);
        }
        // A run that was just created was in no watch before.
        self.take_in_work();
        // Uses the clock of the last decision. Writing the status advances it, and no decision covers what became due
        // since.
        let times = [self.next_attempt(settled), self.next_stop()];
        let mut pods = None;
        if matches!(end, End::Settled | End::Stuck(..)) {
            pods = self.look_for_hindrance().await;
        }
        let again = match end {
            End::Gone => return None,
            End::PutOff => return Some(PUT_OFF),
            End::Conflict => return Some(HALF.over(CONFLICT_PAUSE)),
            End::Refused(wait) => return Some(wait),
            End::Settled => self.finish_ok().await,
            End::Waiting(waiting) => {
                // A wait is no news: no status is written meanwhile.
                let put_off = [self.contested_after, self.moves_on_after()];
                let again = patience(waiting, &self.memory).into_iter();
                return again.chain(put_off.into_iter().flatten()).min();
            }
            End::Stuck(error, wait) => self.finish_err(error, wait).await,
        };
        self.prune();
        self.report_unstopped();
        let [grace, unobserved] = self.waits();
        let others = [
            self.contested_after,
            self.polling(),
            unobserved,
            self.poll_denied(),
            self.next_list(),
            self.sources_again(),
            self.moves_on_after(),
            self.sinks_again(),
            self.asks_again(),
            self.follows_again(),
            self.is_out_of_sight().then_some(self.ctx.poll),
            grace,
            pods,
        ];
        let waits = others.into_iter().chain(times).flatten();
        again.into_iter().chain(waits).min()
    }

    async fn finish_ok(&mut self) -> Option<Duration> {
        if self.facts.runnable.deleting {
            return None;
        }
        let status = status::status(&self.facts, &self.facts.ledger, None);
        let patience = self.image_patience(&status);
        let put_off = match self.report(mutants::play_release(status)).await {
            Ok(put_off) => put_off,
            Err(wait) => return Some(wait),
        };
        {
            let mut memory = lock(&self.memory);
            memory.clear_render_failures();
            // If it follows a change of an ancestor, it is reconciled when that one moves.
            memory.telling.clear_hold();
            if conditions::follows_upstream(&self.facts.stored) {
                memory.telling.decide();
            }
        }
        if self.facts.listed_every_kind {
            lock(&self.memory)
                .state
                .record_comparison(&self.facts.ledger);
        }
        let again = self.apply_retention().await;
        again.into_iter().chain(put_off).chain(patience).min()
    }

    async fn finish_err(
        &mut self,
        error: ReconcileError,
        wait: Option<Duration>,
    ) -> Option<Duration> {
        let error = self.with_hindrance(error);
        log(&self.key, &error);
        self.ctx.metrics.problem(error.category);
        let wait = wait.or_else(|| self.pause(&error));
        if let Some(outdated) = self.facts.definitions.clone()
            && matches!(
                error.category,
                Category::DefinitionsOutdated | Category::OtherController
            )
        {
            // In a status it would stay although a controller of the former release may make the run.
            self.tell_of_release(&outdated);
            return wait;
        }
        if error.category == Category::OtherController
            && let Some(left) = self.reported_other()
        {
            return wait.into_iter().chain([left]).min();
        }
        if error.category == Category::Debouncing && status::waits_for_more(&self.facts) {
            return wait;
        }
        if let Some(left) = self.time_until_report(&error) {
            return wait.into_iter().chain([left]).min();
        }
        let patience = status::awaited_for(&self.facts, &error).map(|left| left + SECOND);
        self.waits_for_template =
            error.category == Category::RunTemplateNotFound && patience.is_some();
        let wait = wait.into_iter().chain(patience).min();
        let status = status::status(&self.facts, &self.facts.ledger, Some(&error));
        let wait = wait.into_iter().chain(self.image_patience(&status)).min();
        let sooner = match self.report(mutants::play_release(status)).await {
            Ok(put_off) => put_off,
            Err(sooner) => Some(sooner),
        };
        // An error that holds nothing back does not keep surplus runs either.
        let again = if error.category.is_remark() {
            self.apply_retention().await
        } else {
            None
        };
        wait.into_iter().chain(sooner).chain(again).min()
    }

    /// Adds to an error why the current run does not progress, if that is known.
    fn with_hindrance(&self, error: ReconcileError) -> ReconcileError {
        let said = self.facts.hindrance.report();
        let said = said.filter(|it| it.reason.is_some_and(RunReason::is_hindrance));
        match (said, &self.facts.ledger.current) {
            (Some(said), Some(current)) => {
                let run = RunName::from_current(current).object(&self.key.namespace);
                error.with_hindrance(&run, &said.words)
            }
            _ => error,
        }
    }

    /// Returns the time until the Runnable is Stalled because the image of its run cannot be pulled.
    fn image_patience(&self, status: &RunnableStatus) -> Option<Duration> {
        let ready = conditions::find(status, conditions::READY)?;
        let left = status::image_awaited_for(&self.facts, &ready.status, &ready.reason);
        left.map(|left| left + SECOND)
    }

    /// Notes a report about another controller, and returns `None`. Within [`OTHER_PAUSE`] of the last one it returns
    /// the time left, since the other controller may answer each at once.
    fn reported_other(&self) -> Option<Duration> {
        let now = boot_time();
        let mut memory = lock(&self.memory);
        let left = memory
            .reported_other
            .map(|reported| (reported + OTHER_PAUSE).saturating_sub(now))
            .filter(|left| !left.is_zero());
        if left.is_none() {
            memory.reported_other = Some(now);
        }
        left
    }

    /// Returns the backoff of an error that no single step was held back for, or `None` if only a change helps.
    pub(super) fn pause(&self, error: &ReconcileError) -> Option<Duration> {
        if error.category == Category::OtherController {
            return patience(Waiting::CreatesSettle, &self.memory);
        }
        let now = boot_time();
        let mut memory = lock(&self.memory);
        // The step that failed has its backoff already.
        let left = memory
            .backoffs
            .iter()
            .filter(|backoff| backoff.error == *error)
            .map(|backoff| backoff.until.saturating_sub(now))
            .find(|left| !left.is_zero());
        let generation = self.facts.runnable.generation;
        let wait = left
            .unwrap_or_else(|| memory.record_failure(Operation::Render(generation), error, now));
        (error.requeue != Requeue::OnChange).then_some(wait)
    }

    /// Returns the difference between the stored status and this one. A ledger whose write is postponed is no
    /// difference.
    pub(super) fn change_to(&self, status: &RunnableStatus) -> pace::StatusChange {
        let stored = match self.contested_after {
            Some(_) => &with_ledger_of(&self.facts.stored, status),
            None => &*self.facts.stored,
        };
        pace::StatusChange::of_runnable(stored, status)
    }

    /// Writes the status if it has news, and returns the time for which any rest is postponed. `Err` has the time until
    /// a retry.
    async fn report(&mut self, mut status: RunnableStatus) -> Result<Option<Duration>, Duration> {
        if !may_report(&self.facts) {
            self.say_put_back(&status);
            return Ok(None);
        }
        let mut change = self.change_to(&status);
        let held = lock(&self.memory).pace.holds_sinks(&change, boot_time());
        if held.is_some() {
            status = pace::with_sinks_of(status, &self.facts.stored);
            change = self.change_to(&status);
        }
        let due = lock(&self.memory).pace.due(&change, boot_time());
        match mutants::due(due) {
            WriteTime::Never => return Ok(held),
            WriteTime::After(left) => return Ok(held.into_iter().chain([left]).min()),
            WriteTime::Now => {}
        }
        match Box::pin(self.put(status)).await {
            Ok(()) => {
                self.contested_after = None;
                Ok(held)
            }
            Err(End::Gone) => Ok(None),
            Err(End::Refused(wait)) => Err(wait),
            Err(_) => Err(HALF.over(CONFLICT_PAUSE)),
        }
    }
}

/// Returns a stored status with the ledger of another one. The state of sinks is no part of the ledger.
fn with_ledger_of(stored: &RunnableStatus, next: &RunnableStatus) -> RunnableStatus {
    let with_ledger = RunnableStatus {
        observed_generation: stored.observed_generation,
        conditions: stored.conditions.clone(),
        pending: stored.pending.clone(),
        ..next.clone()
    };
    pace::with_sinks_of(with_ledger, stored)
}

/// Returns the time until the next reconciliation after a wait.
fn patience(waiting: Waiting, memory: &Mutex<Memory>) -> Option<Duration> {
    let memory = lock(memory);
    let until = match waiting {
        // The watch enqueues the Runnable; this time is for a watch that fails.
        Waiting::FirstList => return Some(Duration::from_secs(10)),
        Waiting::Watch => return Some(Duration::from_secs(5)),
        Waiting::OtherRelease(left) => return Some(left),
        Waiting::CreatesSettle => memory.state.without_ledger.as_ref()?.0 + CREATES_SETTLE_IN,
        Waiting::GracePeriod => memory.state.missing.as_ref()?.1,
    };
    // A margin, so that the time has passed when the wait ends.
    Some(until.saturating_sub(boot_time()) + Duration::from_millis(50))
}

/// Logs an error of a Runnable.
pub(super) fn log(key: &RunnableKey, error: &ReconcileError) {
    tracing::info!(namespace = key.namespace, runnable = key.name, category = %error.category, "a Runnable has a problem");
}
