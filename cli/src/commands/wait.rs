//! `cartouche wait`.

use std::{str::FromStr, time::Duration};

use cartouche_crds::{PendingRun, Runnable};
use cartouche_protocol::{
    reconcile_error::Category,
    status::{RECONCILING, STALLED, STAMPED_OBJECT_CONDITION, TRUE},
};
use clap::Args;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::outcome::{FOUND, Outcome};
use crate::{
    cluster::{Cluster, ClusterArgs},
    commands::{
        get::ready,
        outputs::{plain, undeclared},
    },
    foreign::in_one_line,
    live::{
        pending::{pending, waits_for_approval},
        runs::{condition, retry_scheduled},
    },
};

/// How often the Runnable is looked at.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a problem has to last before the wait is in vain: what was applied together, such as a
/// template and its Runnable, is not seen together.
const GRACE: Duration = Duration::from_secs(3);

/// Wait until a Runnable is ready, or has an output
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche wait hello
  cartouche wait shop-build --for output=digest --timeout 10m
  cartouche wait hello --for finished

`ready` ends with exit code 1 if the run has failed, or if for some seconds only a change could help; `finished`
also ends well when the run has failed. A failure that is going to be tried again (spec.retry) ends neither, unless
the Runnable is suspended; nor does a run that waits for a person (spec.approval: Manual), which is told at once. An
output is printed. Exit code 1 after the time is over.")]
pub(crate) struct WaitArgs {
    /// The Runnable
    name: String,
    /// What for: ready, finished or output=NAME
    #[arg(long = "for", default_value = "ready", value_name = "WHAT")]
    wanted: WaitFor,
    /// How long at most: 30s, 10m, 1h
    #[arg(long, default_value = "5m", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum WaitFor {
    Ready,
    Finished,
    Output(String),
}

impl FromStr for WaitFor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "ready" => Ok(Self::Ready),
            None if text == "finished" => Ok(Self::Finished),
            Some(("output", name)) if !name.is_empty() => Ok(Self::Output(name.to_owned())),
            _ => Err("wait for ready, finished or output=NAME".to_owned()),
        }
    }
}

/// `30s`, `10m`, `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no duration: write 30s, 10m or 1h");
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return Err(wrong()),
    };
    number
        .checked_mul(seconds)
        .map(Duration::from_secs)
        .ok_or_else(wrong)
}

/// Where the waiting stands.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    Done(String),
    InVain(String),
    Waiting(String),
}

pub(crate) async fn execute(args: &WaitArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let start = tokio::time::Instant::now();
    let mut in_vain_since = None;
    let mut asked_for = None;
    loop {
        let runnable = cluster.runnable(&args.name).await?;
        let standing = match (standing(&runnable, &args.wanted), &args.wanted) {
            (Standing::Waiting(why), WaitFor::Output(name)) => {
                match undeclared(name, &runnable.spec, cluster).await {
                    Some(undeclared) => Standing::InVain(undeclared),
                    None => Standing::Waiting(why),
                }
            }
            (standing, _) => standing,
        };
        let why = match standing {
            Standing::Done(out) => return Ok(Outcome::good(out)),
            Standing::InVain(why) => {
                let since = in_vain_since.get_or_insert_with(tokio::time::Instant::now);
                let why = cluster.place().for_runnable(&why, &args.name);
                if run_failed(&runnable) || since.elapsed() >= GRACE {
                    return Ok(failed(format!("{}: {why}\n", args.name)));
                }
                why
            }
            Standing::Waiting(why) => {
                in_vain_since = None;
                let why = cluster.place().for_runnable(&why, &args.name);
                let waits = pending(&runnable).filter(|pending| waits_for_approval(pending));
                if let Some(waits) = waits
                    && asked_for.as_ref() != Some(waits)
                {
                    // No controller ends this wait: whoever looks on is told before the time is over.
                    asked_for = Some(waits.clone());
                    told(format!("{}: {why}\n", args.name)).print()?;
                }
                why
            }
        };
        if start.elapsed() + PAUSE > args.timeout {
            let waited = args.timeout.as_secs();
            return Ok(failed(format!(
                "{}: not within {waited} s: {why}\n",
                args.name
            )));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether it is the run that ended badly, and not something around it that may be on its way.
fn run_failed(runnable: &Runnable) -> bool {
    condition(runnable, STAMPED_OBJECT_CONDITION).is_some_and(|found| found.status == "False")
}

/// Whether the ledger has a time for a further attempt.
fn has_retry_at(runnable: &Runnable) -> bool {
    let run = runnable.status.as_ref();
    let run = run.and_then(|status| status.current_run.as_ref());
    run.is_some_and(|run| run.retry_at.is_some())
}

/// Whether what failed is going to be tried again. The ledger says it also while something passing is in the way.
fn has_attempt_ahead(runnable: &Runnable) -> bool {
    has_retry_at(runnable)
        && runnable.spec.suspend != Some(true)
        && condition(runnable, RECONCILING).is_some_and(|found| found.status == TRUE)
}

fn failed(err: String) -> Outcome {
    Outcome {
        code: FOUND,
        ..told(err)
    }
}

fn told(err: String) -> Outcome {
    Outcome {
        err,
        ..Outcome::default()
    }
}

/// What a run that is due waits for.
fn held(pending: &PendingRun, reason: &str) -> String {
    let sequence = pending.sequence;
    if waits_for_approval(pending) {
        return format!(
            "run {sequence} is due, and waits for a person to approve it (`cartouche approve`)"
        );
    }
    format!("run {sequence} is due, and waits ({reason})")
}

fn standing(runnable: &Runnable, wanted: &WaitFor) -> Standing {
    let status = runnable.status.clone().unwrap_or_default();
    if status.observed_generation != runnable.metadata.generation {
        return Standing::Waiting("the controller has not observed the last change yet".to_owned());
    }
    let (ready_is, reason) = ready(runnable);
    let stalled = condition(runnable, STALLED).filter(|stalled| stalled.status == "True");
    if let Some(pending) = status.pending.as_ref().filter(|_| stalled.is_none()) {
        return Standing::Waiting(held(pending, reason));
    }
    let is_ahead = has_attempt_ahead(runnable);
    let result = status.current_run.as_ref().and_then(|run| run.result);
    let waiting = match wanted {
        WaitFor::Output(name) => match status.outputs.as_ref().and_then(|all| all.get(name)) {
            Some(value) => return Standing::Done(format!("{}\n", plain(value))),
            None => format!("no output {name} yet ({reason})"),
        },
        WaitFor::Finished => match result.filter(|_| !is_ahead) {
            Some(result) => return Standing::Done(format!("{result:?}\n")),
            None => reason.to_owned(),
        },
        WaitFor::Ready if ready_is == "True" => return Standing::Done("ready\n".to_owned()),
        WaitFor::Ready => format!("Ready is {ready_is} ({reason})"),
    };
    let scheduled = retry_scheduled(runnable);
    let is_held = !is_ahead && runnable.spec.suspend == Some(true) && has_retry_at(runnable);
    if let Some(scheduled) = scheduled.filter(|_| is_ahead) {
        return Standing::Waiting(in_one_line(&scheduled.message));
    }
    if let Some(Condition {
        reason, message, ..
    }) = stalled
    {
        return Standing::InVain(in_one_line(&format!("{reason}: {message}")));
    }
    if reason == Category::Suspended.as_str() || is_held {
        let why =
            "it is suspended, and the run that it would make is held back (`cartouche resume`)";
        return Standing::InVain(why.to_owned());
    }
    Standing::Waiting(waiting)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runnable(
        observed: i64,
        conditions: &serde_json::Value,
        more: &serde_json::Value,
    ) -> Runnable {
        let mut status = json!({ "observedGeneration": observed, "conditions": conditions });
        for (key, value) in more.as_object().unwrap() {
            status[key] = value.clone();
        }
        serde_json::from_value(json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": "hello", "generation": 2 },
            "spec": { "runTemplateRef": { "name": "greet" } },
            "status": status,
        }))
        .unwrap()
    }

    fn condition(name: &str, status: &str, reason: &str) -> serde_json::Value {
        json!({ "type": name, "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" })
    }

    #[test]
    fn a_status_of_an_older_generation_says_nothing() {
        let runnable = runnable(1, &json!([condition("Ready", "True", "Ready")]), &json!({}));
        assert!(matches!(
            standing(&runnable, &WaitFor::Ready),
            Standing::Waiting(_)
        ));
    }

    #[test]
    fn a_run_that_waits_is_waited_for_unless_only_a_change_can_help() {
        let pending = json!({ "pending": {
            "sequence": 3, "inputHash": "v1:b", "reason": "RunAtWork", "since": "2026-01-01T00:00:00Z",
        } });
        let ready = condition("Ready", "Unknown", "StopFailed");
        let waits = runnable(2, &json!([ready]), &pending);
        assert_eq!(
            standing(&waits, &WaitFor::Ready),
            Standing::Waiting("run 3 is due, and waits (StopFailed)".to_owned())
        );
        let mut person = pending.clone();
        person["pending"]["reason"] = json!("ApprovalRequired");
        let ready_then = condition("Ready", "Unknown", "ApprovalRequired");
        let person = runnable(2, &json!([ready_then]), &person);
        let why = "run 3 is due, and waits for a person to approve it (`cartouche approve`)";
        assert_eq!(
            standing(&person, &WaitFor::Finished),
            Standing::Waiting(why.to_owned())
        );
        let stalled = condition("Stalled", "True", "InvalidRunnable");
        let stalled = runnable(2, &json!([ready, stalled]), &pending);
        let standing = standing(&stalled, &WaitFor::Ready);
        assert!(matches!(standing, Standing::InVain(_)), "{standing:?}");
    }

    #[test]
    fn ready_ends_the_wait() {
        let runnable = runnable(2, &json!([condition("Ready", "True", "Ready")]), &json!({}));
        assert_eq!(
            standing(&runnable, &WaitFor::Ready),
            Standing::Done("ready\n".to_owned())
        );
    }

    #[test]
    fn what_only_a_change_can_help_is_not_waited_for() {
        let conditions = json!([
            condition("Ready", "False", "JobCondition"),
            condition("Stalled", "True", "JobCondition")
        ]);
        let runnable = runnable(2, &conditions, &json!({}));
        assert!(matches!(
            standing(&runnable, &WaitFor::Ready),
            Standing::InVain(_)
        ));
        assert!(matches!(
            standing(&runnable, &WaitFor::Output("x".into())),
            Standing::InVain(_)
        ));
    }

    #[test]
    fn a_run_that_is_held_back_is_not_waited_for() {
        let runnable = runnable(
            2,
            &json!([condition("Ready", "Unknown", "Suspended")]),
            &json!({}),
        );
        assert!(matches!(
            standing(&runnable, &WaitFor::Ready),
            Standing::InVain(_)
        ));
    }

    #[test]
    fn a_failure_with_an_attempt_ahead_is_no_end() {
        let conditions = json!([
            condition("Ready", "False", "JobCondition"),
            condition("StampedObjectCondition", "False", "JobCondition"),
            condition("Reconciling", "True", "RetryScheduled"),
        ]);
        let mut runnable = runnable(
            2,
            &conditions,
            &json!({ "currentRun": {
                "sequence": 1, "name": "r", "inputHash": "v1:a", "apiVersion": "batch/v1", "kind": "Job",
                "phase": "Created", "result": "Failed", "retryAt": "2026-01-01T00:00:10Z",
            } }),
        );
        let ends = || {
            [
                WaitFor::Ready,
                WaitFor::Finished,
                WaitFor::Output("x".into()),
            ]
        };
        for wanted in ends() {
            let standing = standing(&runnable, &wanted);
            assert!(
                matches!(standing, Standing::Waiting(_)),
                "{wanted:?} {standing:?}"
            );
        }
        runnable.spec.suspend = Some(true);
        for wanted in ends() {
            let standing = standing(&runnable, &wanted);
            assert!(
                !matches!(standing, Standing::Waiting(_)),
                "{wanted:?} {standing:?}"
            );
        }
        // Once its time has come, neither Reconciling nor Stalled is there.
        let scheduled = runnable.status.as_mut().unwrap().conditions.pop().unwrap();
        let held = standing(&runnable, &WaitFor::Ready);
        assert!(matches!(held, Standing::InVain(_)), "{held:?}");
        runnable.status.as_mut().unwrap().conditions.push(scheduled);
        runnable.spec.suspend = None;
        let status = runnable.status.as_mut().unwrap();
        status.conditions[2].type_ = "Stalled".to_owned();
        assert_eq!(
            standing(&runnable, &WaitFor::Finished),
            Standing::Done("Failed\n".to_owned())
        );
    }

    #[test]
    fn an_output_is_printed_as_it_is() {
        let runnable = runnable(
            2,
            &json!([]),
            &json!({ "outputs": { "digest": "sha256:1" } }),
        );
        let wanted = WaitFor::Output("digest".into());
        assert_eq!(
            standing(&runnable, &wanted),
            Standing::Done("sha256:1\n".to_owned())
        );
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("10m"), Ok(Duration::from_mins(10)));
        assert!(duration("soon").is_err());
        assert!(duration("99999999999999999999h").is_err());
    }
}
