//! Selection of Runnables.

use cartouche_crds::{
    Runnable,
    conditions::{FALSE, READY, RECONCILING, STALLED, TRUE},
};
use cartouche_engines::RunReason;
use clap::Args;
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Condition,
    jiff::{SignedDuration, Timestamp},
};

use crate::live::runs::{condition, retry_scheduled};

/// Strips the kind of a name as kubectl and `cartouche get -o name` write it: `runnable/NAME`.
pub(crate) fn plain(name: &str) -> &str {
    let kinds = [
        "runnable.carto.run/",
        "runnables.carto.run/",
        "runnable/",
        "runnables/",
        "run/",
    ];
    let mut kinds = kinds.into_iter();
    kinds
        .find_map(|kind| name.strip_prefix(kind))
        .unwrap_or(name)
}

/// Options that select Runnables. Each one narrows the selection.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SelectionArgs {
    /// Only Runnables with these labels, as for kubectl: key=value,other!=value
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with = "names", value_parser = not_blank)]
    pub(crate) selector: Option<String>,
    /// Only Runnables of this template
    #[arg(long, value_name = "NAME", conflicts_with = "names", value_parser = not_blank)]
    pub(crate) template: Option<String>,
    /// Only failed Runnables: Ready is False, or Stalled is True for another reason than a run that may still continue,
    /// and no retry is scheduled
    #[arg(long, conflicts_with = "names")]
    pub(crate) failed: bool,
}

/// Refuses an empty value: an empty variable in a script must not select the whole namespace.
fn not_blank(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("it is empty, which would select all: leave it out to select all".to_owned());
    }
    Ok(text.to_owned())
}

impl SelectionArgs {
    /// Returns true if the Runnable is selected. The API server has filtered by labels already.
    pub(crate) fn picks(&self, runnable: &Runnable) -> bool {
        self.is_of_template(runnable) && (!self.failed || has_failed(runnable))
    }

    /// Returns true if a list shows the Runnable. With `--failed` a list includes those whose run cannot begin or
    /// end. Other commands leave these alone, since the run may still go on.
    pub(crate) fn lists(&self, runnable: &Runnable) -> bool {
        let has_failed = || has_failed(runnable) || is_hindered(runnable, Timestamp::now());
        self.is_of_template(runnable) && (!self.failed || has_failed())
    }

    fn is_of_template(&self, runnable: &Runnable) -> bool {
        let of_template = |name: &String| *name == runnable.spec.run_template_ref.name;
        self.template.as_ref().is_none_or(of_template)
    }

    /// Returns true if no option is given, so that all Runnables are selected.
    pub(crate) fn is_empty(&self) -> bool {
        self.selector.is_none() && self.template.is_none() && !self.failed
    }
}

/// Returns true if Ready is False, or only a change can help. A Runnable whose next run is running has not failed,
/// nor has one with a scheduled retry.
fn has_failed(runnable: &Runnable) -> bool {
    let is_unready = condition(runnable, READY).is_some_and(|it| it.status == FALSE);
    let is_stalled = holds(runnable, STALLED).is_some_and(|it| !is_hindrance(&it.reason));
    (is_unready || is_stalled) && retry_scheduled(runnable).is_none()
}

/// Time that a condition has to report a hindered run before it counts. The controller reads the pods of a Job
/// half a minute after the run began.
const HINDERED_FOR: SignedDuration = SignedDuration::from_secs(30);

/// Returns true if the run can neither begin nor end, and has not for about a minute: `docs/reference/reasons.md`,
/// "Reasons of Ready for a run".
fn is_hindered(runnable: &Runnable, now: Timestamp) -> bool {
    let is_for_long =
        |it: &Condition| now.duration_since(it.last_transition_time.0) >= HINDERED_FOR;
    let stalled = holds(runnable, STALLED);
    let reconciling = holds(runnable, RECONCILING).filter(|it| is_for_long(it));
    let mut either = stalled.into_iter().chain(reconciling);
    either.any(|it| is_hindrance(&it.reason))
}

/// Returns a condition if it is True.
fn holds<'a>(runnable: &'a Runnable, name: &str) -> Option<&'a Condition> {
    condition(runnable, name).filter(|it| it.status == TRUE)
}

fn is_hindrance(reason: &str) -> bool {
    RunReason::parse(reason).is_some_and(RunReason::is_hindrance)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn runnable(conditions: &[(&str, &str)]) -> Runnable {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(name, status)| {
                json!({
                    "type": name, "status": status, "reason": "R", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                })
            })
            .collect();
        serde_json::from_value(json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "hello" },
            "spec": { "runTemplateRef": { "name": "greet" } },
            "status": { "conditions": conditions },
        }))
        .unwrap()
    }

    #[test]
    fn failed_is_what_is_not_ready_and_what_only_a_change_can_help() {
        let failed = SelectionArgs {
            failed: true,
            ..SelectionArgs::default()
        };
        assert!(failed.picks(&runnable(&[("Ready", "False")])));
        assert!(failed.picks(&runnable(&[("Ready", "Unknown"), ("Stalled", "True")])));
        assert!(!failed.picks(&runnable(&[("Ready", "Unknown"), ("Reconciling", "True")])));
        assert!(!failed.picks(&runnable(&[("Ready", "True")])));
        assert!(!failed.picks(&runnable(&[])));
    }

    #[test]
    fn what_is_going_to_be_tried_again_has_not_failed() {
        let failed = SelectionArgs {
            failed: true,
            ..SelectionArgs::default()
        };
        let mut retried = runnable(&[("Ready", "False"), ("Reconciling", "True")]);
        assert!(failed.picks(&retried));
        let status = retried.status.as_mut().unwrap();
        status.conditions[1].reason = "RetryScheduled".to_owned();
        assert!(!failed.picks(&retried));
    }

    #[test]
    fn a_list_of_what_failed_has_what_is_held_up_for_a_while_and_nothing_is_done_to_it() {
        let failed = SelectionArgs {
            failed: true,
            ..SelectionArgs::default()
        };
        let mut held_up = runnable(&[("Ready", "Unknown"), ("Reconciling", "True")]);
        let because = |runnable: &mut Runnable, reason: &str| {
            let status = runnable.status.as_mut().unwrap();
            reason.clone_into(&mut status.conditions[1].reason);
        };
        assert!(!failed.lists(&held_up));
        because(&mut held_up, "ImagePullBackOff");
        assert!(failed.lists(&held_up));
        assert!(!failed.picks(&held_up));
        let since = condition(&held_up, RECONCILING)
            .unwrap()
            .last_transition_time
            .0;
        assert!(!is_hindered(
            &held_up,
            since + SignedDuration::from_secs(29)
        ));
        let mut stalled = held_up.clone();
        stalled.status.as_mut().unwrap().conditions[1].type_ = STALLED.to_owned();
        assert!(failed.lists(&stalled));
        assert!(!failed.picks(&stalled));
        because(&mut held_up, "OOMKilled");
        assert!(!failed.lists(&held_up));
        assert!(failed.lists(&runnable(&[("Ready", "False")])));
    }

    #[test]
    fn each_part_narrows_the_choice() {
        let of = |template: &str, failed| SelectionArgs {
            template: Some(template.to_owned()),
            failed,
            ..SelectionArgs::default()
        };
        let good = runnable(&[("Ready", "True")]);
        assert!(of("greet", false).picks(&good));
        assert!(!of("other", false).picks(&good));
        assert!(!of("greet", true).picks(&good));
        assert!(SelectionArgs::default().picks(&good));
    }
}
