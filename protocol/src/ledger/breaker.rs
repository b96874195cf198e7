//! Slows a feedback loop: a run that changes the object which its own Runnable selects.

use cartouche_crds::Breaker;
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};

/// How long a count goes on.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// How far apart runs are once there were too many.
pub(crate) const SLOW_INTERVAL: SignedDuration = SignedDuration::from_mins(5);

/// How many runs are too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerLimits {
    /// Runs in ten minutes that nobody asked for by changing the Runnable or its template.
    pub max_runs: i64,
}

/// What a person may have changed: while none of it changes, runs come from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The Runnable's generation.
    pub generation: i64,
    /// The template's uid.
    pub template_uid: String,
    /// The template's generation.
    pub template_generation: i64,
    /// A hash of the generations of the Runnables that its inputs stem from, if there are any: whoever changed one wants what
    /// comes of it to run.
    pub ancestors: Option<String>,
}

/// Whether the next run may be made now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pace {
    /// It may; this is what the intent writes beside it.
    Go(Option<Breaker>),
    /// Not before this time.
    Slow {
        /// When the next run may be made.
        until: Timestamp,
        /// Runs in the window so far.
        runs: i64,
    },
}

impl BreakerLimits {
    /// Decides about one more run; `last` is when the run before it was decided on. It only ever
    /// delays, and it reads no time but the API server's: without that it does not count.
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
        // Once there were too many the count is not begun anew: only a change of the cause ends it.
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
