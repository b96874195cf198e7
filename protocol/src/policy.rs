//! Merged policy of a Runnable and its template. Pure.

mod retry;
mod stop;

use std::fmt;

use cartouche_crds::{
    ApprovalPolicy, ClusterRunTemplateSpec, ConcurrencyPolicy, LONGEST_DURATION, Retry,
    RunnableSpec, SHORTEST_DURATION, StopMethod, duration,
};
use cartouche_engines::kinds::StopRequest;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use crate::{
    ledger::Ledger,
    messages::{diagnosis::Fault, format::truncate_to},
};
pub use retry::RetryPolicy;

/// Longest part of an invalid duration that a message repeats, in bytes.
const MOST_SHOWN: usize = 64;

/// Policy fields of a Runnable or of a template.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asks {
    /// Retries of failed runs.
    pub retry: Option<Retry>,
    /// Timeout of a run.
    pub timeout: Option<String>,
    /// Rule for runs that would be at work at once.
    pub concurrency: Option<ConcurrencyPolicy>,
    /// Rule for the approval of runs.
    pub approval: Option<ApprovalPolicy>,
    /// Time for which the rendered document has to stay the same.
    pub debounce: Option<String>,
    /// Request that stops a run.
    pub stop: Option<StopMethod>,
}

impl Asks {
    /// Returns the policy fields of a Runnable.
    #[must_use]
    pub fn of_runnable(spec: &RunnableSpec) -> Self {
        Self {
            retry: spec.retry.clone(),
            timeout: spec.timeout.clone(),
            concurrency: spec.concurrency_policy,
            approval: spec.approval,
            debounce: spec.start.as_ref().and_then(|start| start.debounce.clone()),
            stop: None,
        }
    }

    /// Returns the policy fields of a template.
    #[must_use]
    pub fn of_template(spec: &ClusterRunTemplateSpec) -> Self {
        Self {
            retry: spec.retry.clone(),
            timeout: spec.timeout.clone(),
            concurrency: spec.concurrency_policy,
            approval: spec.approval,
            debounce: spec.start.as_ref().and_then(|start| start.debounce.clone()),
            stop: spec.stop.clone(),
        }
    }
}

/// Policy of one Runnable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// Retries of failed runs; `None` if there are none.
    pub retry: Option<RetryPolicy>,
    /// Timeout of a run; `None` if it may work for ever.
    pub timeout: Option<SignedDuration>,
    /// Rule for a new run while an earlier one is at work.
    pub concurrency: ConcurrencyPolicy,
    /// Rule for the approval of runs.
    pub approval: ApprovalPolicy,
    /// Time for which the rendered document has to stay the same before it runs.
    pub debounce: Option<SignedDuration>,
    /// Request by which the template has its runs stopped.
    pub stop: Option<StopRequest>,
}

/// Attempt that follows the current run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// Time at which it may begin.
    pub at: Timestamp,
    /// Number of the attempt.
    pub attempt: i64,
    /// Maximum number of attempts.
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

impl Policy {
    /// Merges the policies of the Runnable and its template. The template's limit and timeout bound the Runnable's,
    /// and its concurrency policy takes precedence. Either may require approval, and the longer debounce counts.
    /// For all else the Runnable takes precedence.
    ///
    /// # Errors
    /// Returns everything that cannot be used, by its path. The API server accepts it.
    pub fn merge(runnable: &Asks, template: &Asks) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let policy = Self {
            retry: retry::merge(
                runnable.retry.as_ref(),
                template.retry.as_ref(),
                &mut faults,
            ),
            ..Self::of_runs_at_work(runnable, template, &mut faults)
        };
        if faults.is_empty() {
            Ok(policy)
        } else {
            Err(faults)
        }
    }

    /// Merges the usable part of the policies, so that runs at work are governed even if something cannot be used.
    #[must_use]
    pub fn as_far_as_usable(runnable: &Asks, template: &Asks) -> Self {
        let mut faults = Vec::new();
        let retry = retry::merge(
            runnable.retry.as_ref(),
            template.retry.as_ref(),
            &mut faults,
        );
        Self {
            // With usable retry rules, a run that fails meanwhile keeps its retries.
            retry: retry.filter(|_| faults.is_empty()),
            ..Self::of_runs_at_work(runnable, template, &mut Vec::new())
        }
    }

    fn of_runs_at_work(runnable: &Asks, template: &Asks, faults: &mut Vec<Fault>) -> Self {
        let mut spans = |field: &str, given: fn(&Asks) -> Option<&String>| {
            let both = [("the Runnable's", runnable), ("the template's", template)];
            both.map(|(whose, asks)| span(&format!("{whose} {field}"), given(asks)?, faults))
        };
        let timeouts = spans("spec.timeout", |asks| asks.timeout.as_ref());
        let pauses = spans("spec.start.debounce", |asks| asks.debounce.as_ref());
        Self {
            retry: None,
            timeout: timeouts.into_iter().flatten().min(),
            concurrency: template
                .concurrency
                .or(runnable.concurrency)
                .unwrap_or_default(),
            approval: ApprovalPolicy::merge(runnable.approval, template.approval),
            debounce: pauses.into_iter().flatten().max(),
            stop: stop::parse(template.stop.as_ref(), faults),
        }
    }

    /// Returns the attempt that follows the current run of a ledger, if the ledger has a time for it and this
    /// policy still allows it.
    #[must_use]
    pub fn ahead(&self, ledger: &Ledger) -> Option<Ahead> {
        let (retry, current) = (self.retry.as_ref()?, ledger.current.as_ref()?);
        let at = current.retry_at.as_ref()?.0;
        retry.allows(current).then(|| Ahead {
            at,
            attempt: current.attempt + 1,
            attempts: retry.limit + 1,
        })
    }

    /// Returns true if runs at work may be asked to stop, because of their timeout or for a later run.
    #[must_use]
    pub fn stops_runs(&self) -> bool {
        self.timeout.is_some() || self.concurrency == ConcurrencyPolicy::Replace
    }

    /// Returns true if a pending change may have to wait although nothing is wrong.
    #[must_use]
    pub fn may_hold(&self) -> bool {
        self.concurrency != ConcurrencyPolicy::Allow
            || self.approval == ApprovalPolicy::Manual
            || self.debounce.is_some()
    }

    /// Returns the time until which a run that started at this time may work; `None` without a timeout.
    #[must_use]
    pub fn deadline(&self, started_at: Timestamp) -> Option<Timestamp> {
        let deadline = started_at.checked_add(self.timeout?);
        Some(deadline.unwrap_or(Timestamp::MAX))
    }

    /// Checks that the policy can be used for a document: one with a fixed name can be made only once.
    ///
    /// # Errors
    /// Returns what cannot be used with the fixed name.
    pub fn check_name(&self, fixed_name: Option<&str>) -> Result<(), Vec<Fault>> {
        let (Some(_), Some(name)) = (&self.retry, fixed_name) else {
            return Ok(());
        };
        let what = format!(
            "retry creates further runs, but the template gives each of them the name {name:?}"
        );
        let cure = "use metadata.generateName in the template instead of metadata.name, or set retry.limit to 0";
        Err(vec![Fault::new(what, Some(cure.to_owned()))])
    }
}

/// Parses a duration field. Adds a fault and returns `None` if it is not valid.
fn span(field: &str, text: &str, faults: &mut Vec<Fault>) -> Option<SignedDuration> {
    let span = duration(text).and_then(|span| SignedDuration::try_from(span).ok());
    if span.is_none() {
        let wanted =
            format!("a duration from {SHORTEST_DURATION} to {LONGEST_DURATION}, such as 30s or 5m");
        let given = truncate_to(text.to_owned(), MOST_SHOWN);
        faults.push(not_usable(field, &format!("{given:?}"), &wanted));
    }
    span
}

fn not_usable(field: &str, value: &str, wanted: &str) -> Fault {
    let what = format!("{field} {value} is not {wanted}");
    Fault::new(what, Some(format!("give {wanted}")))
}

#[cfg(test)]
mod tests;
