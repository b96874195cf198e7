//! Which Runnables are meant.

use cartouche_crds::Runnable;
use cartouche_engines::RunReason;
use cartouche_protocol::conditions::{FALSE, READY, RECONCILING, STALLED, TRUE};
use clap::Args;
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Condition,
    jiff::{SignedDuration, Timestamp},
};

use crate::live::runs::{condition, retry_scheduled};

/// A name as kubectl, and `cartouche get -o name`, write it: `runnable/NAME`.
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

/// What the Runnables that are meant have in common. Each part narrows the choice.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SelectionArgs {
    /// Only those with these labels, as kubectl has it: key=value,other!=value
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with = "names", value_parser = not_blank)]
    pub(crate) selector: Option<String>,
    /// Only those of this template
    #[arg(long, value_name = "NAME", conflicts_with = "names", value_parser = not_blank)]
    pub(crate) template: Option<String>,
    /// Only those that have failed: Ready is False, or Stalled is True, and no further attempt is scheduled
    #[arg(long, conflicts_with = "names")]
    pub(crate) failed: bool,
}

/// A script whose variable is empty does not mean all of the namespace.
fn not_blank(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err(
            "it is empty, which would choose all: leave it out if all are meant".to_owned(),
        );
    }
    Ok(text.to_owned())
}

impl SelectionArgs {
    /// True of a Runnable that is meant; the API server has looked at its labels.
    pub(crate) fn picks(&self, runnable: &Runnable) -> bool {
        self.is_of_template(runnable) && (!self.failed || has_failed(runnable))
    }

    /// True of a Runnable that a list shows. Among the failed ones are those whose run does not begin or end: of these a list tells, and
    /// nothing is done to them, since the run may still go on.
    pub(crate) fn lists(&self, runnable: &Runnable) -> bool {
        let has_failed = || has_failed(runnable) || is_hindered(runnable, Timestamp::now());
        self.is_of_template(runnable) && (!self.failed || has_failed())
    }

    fn is_of_template(&self, runnable: &Runnable) -> bool {
        let of_template = |name: &String| *name == runnable.spec.run_template_ref.name;
        self.template.as_ref().is_none_or(of_template)
    }

    /// Whether all are meant.
    pub(crate) fn is_empty(&self) -> bool {
        self.selector.is_none() && self.template.is_none() && !self.failed
    }
}

/// Ready is False, or only a change can help. One whose next run is at work has not failed, nor one that is going to
/// be tried again.
fn has_failed(runnable: &Runnable) -> bool {
    let is_unready = condition(runnable, READY).is_some_and(|it| it.status == FALSE);
    let is_stalled = holds(runnable, STALLED).is_some_and(|it| !is_hindrance(&it.reason));
    (is_unready || is_stalled) && retry_scheduled(runnable).is_none()
}

/// The time for which a condition says that something hinders a run before it counts. The controller looks at the pods of a Job half a
/// minute after the run began.
const HINDERED_FOR: SignedDuration = SignedDuration::from_secs(30);

/// True if the run can neither begin nor end, and has not for about a minute: `docs/troubleshooting.md`, "Reasons of Ready for a run".
fn is_hindered(runnable: &Runnable, now: Timestamp) -> bool {
    let is_for_long =
        |it: &Condition| now.duration_since(it.last_transition_time.0) >= HINDERED_FOR;
    let stalled = holds(runnable, STALLED);
    let reconciling = holds(runnable, RECONCILING).filter(|it| is_for_long(it));
    let mut either = stalled.into_iter().chain(reconciling);
    either.any(|it| is_hindrance(&it.reason))
}

/// A condition that is True.
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
