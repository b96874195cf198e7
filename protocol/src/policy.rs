//! What a Runnable and its template together ask for beside what is run. Pure.

use std::fmt;

use cartouche_crds::{
    LONGEST_DURATION, MAX_FACTOR, MAX_RETRIES, Retry, RetryOn, RunResult, SHORTEST_DURATION,
    duration,
};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use crate::{diagnosis::Fault, ledger::Ledger};

/// Attempts after the first one, where nobody says how many.
const LIMIT: i64 = 3;
/// The pause before the second attempt, where nobody gives one.
const INITIAL: SignedDuration = SignedDuration::from_secs(10);
/// How many times as long each further pause is, where nobody says it.
const FACTOR: i64 = 2;
/// The longest pause, where nobody gives one.
const MAX: SignedDuration = SignedDuration::from_mins(5);

/// What holds for one Runnable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// How what failed is tried again; `None` if it is not.
    pub retry: Option<RetryPolicy>,
}

/// The attempt that follows the current run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// When it may begin.
    pub at: Timestamp,
    /// Which attempt it is.
    pub attempt: i64,
    /// How many there are at most.
    pub attempts: i64,
}

impl fmt::Display for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            attempt,
            attempts,
        } = self;
        write!(f, "attempt {attempt} of {attempts} begins at {at}")
    }
}

/// How what failed is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts after the first one, at least one.
    limit: i64,
    initial: SignedDuration,
    factor: i64,
    max: SignedDuration,
    on: Vec<RetryOn>,
}

impl Policy {
    /// What the Runnable and its template give, merged: the template's limit bounds the Runnable's, and else the Runnable
    /// goes before the template.
    ///
    /// # Errors
    /// Everything that cannot be used, by its path. The API server refuses most of it, unless its definitions of
    /// the kinds are older.
    pub fn of(runnable: Option<&Retry>, template: Option<&Retry>) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let retry = merged(runnable, template, &mut faults);
        if faults.is_empty() {
            Ok(Self { retry })
        } else {
            Err(faults)
        }
    }

    /// The attempt that follows the current run of a ledger: the ledger says when, and this policy still allows it.
    #[must_use]
    pub fn ahead(&self, ledger: &Ledger) -> Option<Ahead> {
        let (retry, current) = (self.retry.as_ref()?, ledger.current.as_ref()?);
        let at = current.retry_at.as_ref()?.0;
        let is_allowed = retry.allows(current.result?, current.attempt);
        is_allowed.then(|| Ahead {
            at,
            attempt: current.attempt + 1,
            attempts: retry.limit + 1,
        })
    }

    /// Whether it can be used for a document: one whose name the template fixes can be made once only.
    ///
    /// # Errors
    /// What cannot be used with it.
    pub fn check_name(&self, fixed_name: Option<&str>) -> Result<(), Vec<Fault>> {
        let (Some(_), Some(name)) = (&self.retry, fixed_name) else {
            return Ok(());
        };
        let what = format!(
            "retry makes further runs, and the template gives each of them the name {name:?}"
        );
        let cure = "use metadata.generateName in the template instead of metadata.name, or set retry.limit to 0";
        Err(vec![Fault::new(what, Some(cure.to_owned()))])
    }
}

fn merged(
    runnable: Option<&Retry>,
    template: Option<&Retry>,
    faults: &mut Vec<Fault>,
) -> Option<RetryPolicy> {
    let own = runnable.map(|retry| Side::of("the Runnable's", retry, faults));
    let general = template.map(|retry| Side::of("the template's", retry, faults));
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
        on: on.unwrap_or_else(|| vec![RetryOn::Failed]),
    })
}

/// What one of the two gives.
struct Side {
    limit: Option<i64>,
    initial: Option<SignedDuration>,
    factor: Option<i64>,
    max: Option<SignedDuration>,
    on: Option<Vec<RetryOn>>,
}

impl Side {
    fn of(whose: &str, retry: &Retry, faults: &mut Vec<Fault>) -> Self {
        let mut fault = |field: &str, value: &str, wanted: &str| {
            let what = format!("{whose} spec.retry.{field} {value} is not {wanted}");
            faults.push(Fault::new(what, Some(format!("give {wanted}"))));
        };
        let mut number = |field: &str, value: Option<i64>, least: i64, most: i64| {
            let value = value?;
            if !(least..=most).contains(&value) {
                fault(
                    field,
                    &value.to_string(),
                    &format!("a number from {least} to {most}"),
                );
            }
            Some(value)
        };
        let limit = number("limit", retry.limit, 0, MAX_RETRIES);
        let backoff = retry.backoff.clone().unwrap_or_default();
        let factor = number("backoff.factor", backoff.factor, 1, MAX_FACTOR);
        let mut span = |field: &str, text: Option<String>| {
            let text = text?;
            let span = duration(&text).and_then(|span| SignedDuration::try_from(span).ok());
            if span.is_none() {
                let wanted = format!(
                    "a duration from {SHORTEST_DURATION} to {LONGEST_DURATION}, such as 30s or 5m"
                );
                fault(field, &format!("{text:?}"), &wanted);
            }
            span
        };
        Self {
            limit,
            factor,
            initial: span("backoff.initial", backoff.initial),
            max: span("backoff.max", backoff.max),
            on: retry.retry_on.clone(),
        }
    }
}

impl RetryPolicy {
    /// Whether a run that ended like this is tried again after so many attempts.
    #[must_use]
    pub fn allows(&self, result: RunResult, attempt: i64) -> bool {
        let end = match result {
            RunResult::Succeeded => return false,
            RunResult::Failed => RetryOn::Failed,
            RunResult::Lost => RetryOn::Lost,
        };
        attempt <= self.limit && self.on.contains(&end)
    }

    /// Whether it would be tried again, had it not been tried so often already.
    #[must_use]
    pub fn is_exhausted(&self, result: RunResult, attempt: i64) -> bool {
        attempt > self.limit && self.allows(result, self.limit)
    }

    /// When the attempt after this one begins, if this one ended at that time: in whole seconds, as a status holds
    /// them. What is added or taken away so that those that fail together do not come together follows from the
    /// run, so that two controllers say the same.
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
        // From -1/5 to 1/5 of the pause.
        let swing =
            pause.as_millis() * (2 * seed - i128::from(u16::MAX)) / (5 * i128::from(u16::MAX));
        let millis = i64::try_from(pause.as_millis() + swing).unwrap_or(i64::MAX);
        let seconds = millis.saturating_add(999) / 1_000;
        let pause = SignedDuration::from_secs(seconds);
        ended.checked_add(pause).unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests;
