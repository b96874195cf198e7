//! Retries of failed runs, some of which users cancel.

use std::collections::BTreeSet;

use cartouche_crds::{Backoff, CANCEL_REQUEST_ANNOTATION, Retry, RetryOn, RunnableStatus};
use cartouche_oracle::Run;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{
    discovery::Resource,
    people::{NAMESPACE, SOMEBODY, runnable},
    store::{Change, Key, Store},
};

/// The retries of all Runnables of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retries {
    /// The field of the specs.
    pub retry: Retry,
    /// True if the templates ask for it, false if the Runnables do.
    pub by_template: bool,
}

impl Retries {
    /// Draws a policy. A pause may be shorter or longer than the clock skew.
    pub fn draw(random: &mut fastrand::Rng) -> Self {
        let backoff = Backoff {
            initial: Some(["1s", "5s", "45s"][random.usize(..3)].to_owned()),
            factor: Some(random.i64(1..=2)),
            max: Some("1m".to_owned()),
        };
        let both = vec![RetryOn::Failed, RetryOn::Lost];
        Self {
            retry: Retry {
                limit: Some(random.i64(1..=3)),
                backoff: Some(backoff),
                retry_on: random.bool().then_some(both),
            },
            by_template: random.bool(),
        }
    }

    /// Sets whether a run that its timeout has stopped is retried too.
    pub fn after_stops(&mut self, is_tried_again: bool) {
        let all = [RetryOn::Failed, RetryOn::Lost, RetryOn::TimedOut];
        let few = if is_tried_again { &all[..] } else { &all[..2] };
        self.retry.retry_on = Some(few.to_vec());
    }

    /// Writes it into the specs that have it.
    pub fn ask(&self, object: &mut Value, is_template: bool) {
        if is_template == self.by_template {
            object["spec"]["retry"] = json!(self.retry);
        }
    }
}

/// Returns the maximum number of attempts that a plan allows.
#[must_use]
pub fn most_attempts(retries: Option<&Retries>) -> i64 {
    1 + retries.map_or(0, |retries| retries.retry.limit.unwrap_or_default())
}

/// Writes a cancellation on an unfinished run of this Runnable, if there is one. The engine ends it in its
/// own time.
pub(crate) fn cancel(store: &mut Store, random: &mut fastrand::Rng, number: usize) {
    let Some(owner) = store.get(&runnable(number)) else {
        return;
    };
    let is_its = |run: &Value| {
        let run = Run::of(run);
        owner["metadata"]["uid"] == run.runnable && run.result.is_none()
    };
    let working: Vec<Key> = [Resource::Tasks, Resource::Builds]
        .iter()
        .flat_map(|resource| store.all(*resource, NAMESPACE))
        .filter(|(_, run)| is_its(run))
        .map(|(key, _)| key.clone())
        .collect();
    if let Some(key) = random.choice(&working) {
        let asked = json!({ "by": SOMEBODY }).to_string();
        // It exists: it was just found.
        let _ = store.change(key, SOMEBODY, |run| {
            run["metadata"]["annotations"][CANCEL_REQUEST_ANNOTATION] = json!(asked);
        });
    }
}

/// Returns the number of further attempts.
#[must_use]
pub fn further_attempts(log: &[Change]) -> usize {
    let of_runnables = log
        .iter()
        .filter(|change| change.key.resource == Resource::Runnables);
    let attempts = of_runnables.filter_map(|change| {
        let status = RunnableStatus::deserialize(&change.object["status"]).ok()?;
        let current = status.current_run.filter(|run| run.attempt > 1)?;
        Some((&change.key, current.name))
    });
    attempts.collect::<BTreeSet<_>>().len()
}
