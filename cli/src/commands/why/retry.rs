//! The retries of a failed run, as data.

use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::{ClusterRunTemplate, Runnable};
use cartouche_engines::kinds::{Standing, Works};
use cartouche_protocol::{
    ledger::Ledger,
    policy::{Ahead, Asks, Policy},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;

use crate::live::runs;

/// State of the retries of a failed run.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state")]
pub(super) enum RetryState {
    /// This attempt begins at this time.
    Scheduled {
        attempt: i64,
        attempts: i64,
        at: Time,
    },
    /// This attempt is planned for this time, but the Runnable is suspended.
    Held {
        attempt: i64,
        attempts: i64,
        at: Time,
    },
    /// This attempt is planned for this time, but something blocks it.
    Blocked {
        attempt: i64,
        attempts: i64,
        at: Time,
    },
    /// All attempts are used up.
    Exhausted { attempts: i64 },
    /// There is no retry, since `retryOn` names other ends.
    NotNamed { ended: String, named: String },
    /// A retry is to come, in the words of the status: the template, which has the number of attempts, could not be
    /// read.
    Said { message: String },
}

impl RetryState {
    /// Returns the retries as the controller decides them.
    pub(super) fn from_objects(runnable: &Runnable, template: &ClusterRunTemplate) -> Option<Self> {
        let own = Asks::of_runnable(&runnable.spec);
        let policy = Policy::merge(&own, &Asks::of_template(&template.spec)).ok()?;
        let ledger = Ledger::from_status(runnable.status.as_ref()?);
        if let Some(Ahead {
            attempt,
            attempts,
            at,
        }) = policy.ahead(&ledger)
        {
            let at = Time(at);
            return Some(match runnable.spec.suspend {
                Some(true) => Self::Held {
                    attempt,
                    attempts,
                    at,
                },
                _ => Self::Scheduled {
                    attempt,
                    attempts,
                    at,
                },
            });
        }
        let current = ledger.current.as_ref()?;
        let (retry, attempts) = (policy.retry.as_ref()?, current.attempt);
        if retry.is_exhausted(current) {
            return Some(Self::Exhausted { attempts });
        }
        let (ended, named) = retry.find_unnamed(current)?;
        let named: Vec<String> = named.iter().map(|it| format!("{it:?}")).collect();
        Some(Self::NotNamed {
            ended: format!("{ended:?}"),
            named: match named.as_slice() {
                [] => "nothing".to_owned(),
                named => named.join(", "),
            },
        })
    }

    /// Returns the same by the status alone.
    pub(super) fn by_status(runnable: &Runnable) -> Option<Self> {
        let scheduled = runs::retry_scheduled(runnable)?;
        let message = scheduled.message.clone();
        Some(Self::Said { message })
    }

    /// Returns the text for people.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Scheduled {
                attempt,
                attempts,
                at,
            } => format!(
                "attempt {attempt} of {attempts} begins at {}; a change or a re-run starts immediately",
                at.0
            ),
            Self::Held {
                attempt,
                attempts,
                at,
            } => format!(
                "attempt {attempt} of {attempts}, planned for {}, waits until you resume the Runnable",
                at.0
            ),
            Self::Blocked {
                attempt,
                attempts,
                at,
            } => format!(
                "attempt {attempt} of {attempts}, planned for {}, begins once nothing blocks it",
                at.0
            ),
            Self::Said { message } => in_one_line(message),
            Self::NotNamed { ended, named } => format!(
                "it is not retried: retry.retryOn names {named}, and this run has ended as {ended}: add {ended} to retry it"
            ),
            Self::Exhausted { attempts } => {
                format!("it was the last attempt, {attempts} of {attempts}: it is not retried")
            }
        }
    }

    /// Marks a scheduled retry as blocked.
    pub(super) fn block(self) -> Self {
        match self {
            Self::Scheduled {
                attempt,
                attempts,
                at,
            } => Self::Blocked {
                attempt,
                attempts,
                at,
            },
            other => other,
        }
    }
}

/// Returns the deadline of the current run as the controller decides it, or `None` if it has none or a queue holds
/// it.
pub(super) fn deadline(
    runnable: &Runnable,
    template: &ClusterRunTemplate,
    standing: Standing,
) -> Option<Time> {
    let own = Asks::of_runnable(&runnable.spec);
    let policy = Policy::as_far_as_usable(&own, &Asks::of_template(&template.spec));
    let ledger = Ledger::from_status(runnable.status.as_ref()?);
    let current = ledger.at_work().find(|run| run.is_current)?;
    let made = current.started_at.filter(|_| current.stop.is_none())?;
    let started_at = match standing.works {
        Works::SinceCreation => made,
        Works::Since(at) => made.max(at),
        Works::NotYet | Works::Untimed => return None,
    };
    policy.deadline(started_at).map(Time)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns the retries for a Runnable whose run ended like this, and whose template has two more attempts.
    fn retried(run: &Value, suspend: bool) -> Option<RetryState> {
        let mut current = json!({
            "sequence": 1, "name": "r", "inputHash": "v1:a", "apiVersion": "batch/v1", "kind": "Job",
            "phase": "Created", "uid": "u",
        });
        let fields = current.as_object_mut().unwrap();
        fields.extend(run.as_object().unwrap().clone());
        let runnable = serde_json::from_value(json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "hello" },
            "spec": { "runTemplateRef": { "name": "greet" }, "suspend": suspend },
            "status": { "currentRun": current },
        }));
        let template = serde_json::from_value(json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate", "metadata": { "name": "greet" },
            "spec": { "template": {}, "retry": { "limit": 2 } },
        }));
        RetryState::from_objects(&runnable.unwrap(), &template.unwrap())
    }

    #[test]
    fn a_run_that_failed_says_what_becomes_of_it() {
        let failed = json!({ "result": "Failed", "retryAt": "2026-01-01T00:00:10Z" });
        let at: Time = serde_json::from_value(failed["retryAt"].clone()).unwrap();
        let (attempt, attempts) = (2, 3);
        let scheduled = RetryState::Scheduled {
            attempt,
            attempts,
            at: at.clone(),
        };
        let held = RetryState::Held {
            attempt,
            attempts,
            at,
        };
        let exhausted = RetryState::Exhausted { attempts };
        assert_eq!(retried(&failed, false), Some(scheduled));
        assert_eq!(retried(&failed, true), Some(held));
        let last = json!({ "result": "Failed", "attempt": 3 });
        assert_eq!(retried(&last, false), Some(exhausted));
        let vanished = json!({ "result": "Lost" });
        let not_named = RetryState::NotNamed {
            ended: "Lost".to_owned(),
            named: "Failed, TimedOut".to_owned(),
        };
        assert_eq!(retried(&vanished, false), Some(not_named));
        for other in [
            json!({}),
            json!({ "result": "Failed" }),
            json!({ "result": "Succeeded", "attempt": 3 }),
        ] {
            assert_eq!(retried(&other, false), None, "{other}");
        }
    }

    #[test]
    fn without_the_template_the_status_says_that_a_run_is_tried_again() {
        let said = |reason: &str| {
            let message = "attempt 2 of 3 begins at 2026-01-01T00:00:10Z".to_owned();
            let runnable = serde_json::from_value(json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "hello" },
                "spec": { "runTemplateRef": { "name": "greet" } },
                "status": { "conditions": [{
                    "type": "Reconciling", "status": "True", "reason": reason, "message": message,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }] },
            }));
            (RetryState::by_status(&runnable.unwrap()), message)
        };
        let (scheduled, message) = said("RetryScheduled");
        assert_eq!(scheduled, Some(RetryState::Said { message }));
        assert_eq!(said("RunInProgress").0, None);
    }

    #[test]
    fn a_run_at_work_has_until_the_shorter_timeout_unless_it_was_told_to_stop() {
        let until = |run: &Value| {
            let mut current = json!({
                "sequence": 1, "name": "r", "inputHash": "v1:a", "apiVersion": "batch/v1", "kind": "Job",
                "phase": "Created", "uid": "u", "startedAt": "2026-01-01T00:00:00Z",
            });
            let fields = current.as_object_mut().unwrap();
            fields.extend(run.as_object().unwrap().clone());
            let runnable = serde_json::from_value(json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "hello" },
                "spec": { "runTemplateRef": { "name": "greet" }, "timeout": "1h" },
                "status": { "currentRun": current },
            }));
            let template = serde_json::from_value(json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate", "metadata": { "name": "greet" },
                "spec": { "template": {}, "timeout": "5m" },
            }));
            let deadline = deadline(&runnable.unwrap(), &template.unwrap(), Standing::FREE);
            deadline.map(|at| at.0.to_string())
        };
        assert_eq!(until(&json!({})).as_deref(), Some("2026-01-01T00:05:00Z"));
        assert_eq!(until(&json!({ "result": "Failed" })), None);
        let told = json!({ "stop": { "reason": "TimedOut", "at": "2026-01-01T00:05:00Z" } });
        assert_eq!(until(&told), None);
    }
}
