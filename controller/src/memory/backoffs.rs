//! What failed, and when each step is tried again.

use std::time::Duration;

use cartouche_protocol::{
    category::Category,
    diagnosis::Diagnosis,
    reconcile_error::{ReconcileError, Requeue},
    told,
};
use k8s_openapi::jiff::Timestamp;

use super::Memory;
use crate::{
    backoff::{FREED, REFUSALS, STEPS},
    clock::boot_time,
};

/// Steps of one Runnable that are held back at the same time; of more the first that may be tried again is
/// forgotten.
pub(super) const MAX_BACKOFFS: usize = 16;

/// What the pods of a run may do is asked no more often than this while anything of it is missing.
const ROUNDS_OF_PERMISSIONS: Duration = Duration::from_secs(10);

/// Something that failed.
#[derive(Clone, Debug)]
pub struct Backoff {
    /// What it was.
    pub what: Operation,
    /// What was wrong.
    pub error: ReconcileError,
    /// How often it has failed in a row.
    pub attempts: u32,
    /// When it failed first in that row, by the API server's clock.
    pub since: Option<Timestamp>,
    /// When it is tried again, on the clock that goes on while the machine sleeps.
    pub until: Duration,
    /// When it is tried again at the earliest, whatever changes meanwhile.
    pub not_before: Duration,
    /// How often something else had it tried earlier, and when the last time.
    pub freed: (u32, Duration),
}

impl Backoff {
    /// Something that may cure it has changed: it is tried at once, and then at growing intervals if that happens again and
    /// again. Whether it may be tried now.
    fn free(&mut self, now: Duration) -> bool {
        let (times, last) = self.freed;
        let over = last + 2 * STEPS.longest < now;
        let times = if over { 0 } else { times };
        let pause = times.checked_sub(1).map(|before| FREED.delay(before));
        let earliest = pause.map_or(now, |pause| now.max(last + pause));
        let earliest = earliest.max(self.not_before);
        // Not zero: what is over and what may be tried at once are not the same.
        if earliest < self.until {
            self.until = earliest;
            self.freed = (times + 1, earliest);
        }
        self.until <= now
    }
}

/// What can be held back.
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
    /// Making a run after one that was refused, under its number or another, while no person has changed anything: the
    /// digest of what they may have changed.
    Make(u64),
    /// Asking whether the pods of a run may do what the template says that they need, whatever that is.
    AskPermissions,
    /// Deleting runs.
    Delete,
    /// Writing outputs to other objects.
    Sinks,
    /// Telling runs of this kind to stop.
    Stop(String),
    /// Writing the status, at this generation.
    Status(i64),
    /// Reading the ledger once more before a create, or who wrote it.
    Ledger,
}

impl Memory {
    /// Puts a failure down, and says how long to wait. The same failure waits longer each time.
    pub fn failed(&mut self, what: Operation, error: &ReconcileError, now: Duration) -> Duration {
        // What has not failed again long after it could have been tried is over.
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
        // However often roles change.
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
        // Whoever waits has not failed, and whatever fails in the end is tried again as soon as ever; nor does anybody try
        // again sooner or later for what has its own time.
        let is_hold = error.category.is_hold();
        let (attempts, failures) = match error.requeue {
            _ if is_hold => (0, 0),
            Requeue::After(_) => (attempts, 0),
            _ => (attempts, 1),
        };
        self.backoffs.push(Backoff {
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

    /// A step failed, of which is told how often it was tried. The error that says so.
    pub fn failed_again(
        &mut self,
        what: &Operation,
        error: ReconcileError,
        times: (Option<Timestamp>, Duration),
    ) -> ReconcileError {
        let (clock, now) = times;
        self.failed(what.clone(), &error, now);
        let Some(backoff) = self
            .backoffs
            .iter_mut()
            .find(|backoff| backoff.what == *what)
        else {
            return error;
        };
        backoff.since = backoff.since.or(clock);
        let again = (error.requeue != Requeue::OnChange).then(|| STEPS.latest());
        let message = told::with_tries(&error.message, backoff.attempts, backoff.since, again);
        // The one that is found while it is held back is the one that was told.
        backoff.error = ReconcileError { message, ..error };
        backoff.error.clone()
    }

    /// The failure that still holds this back, and for how long.
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

    /// The failure of a step that has not gone well since.
    #[must_use]
    pub fn last_failure(&self, what: &Operation) -> Option<&Backoff> {
        self.backoffs.iter().find(|backoff| backoff.what == *what)
    }

    /// All that could be done is done: what was wrong before a step could be taken is over.
    pub fn is_well(&mut self) {
        self.backoffs
            .retain(|backoff| !matches!(backoff.what, Operation::Render(_)));
    }

    /// It went well.
    pub fn succeeded(&mut self, what: &Operation) {
        self.backoffs.retain(|backoff| backoff.what != *what);
    }

    /// Whether the pods of its run need permissions in this namespace that they do not have.
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

    /// Profiles have changed: what failed for them is tried at once, and whatever did where a run is made with one.
    pub fn profiles_changed(&mut self, is_pinned: bool) {
        self.retry_where(|error| {
            is_pinned
                || error.category.is_of_profiles()
                || error.category == Category::PermissionMissing
        });
    }

    /// Something that may cure it has changed: it is tried at once, but waits as long as before if
    /// it fails again.
    pub fn retry_now(&mut self) {
        self.retry_where(|_| true);
    }

    /// A person may ask to try at once what failed, each time by another value. Who has just begun has nothing that waits.
    pub fn retry_asked(&mut self, request: Option<String>) {
        let before = self.retry_asked.as_ref();
        let is_new = request.is_some() && before.is_some_and(|before| *before != request);
        self.retry_asked = Some(request);
        if is_new {
            self.retry_now();
        }
    }

    /// A person has changed what may be asked for: what was missing for it says nothing any more.
    pub fn asks_permissions_anew(&mut self) {
        self.backoffs
            .retain(|backoff| backoff.what != Operation::AskPermissions);
    }

    /// This is rendered now, at this generation: permissions that another run may not need are asked for anew, and an edit
    /// has tried what was refused.
    pub fn rendered(&mut self, hash: u64, generation: i64) {
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

    /// The API server has refused the run of this number. `making`: what making any run is called.
    pub fn refused(
        &mut self,
        sequence: i64,
        making: Option<Operation>,
        error: ReconcileError,
        times: (Option<Timestamp>, Duration),
    ) -> ReconcileError {
        let error = self.failed_again(&Operation::Create(sequence), error, times);
        if let Some(making) = making {
            self.failed(making, &error, times.1);
        }
        error
    }

    /// A run was made.
    pub fn created(&mut self) {
        let of_runs = |what: &Operation| matches!(what, Operation::Create(_) | Operation::Make(_));
        self.backoffs.retain(|backoff| !of_runs(&backoff.what));
    }

    /// The same for what failed in a certain way. Whether anything did.
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
        // What was granted is asked anew, where anything is tried for it.
        if is_free && let Some(kept) = &mut self.missing_permissions {
            kept.ask_again();
        }
        any
    }
}
