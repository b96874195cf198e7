//! What a Runnable and its template together ask for beside what is run. Pure.

mod retry;
mod stop;

use std::fmt;

use cartouche_crds::{
    ApprovalPolicy, ClusterRunTemplateSpec, ConcurrencyPolicy, LONGEST_DURATION, Retry,
    RunnableSpec, SHORTEST_DURATION, StopMethod, duration,
};
use cartouche_templating::kinds::StopRequest;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use crate::{diagnosis::Fault, ledger::Ledger, told::within};
pub use retry::RetryPolicy;

/// Bytes of a text that is no duration which a message repeats.
const MOST_SHOWN: usize = 64;

/// What one of the two asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asks {
    /// How what failed is tried again.
    pub retry: Option<Retry>,
    /// How long a run may work.
    pub timeout: Option<String>,
    /// Whether runs may be at work at once.
    pub concurrency: Option<ConcurrencyPolicy>,
    /// Whether a person has to approve each run.
    pub approval: Option<ApprovalPolicy>,
    /// How long what is rendered has to stay the same.
    pub debounce: Option<String>,
    /// How a run is stopped.
    pub stop: Option<StopMethod>,
}

impl Asks {
    /// What a Runnable asks for.
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

    /// What a template asks for.
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

/// What holds for one Runnable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// How what failed is tried again; `None` if it is not.
    pub retry: Option<RetryPolicy>,
    /// How long a run may work; `None` for ever.
    pub timeout: Option<SignedDuration>,
    /// Whether a run may begin while an earlier one is at work.
    pub concurrency: ConcurrencyPolicy,
    /// Whether a person has to approve each run.
    pub approval: ApprovalPolicy,
    /// How long what is rendered has to stay the same before it runs.
    pub debounce: Option<SignedDuration>,
    /// How the template has its runs stopped.
    pub stop: Option<StopRequest>,
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

impl Policy {
    /// What the Runnable and its template give, merged: the template's limit and timeout bound the Runnable's, its
    /// concurrency policy goes before the Runnable's, either may want a person's approval, and else the Runnable goes before
    /// the template.
    ///
    /// # Errors
    /// Everything that cannot be used, by its path. The API server takes it.
    pub fn of(runnable: &Asks, template: &Asks) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let policy = Self {
            retry: retry::merged(
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

    /// What is left where something cannot be used: runs at work are not left alone because of it.
    #[must_use]
    pub fn as_far_as_usable(runnable: &Asks, template: &Asks) -> Self {
        let mut faults = Vec::new();
        let retry = retry::merged(
            runnable.retry.as_ref(),
            template.retry.as_ref(),
            &mut faults,
        );
        Self {
            // A run that fails meanwhile keeps its retries.
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
            approval: ApprovalPolicy::merged(runnable.approval, template.approval),
            debounce: pauses.into_iter().flatten().max(),
            stop: stop::given(template.stop.as_ref(), faults),
        }
    }

    /// The attempt that follows the current run of a ledger: the ledger says when, and this policy still allows it.
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

    /// Whether runs at work may be told to stop: because of their timeout, or for a later run.
    #[must_use]
    pub fn stops_runs(&self) -> bool {
        self.timeout.is_some() || self.concurrency == ConcurrencyPolicy::Replace
    }

    /// Whether a run that is due may have to wait though nothing is wrong.
    #[must_use]
    pub fn may_hold(&self) -> bool {
        self.concurrency != ConcurrencyPolicy::Allow
            || self.approval == ApprovalPolicy::Manual
            || self.debounce.is_some()
    }

    /// Until when a run that was made at this time may work.
    #[must_use]
    pub fn deadline(&self, started_at: Timestamp) -> Option<Timestamp> {
        let deadline = started_at.checked_add(self.timeout?);
        Some(deadline.unwrap_or(Timestamp::MAX))
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

/// A duration that somebody gives.
fn span(field: &str, text: &str, faults: &mut Vec<Fault>) -> Option<SignedDuration> {
    let span = duration(text).and_then(|span| SignedDuration::try_from(span).ok());
    if span.is_none() {
        let wanted =
            format!("a duration from {SHORTEST_DURATION} to {LONGEST_DURATION}, such as 30s or 5m");
        let given = within(text.to_owned(), MOST_SHOWN);
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
