//! `cartouche wait`.

use std::{str::FromStr, time::Duration};

use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::{
    PendingRun, Runnable,
    conditions::{READY, RECONCILING, STALLED, STAMPED_OBJECT_CONDITION, TRUE, follows_upstream},
};
use cartouche_protocol::{
    category::Category,
    messages::{diagnosis::waits_for_a_person, format::MessageParts},
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
    live::{
        pending::{pending, waits_for_approval},
        runs::{condition, retry_scheduled},
        written,
    },
};

/// Interval between two reads of the Runnable.
const PAUSE: Duration = Duration::from_secs(1);

/// Time that a problem has to last before the wait ends: objects applied together, such as a template and its
/// Runnable, are not seen together.
const GRACE: Duration = Duration::from_secs(3);

/// Wait until a Runnable is ready, or has an output
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche wait hello
  cartouche wait shop-build --for output=digest --timeout 10m
  cartouche wait hello --for finished

Exit code 1 after the timeout, or if for some seconds only a change could help. `ready` also ends with 1 if the run has
failed; `finished` then ends with 0. Neither ends at a failure that will be retried (spec.retry), unless the Runnable
is suspended, nor at a run that waits for approval (spec.approval: Manual), which is reported immediately.
An output is printed; for a sensitive one, its Secret and key.")]
pub(crate) struct WaitArgs {
    /// Name of the Runnable
    name: String,
    /// Condition to wait for: ready, finished or output=NAME
    #[arg(long = "for", default_value = "ready", value_name = "WHAT")]
    wanted: WaitCondition,
    /// Longest wait: 30s, 10m, 1h
    #[arg(long, default_value = "5m", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Condition to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum WaitCondition {
    Ready,
    Finished,
    Output(String),
}

impl FromStr for WaitCondition {
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

/// Parses a duration: `30s`, `10m`, `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is not a duration: write 30s, 10m or 1h");
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

/// State of the wait.
#[derive(Debug, PartialEq, Eq)]
enum WaitState {
    Done(String),
    /// The output exists elsewhere, at this place, which must not be taken for its value.
    Elsewhere(String),
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
            (WaitState::Waiting(why), WaitCondition::Output(name)) => {
                match undeclared(name, &runnable.spec, cluster).await {
                    Some(undeclared) => WaitState::InVain(undeclared),
                    None => WaitState::Waiting(why),
                }
            }
            (standing, _) => standing,
        };
        let why = match standing {
            WaitState::Done(out) => return Ok(Outcome::good(out)),
            WaitState::Elsewhere(place) => {
                return Ok(with_message(format!("{}: {place}\n", args.name)));
            }
            WaitState::InVain(why) => {
                let since = in_vain_since.get_or_insert_with(tokio::time::Instant::now);
                let why = cluster.place().for_runnable(&why, &args.name);
                if run_failed(&runnable) || since.elapsed() >= GRACE {
                    return Ok(failed(format!("{}: {why}\n", args.name)));
                }
                why
            }
            WaitState::Waiting(why) => {
                in_vain_since = None;
                let why = cluster.place().for_runnable(&why, &args.name);
                let waits = pending(&runnable).filter(|pending| waits_for_approval(pending));
                if let Some(waits) = waits
                    && asked_for.as_ref() != Some(waits)
                {
                    // Only a person ends this wait, so the user hears of it before the timeout.
                    asked_for = Some(waits.clone());
                    with_message(format!("{}: {why}\n", args.name)).print()?;
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

/// Returns true if the run itself ended badly, rather than something around it that may recover.
fn run_failed(runnable: &Runnable) -> bool {
    condition(runnable, STAMPED_OBJECT_CONDITION).is_some_and(|found| found.status == "False")
}

/// Returns true if the status has a time for a retry.
fn has_retry_at(runnable: &Runnable) -> bool {
    let run = runnable.status.as_ref();
    let run = run.and_then(|status| status.current_run.as_ref());
    run.is_some_and(|run| run.retry_at.is_some())
}

/// Returns true if a retry is to come. The status says so also while a temporary obstacle delays it.
fn has_attempt_ahead(runnable: &Runnable) -> bool {
    has_retry_at(runnable)
        && runnable.spec.suspend != Some(true)
        && condition(runnable, RECONCILING).is_some_and(|found| found.status == TRUE)
}

fn failed(err: String) -> Outcome {
    Outcome {
        code: FOUND,
        ..with_message(err)
    }
}

fn with_message(err: String) -> Outcome {
    Outcome {
        err,
        ..Outcome::default()
    }
}

/// Returns the reason why a pending run waits.
fn held(pending: &PendingRun, reason: &str, said: &str) -> String {
    let sequence = pending.sequence;
    if waits_for_approval(pending) {
        return format!("{} (`cartouche approve`)", waits_for_a_person(sequence));
    }
    format!("run {sequence} is pending ({reason}){said}")
}

/// Returns the message of Ready, such as what keeps the pods of the run from running.
fn ready_message(runnable: &Runnable) -> String {
    let message = condition(runnable, READY).map_or("", |ready| MessageParts::own(&ready.message));
    match in_one_line(message) {
        message if message.is_empty() => message,
        message => format!(": {message}"),
    }
}

fn stands_still(stalled: &Condition) -> String {
    let Condition {
        reason, message, ..
    } = stalled;
    in_one_line(&format!("{reason}: {message}"))
}

fn standing(runnable: &Runnable, wanted: &WaitCondition) -> WaitState {
    let status = runnable.status.clone().unwrap_or_default();
    if status.observed_generation != runnable.metadata.generation {
        return WaitState::Waiting(
            "the controller has not observed the last change yet".to_owned(),
        );
    }
    let (ready_is, reason) = ready(runnable);
    let said = ready_message(runnable);
    let stalled = condition(runnable, STALLED).filter(|stalled| stalled.status == "True");
    if let Some(pending) = status.pending.as_ref().filter(|_| stalled.is_none()) {
        return WaitState::Waiting(held(pending, reason, &said));
    }
    if let Some(stalled) = stalled.filter(|_| status.pending.is_some()) {
        // A run is pending, and only a change lets it begin: any run that has ended was of something else.
        return WaitState::InVain(stands_still(stalled));
    }
    if follows_upstream(&status) {
        let follows = condition(runnable, RECONCILING).map(|it| in_one_line(&it.message));
        return WaitState::Waiting(follows.unwrap_or_default());
    }
    let goes_before = Category::parse(reason).is_some_and(Category::goes_before_the_run);
    if goes_before && stalled.is_none() {
        // While an input is missing, no run is pending either: any run that has ended was of something else.
        return WaitState::Waiting(format!("{reason}{said}"));
    }
    let is_ahead = has_attempt_ahead(runnable);
    let result = status.current_run.as_ref().and_then(|run| run.result);
    let waiting = match wanted {
        WaitCondition::Output(name) => {
            match status.outputs.as_ref().and_then(|all| all.get(name)) {
                Some(value) => return WaitState::Done(format!("{}\n", plain(value))),
                None => match written::sensitive(&status, name) {
                    Some(place) => return WaitState::Elsewhere(in_one_line(&place)),
                    None => format!("no output {name} yet ({reason}){said}"),
                },
            }
        }
        WaitCondition::Finished => match result.filter(|_| !is_ahead) {
            Some(result) => return WaitState::Done(format!("{result:?}\n")),
            None => format!("{reason}{said}"),
        },
        WaitCondition::Ready if ready_is == "True" => return WaitState::Done("ready\n".to_owned()),
        WaitCondition::Ready => format!("Ready is {ready_is} ({reason}){said}"),
    };
    let scheduled = retry_scheduled(runnable);
    let is_held = !is_ahead && runnable.spec.suspend == Some(true) && has_retry_at(runnable);
    if let Some(scheduled) = scheduled.filter(|_| is_ahead) {
        return WaitState::Waiting(in_one_line(&scheduled.message));
    }
    if let Some(stalled) = stalled {
        return WaitState::InVain(stands_still(stalled));
    }
    if reason == Category::Suspended.as_str() || is_held {
        let why = "it is suspended, so its next run does not start (`cartouche resume`)";
        return WaitState::InVain(why.to_owned());
    }
    WaitState::Waiting(waiting)
}

#[cfg(test)]
mod tests;
