//! Retries of failed runs.

use cartouche_crds::{CurrentRun, MAX_FACTOR, MAX_RETRIES, Retry, RetryOn, RunResult, StopReason};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use super::{not_usable, span};
use crate::messages::diagnosis::Fault;

/// Default number of attempts after the first one.
const LIMIT: i64 = 3;
/// Default pause before the second attempt.
const INITIAL: SignedDuration = SignedDuration::from_secs(10);
/// Default factor by which each further pause grows.
const FACTOR: i64 = 2;
/// Default longest pause.
const MAX: SignedDuration = SignedDuration::from_mins(5);

/// Rules for the retries of failed runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of attempts after the first one, at least one.
    pub(super) limit: i64,
    initial: SignedDuration,
    factor: i64,
    max: SignedDuration,
    on: Vec<RetryOn>,
}

pub(super) fn merge(
    runnable: Option<&Retry>,
    template: Option<&Retry>,
    faults: &mut Vec<Fault>,
) -> Option<RetryPolicy> {
    let own = runnable.map(|retry| Side::from_retry("the Runnable's", retry, faults));
    let general = template.map(|retry| Side::from_retry("the template's", retry, faults));
    let all = || own.iter().chain(&general);
    all().next()?;
    let limit = all().filter_map(|side| side.limit).min().unwrap_or(LIMIT);
    let initial = all().find_map(|side| side.initial).unwrap_or(INITIAL);
    let max = all().find_map(|side| side.max);
    let on = all().find_map(|side| side.on.clone());
    (limit > 0).then(|| RetryPolicy {
        limit,
        initial,
        factor: all().find_map(|side| side.factor).unwrap_or(FACTOR),
        max: max.unwrap_or_else(|| MAX.max(initial)),
        on: on.unwrap_or_else(|| vec![RetryOn::Failed, RetryOn::TimedOut]),
    })
}

/// Retry fields of the Runnable or of the template.
struct Side {
    limit: Option<i64>,
    initial: Option<SignedDuration>,
    factor: Option<i64>,
    max: Option<SignedDuration>,
    on: Option<Vec<RetryOn>>,
}

impl Side {
    fn from_retry(whose: &str, retry: &Retry, faults: &mut Vec<Fault>) -> Self {
        let mut number = |field: &str, value: Option<i64>, least: i64, most: i64| {
            let value = value?;
            if !(least..=most).contains(&value) {
                let wanted = format!("a number from {least} to {most}");
                let field = format!("{whose} spec.retry.{field}");
                faults.push(not_usable(&field, &value.to_string(), &wanted));
            }
            Some(value)
        };
        let limit = number("limit", retry.limit, 0, MAX_RETRIES);
        let backoff = retry.backoff.clone().unwrap_or_default();
        let factor = number("backoff.factor", backoff.factor, 1, MAX_FACTOR);
        let mut pause = |field: &str, text: Option<String>| {
            span(&format!("{whose} spec.retry.{field}"), &text?, faults)
        };
        Self {
            limit,
            factor,
            initial: pause("backoff.initial", backoff.initial),
            max: pause("backoff.max", backoff.max),
            on: retry.retry_on.clone(),
        }
    }
}

impl RetryPolicy {
    /// Returns true if a run that ended like this is retried.
    #[must_use]
    pub fn allows(&self, run: &CurrentRun) -> bool {
        self.is_named(run) && run.attempt <= self.limit
    }

    /// Returns true if the run would be retried, but has used all its attempts.
    #[must_use]
    pub fn is_exhausted(&self, run: &CurrentRun) -> bool {
        self.is_named(run) && run.attempt > self.limit
    }

    /// Returns the end of a run and the ends that are retried, if its end is none of these.
    #[must_use]
    pub fn find_unnamed(&self, run: &CurrentRun) -> Option<(RetryOn, &[RetryOn])> {
        let end = end_of(run)?;
        (!self.on.contains(&end)).then_some((end, &self.on))
    }

    fn is_named(&self, run: &CurrentRun) -> bool {
        end_of(run).is_some_and(|end| self.on.contains(&end))
    }

    /// Returns the time at which the next attempt begins, if this one ended at `ended`, in whole seconds as a
    /// status holds them. Jitter spreads runs that fail together. It derives from the run, so that two controllers
    /// compute the same time.
    #[must_use]
    pub fn next(&self, ended: Timestamp, attempt: i64, run_uid: &str, sequence: i64) -> Timestamp {
        let mut pause = self.initial.min(self.max);
        for _ in 1..attempt.min(MAX_RETRIES + 1) {
            if pause >= self.max {
                break;
            }
            let factor = i32::try_from(self.factor).unwrap_or(i32::MAX);
            pause = pause.checked_mul(factor).unwrap_or(self.max).min(self.max);
        }
        let seed = Sha256::digest(format!("{run_uid} {sequence}"));
        let seed = i128::from(u16::from_be_bytes([seed[0], seed[1]]));
        // The jitter is at most a fifth of the pause, either way.
        let swing =
            pause.as_millis() * (2 * seed - i128::from(u16::MAX)) / (5 * i128::from(u16::MAX));
        let millis = i64::try_from(pause.as_millis() + swing).unwrap_or(i64::MAX);
        let seconds = millis.saturating_add(999) / 1_000;
        let pause = SignedDuration::from_secs(seconds);
        ended.checked_add(pause).unwrap_or(Timestamp::MAX)
    }
}

/// Returns the end of a run, as `retryOn` calls it. `None` while it works, after a success, and if it was stopped
/// for another reason than its timeout.
fn end_of(run: &CurrentRun) -> Option<RetryOn> {
    let stop = run.stop.as_ref().map(|stop| &stop.reason);
    match (run.result?, stop) {
        (RunResult::Failed, None) => Some(RetryOn::Failed),
        (RunResult::Failed, Some(StopReason::TimedOut)) => Some(RetryOn::TimedOut),
        (RunResult::Lost, _) => Some(RetryOn::Lost),
        (RunResult::Succeeded | RunResult::Failed, _) => None,
    }
}

#[cfg(test)]
mod tests;
