//! Breaker that slows a feedback loop: a run that changes the object which its own Runnable selects.

use cartouche_crds::Breaker;
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};

/// Length of the window in which runs are counted.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// Least interval between runs once there were too many.
pub(crate) const SLOW_INTERVAL: SignedDuration = SignedDuration::from_mins(5);

/// Limits beyond which runs are slowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerLimits {
    /// Maximum number of runs in ten minutes without a change of the Runnable or its template.
    pub max_runs: i64,
}

/// Objects that a person may have changed: as long as none of them changes, the runs have another cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Generation of the Runnable.
    pub generation: i64,
    /// Uid of the template.
    pub template_uid: String,
    /// Generation of the template.
    pub template_generation: i64,
    /// Hash of the generations of the Runnables that its inputs derive from, if there are any: a user who changes
    /// one of them wants the resulting runs.
    pub ancestors: Option<String>,
}

/// Decision about the time of the next run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The run may be made; the intent writes this count beside it.
    Go(Option<Breaker>),
    /// The run has to wait.
    Slow {
        /// Time at which the next run may be made.
        until: Timestamp,
        /// Count of runs in the window so far.
        runs: i64,
    },
}

impl BreakerLimits {
    /// Decides about one more run; `last` is the time of the decision on the run before it. It only ever delays,
    /// and it reads no time but the API server's: without that time it does not count.
    #[must_use]
    pub fn pace(
        self,
        breaker: Option<&Breaker>,
        cause: &Cause,
        last: Option<Timestamp>,
        now: Option<Timestamp>,
    ) -> Pace {
        let Some(now) = now else {
            return Pace::Go(breaker.cloned());
        };
        let Some(breaker) = breaker.filter(|breaker| cause.is_of(breaker)) else {
            return Pace::Go(Some(cause.first(now)));
        };
        let over = now.duration_since(breaker.window_start.0) > WINDOW;
        // Once there were too many, only a change of the cause starts a new count.
        if over && breaker.runs <= self.max_runs {
            return Pace::Go(Some(cause.first(now)));
        }
        let next = Breaker {
            runs: breaker.runs + 1,
            ..breaker.clone()
        };
        let until = last
            .and_then(|last| last.checked_add(SLOW_INTERVAL).ok())
            .unwrap_or(now);
        if breaker.runs >= self.max_runs && now < until {
            return Pace::Slow {
                until,
                runs: breaker.runs,
            };
        }
        Pace::Go(Some(next))
    }
}

impl Cause {
    fn is_of(&self, breaker: &Breaker) -> bool {
        breaker.generation == self.generation
            && breaker.template_uid == self.template_uid
            && breaker.template_generation == self.template_generation
            && breaker.ancestors == self.ancestors
    }

    fn first(&self, now: Timestamp) -> Breaker {
        Breaker {
            generation: self.generation,
            template_uid: self.template_uid.clone(),
            template_generation: self.template_generation,
            window_start: Time(now),
            runs: 1,
            ancestors: self.ancestors.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
