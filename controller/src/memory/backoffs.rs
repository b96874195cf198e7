//! Failures of steps, and the time at which each is retried.

use std::time::Duration;

use cartouche_protocol::{
    category::Category,
    messages::{
        diagnosis::Diagnosis,
        format,
        reconcile_error::{ReconcileError, Requeue},
    },
};
use k8s_openapi::jiff::Timestamp;

use super::Memory;
use crate::{
    backoff::{FREED, REFUSALS, STEPS},
    clock::boot_time,
};

/// Maximum number of steps of one Runnable that are held back at the same time; beyond it, the one with the earliest
/// next try is forgotten.
pub(super) const MAX_BACKOFFS: usize = 16;

/// Least time between two requests for the permissions of a run's pods, while any of them is missing.
const ROUNDS_OF_PERMISSIONS: Duration = Duration::from_secs(10);

/// A failure of a step.
#[derive(Clone, Debug)]
pub struct FailureBackoff {
    /// The step.
    pub what: Operation,
    /// Its error.
    pub error: ReconcileError,
    /// Number of failures in a row.
    pub attempts: u32,
    /// Time of the first of them, by the API server's clock.
    pub since: Option<Timestamp>,
    /// Time of the next try, on the clock that goes on while the machine sleeps.
    pub until: Duration,
    /// Earliest time of the next try, whatever changes in between.
    pub not_before: Duration,
    /// Number of times that a change brought the next try forward, and the last such time.
    pub freed: (u32, Duration),
}

impl FailureBackoff {
    /// Frees the step after a change that may be the cure: it is retried at once, and at growing intervals if that
    /// happens again and again. Returns true if it may be tried now.
    fn free(&mut self, now: Duration) -> bool {
        let (times, last) = self.freed;
        let over = last + 2 * STEPS.longest < now;
        let times = if over { 0 } else { times };
        let pause = times.checked_sub(1).map(|before| FREED.delay(before));
        let earliest = pause.map_or(now, |pause| now.max(last + pause));
        let earliest = earliest.max(self.not_before);
        // Not zero: a backoff that is over differs from a step that may be tried at once.
        if earliest < self.until {
            self.until = earliest;
            self.freed = (times + 1, earliest);
        }
        self.until <= now
    }
}

/// Step that can be held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Anything before the template is rendered, at this generation.
    Render(i64),
    /// Giving an intended run another number.
    Renumber,
    /// Listing runs.
    List,
    /// Reading a run.
    Read(String),
    /// Creating the run of a sequence.
    Create(i64),
    /// Making a run after one that was refused, under its number or another, while no user has changed anything. Holds
    /// the digest of what users may change.
    Make(u64),
    /// Checking if the pods of a run have the permissions that the template requires, whatever these are.
    AskPermissions,
    /// Deleting runs.
    Delete,
    /// Writing outputs to other objects.
    Sinks,
    /// Asking runs of this kind to stop.
    Stop(String),
    /// Writing the status, at this generation.
    Status(i64),
    /// Reading the ledger once more before a create, or who wrote it.
    Ledger,
}

impl Memory {
    /// Records a failure and returns its delay. The same failure waits longer each time.
    pub fn record_failure(
        &mut self,
        what: Operation,
        error: &ReconcileError,
        now: Duration,
    ) -> Duration {
        // A step that has not failed again long after it could have been retried has no failure any more.
        self.backoffs
            .retain(|backoff| backoff.until + 2 * STEPS.longest > now || backoff.what == what);
        let known = self
            .backoffs
            .iter()
            .position(|backoff| backoff.what == what);
        let known = known.map(|at| self.backoffs.swap_remove(at));
        let (attempts, since) = known
            .as_ref()
            .map_or((0, None), |known| (known.attempts, known.since));
        let delay = match error.requeue {
            _ if matches!(what, Operation::Make(_)) => REFUSALS.delay(attempts),
            Requeue::After(wait) => wait.max(Duration::from_millis(100)),
            _ => STEPS.delay(attempts),
        };
        // Roles may change at any rate.
        let least = match what {
            Operation::AskPermissions => ROUNDS_OF_PERMISSIONS,
            _ => Duration::ZERO,
        };
        let delay = delay.max(least);
        if self.backoffs.len() >= MAX_BACKOFFS
            && let Some(first) = (0..self.backoffs.len()).min_by_key(|at| self.backoffs[*at].until)
        {
            self.backoffs.swap_remove(first);
        }
        // A hold is no failure: if the step fails in the end, its delays begin with the first. An error with its own
        // time does not change the number of attempts.
        let is_hold = error.category.is_hold();
        let (attempts, failures) = match error.requeue {
            _ if is_hold => (0, 0),
            Requeue::After(_) => (attempts, 0),
            _ => (attempts, 1),
        };
        self.backoffs.push(FailureBackoff {
            what,
            error: error.clone(),
            attempts: attempts + failures,
            since,
            until: now + delay,
            not_before: now + least,
            freed: known.map_or((0, Duration::ZERO), |known| known.freed),
        });
        delay
    }

    /// Records a failure and returns its error, whose message has the number of attempts.
    pub fn failed_again(
        &mut self,
        what: &Operation,
        error: ReconcileError,
        times: (Option<Timestamp>, Duration),
    ) -> ReconcileError {
        let (clock, now) = times;
        self.record_failure(what.clone(), &error, now);
        let Some(backoff) = self
            .backoffs
            .iter_mut()
            .find(|backoff| backoff.what == *what)
        else {
            return error;
        };
        backoff.since = backoff.since.or(clock);
        let again = (error.requeue != Requeue::OnChange).then(|| STEPS.latest());
        let message = format::with_tries(&error.message, backoff.attempts, backoff.since, again);
        // This error is returned while the step is held back, so it has the same message.
        backoff.error = ReconcileError { message, ..error };
        backoff.error.clone()
    }

    /// Returns the failure that still holds this back, and the time left.
    #[must_use]
    pub fn in_backoff(
        &self,
        what: &Operation,
        now: Duration,
    ) -> Option<(&ReconcileError, Duration)> {
        let backoff = self
            .last_failure(what)
            .filter(|backoff| backoff.until > now)?;
        Some((&backoff.error, backoff.until.saturating_sub(now)))
    }

    /// Returns the failure of a step that has not succeeded since.
    #[must_use]
    pub fn last_failure(&self, what: &Operation) -> Option<&FailureBackoff> {
        self.backoffs.iter().find(|backoff| backoff.what == *what)
    }

    /// Records that a reconciliation did everything it could: failures before rendering are over.
    pub fn clear_render_failures(&mut self) {
        self.backoffs
            .retain(|backoff| !matches!(backoff.what, Operation::Render(_)));
    }

    /// Removes the failure of a step that succeeded.
    pub fn clear_failure(&mut self, what: &Operation) {
        self.backoffs.retain(|backoff| backoff.what != *what);
    }

    /// Returns true if the pods of its run lack permissions in this namespace.
    pub(super) fn lacks_permissions_in(&self, namespace: &str) -> bool {
        let mut diagnoses = self
            .backoffs
            .iter()
            .filter_map(|it| it.error.diagnosis.as_deref());
        diagnoses.any(|diagnosis| match diagnosis {
            Diagnosis::PermissionMissing(_, _, missing) => missing
                .iter()
                .any(|it| it.namespace.as_deref() == Some(namespace)),
            _ => false,
        })
    }

    /// Records that profiles have changed: what failed because of them is retried at once, and any failure if the
    /// status names the profile of its runs (`is_pinned`).
    pub fn profiles_changed(&mut self, is_pinned: bool) {
        self.retry_where(|error| {
            is_pinned
                || error.category.is_of_profiles()
                || error.category == Category::PermissionMissing
        });
    }

    /// Frees all steps after a change that may be the cure of any: they are retried at once, but wait as long as before
    /// if they fail again.
    pub fn retry_now(&mut self) {
        self.retry_where(|_| true);
    }

    /// Records the request of a user to retry at once, which is new if its value is. The first request that a process
    /// sees frees nothing: nothing waits yet.
    pub fn retry_asked(&mut self, request: Option<String>) {
        let before = self.retry_asked.as_ref();
        let is_new = request.is_some() && before.is_some_and(|before| *before != request);
        self.retry_asked = Some(request);
        if is_new {
            self.retry_now();
        }
    }

    /// Records that a user has changed the required permissions: an earlier answer about missing ones is void.
    pub fn asks_permissions_anew(&mut self) {
        self.backoffs
            .retain(|backoff| backoff.what != Operation::AskPermissions);
    }

    /// Records what is rendered now, at this generation: permissions that another run may not need are checked again,
    /// and an edit frees a create that was refused.
    pub fn record_rendering(&mut self, hash: u64, generation: i64) {
        let Some((before, edited)) = self.rendered.replace((hash, generation)) else {
            return;
        };
        let is_edited = edited != generation;
        if is_edited {
            self.asks_permissions_anew();
        }
        let frees = |what: &Operation| match what {
            Operation::Create(_) => is_edited,
            Operation::AskPermissions => before != hash,
            _ => false,
        };
        for backoff in self.backoffs.iter_mut().filter(|it| frees(&it.what)) {
            backoff.free(boot_time());
        }
    }

    /// Records that the API server has refused the run of this number. `making` is the step of making any run.
    pub fn record_refusal(
        &mut self,
        sequence: i64,
        making: Option<Operation>,
        error: ReconcileError,
        times: (Option<Timestamp>, Duration),
    ) -> ReconcileError {
        let error = self.failed_again(&Operation::Create(sequence), error, times);
        if let Some(making) = making {
            self.record_failure(making, &error, times.1);
        }
        error
    }

    /// Removes the failures of making runs, since one was made.
    pub fn clear_making_failures(&mut self) {
        let of_runs = |what: &Operation| matches!(what, Operation::Create(_) | Operation::Make(_));
        self.backoffs.retain(|backoff| !of_runs(&backoff.what));
    }

    /// Frees the steps that failed in a certain way. Returns true if there are any.
    pub(super) fn retry_where(&mut self, failed: impl Fn(&ReconcileError) -> bool) -> bool {
        let (mut any, mut is_free) = (false, false);
        for backoff in self
            .backoffs
            .iter_mut()
            .filter(|backoff| failed(&backoff.error))
        {
            is_free |= backoff.free(boot_time());
            any = true;
        }
        // A granted permission is checked again once a step is tried.
        if is_free && let Some(kept) = &mut self.missing_permissions {
            kept.ask_again();
        }
        any
    }
}
