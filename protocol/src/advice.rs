//! Advice about a condition, for users who ask for the reason.

use std::borrow::Cow;

use cartouche_crds::{
    RunnableStatus, StopReason,
    conditions::{FALSE, READY, RUN_LOST, RUN_TEMPLATE_READY, find},
};
use cartouche_engines::{remedy, remedy_at_work};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::{
    ledger::explanation::{PODS_GONE, format_failure},
    messages::format::MessageParts,
    status::{is_at_work, said_of_run},
};

const LOOK: &str =
    "look at the run (`cartouche logs`), change what is wrong, or run again: `cartouche rerun`";
/// Pods that are gone have no log.
const WATCH: &str = "change what is wrong, or run again and watch it: `cartouche rerun`, then `cartouche logs --follow`";
const GIVE_TIME: &str = "find out why it takes so long, or raise activeDeadlineSeconds in the template; without a change, run it again: `cartouche rerun`";
const RAISE_TIMEOUT: &str = "find out why it takes so long, or raise spec.timeout of the Runnable and of its template, and run again: `cartouche rerun`";
const STOPPED: &str =
    "run it again when it may run: `cartouche rerun`; a change starts a run by itself";

/// Returns the advice about the condition that keeps a Runnable from being ready, or `None` if
/// there is none.
///
/// The condition of the template contains its own. The advice about a run follows from its result,
/// or from what it waits for, never from the words of its engine or of a container.
#[must_use]
pub fn advice<'a>(status: &RunnableStatus, blocking: &'a Condition) -> Option<Cow<'a, str>> {
    if blocking.type_ == RUN_TEMPLATE_READY {
        let parts = MessageParts::parse(&blocking.message);
        let unsaid = "correct what the message names, in the Runnable or in its template";
        return Some(parts.to_do.unwrap_or(unsaid).into());
    }
    of_run(status, blocking).map(|advice| with_profile(advice, status))
}

/// Returns the advice about a run, which is the same for every profile.
fn of_run(status: &RunnableStatus, blocking: &Condition) -> Option<&'static str> {
    let said = said_of_run(status).unwrap_or_default();
    if blocking.reason == RUN_LOST {
        Some("decide whether it should run again: `cartouche rerun`")
    } else if blocking.status == FALSE {
        Some(of_failure(status, said))
    } else if find(status, READY).is_some_and(|it| is_at_work(&it.status, &it.reason)) {
        remedy_at_work(said)
    } else {
        Some("wait until the run ends, or check that its engine is running")
    }
}

/// Adds that the run has a profile: a change of the template alone might have no effect, and a
/// change of the profile makes no run.
fn with_profile<'a>(advice: &'a str, status: &RunnableStatus) -> Cow<'a, str> {
    match &status.profile {
        Some(profile) if advice.contains("in the template") => Cow::Owned(format!(
            "{advice}; ClusterRunProfile {:?} overrides the template, and a correction of the profile makes no run by itself: `cartouche rerun` requests one",
            profile.name
        )),
        _ => Cow::Borrowed(advice),
    }
}

fn of_failure(status: &RunnableStatus, said: &str) -> &'static str {
    let run = status.current_run.as_ref();
    match run.and_then(|run| run.stop.as_ref()).map(|it| &it.reason) {
        Some(StopReason::Cancelled) => return STOPPED,
        Some(StopReason::TimedOut) => return RAISE_TIMEOUT,
        _ => {}
    }
    let is_late = |kind: &str| said.starts_with(&format_failure(kind, "DeadlineExceeded"));
    if run.is_some_and(|run| is_late(&run.kind)) {
        return GIVE_TIME;
    }
    let is_gone = said.ends_with(PODS_GONE);
    remedy(said).unwrap_or(if is_gone { WATCH } else { LOOK })
}

#[cfg(test)]
mod tests {
    use cartouche_crds::conditions::{RUN_IN_PROGRESS, STAMPED_OBJECT_CONDITION};
    use serde_json::{Value, json};

    use super::*;
    use crate::messages::diagnosis::Diagnosis;

    fn condition(name: &str, status: &str, reason: &str, message: &str) -> Value {
        json!({
            "type": name, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    }

    fn status(conditions: &[Value], run: &Value) -> RunnableStatus {
        let mut status = json!({ "conditions": conditions });
        if !run.is_null() {
            status["currentRun"] = run.clone();
        }
        serde_json::from_value(status).unwrap()
    }

    /// Returns the advice about a Job with this message in Ready.
    fn of_job(verdict: &str, said: &str, stop: Option<&str>) -> Option<String> {
        let mut run = json!({
            "sequence": 1, "name": "r", "inputHash": "v1:a", "apiVersion": "batch/v1", "kind": "Job",
            "phase": "Created",
        });
        if let Some(reason) = stop {
            run["stop"] = json!({ "reason": reason, "at": "2026-01-01T00:00:00Z" });
        }
        let reason = if verdict == FALSE {
            "JobCondition"
        } else {
            RUN_IN_PROGRESS
        };
        let conditions = [
            condition(
                STAMPED_OBJECT_CONDITION,
                verdict,
                "JobCondition",
                "it burned",
            ),
            condition(READY, verdict, reason, said),
        ];
        let status = status(&conditions, &run);
        advice(&status, &status.conditions[0]).map(Cow::into_owned)
    }

    fn of_failure(said: &str, stop: Option<&str>) -> String {
        of_job(FALSE, said, stop).unwrap()
    }

    #[test]
    fn the_advice_of_a_condition_is_that_of_what_is_wrong() {
        let missing = Diagnosis::TemplateMissing("t".to_owned());
        let message = missing.message(Some("not found"));
        let said = condition(RUN_TEMPLATE_READY, FALSE, "Any", &message);
        let status = status(&[said], &Value::Null);
        let advised = advice(&status, &status.conditions[0]);
        assert_eq!(advised.as_deref(), Some(&*missing.cure()));
    }

    #[test]
    fn what_a_run_says_is_no_advice() {
        assert_eq!(of_failure("it burned; to do: curl | sh", None), LOOK);
    }

    #[test]
    fn what_to_do_about_a_failure_follows_from_its_cause() {
        let burned = "Job failed (BackoffLimitExceeded): container a of pod b exited 1: it burned";
        let memory =
            "Job failed (BackoffLimitExceeded): container a of pod b exited 137 (OOMKilled)";
        let late = "Job failed (DeadlineExceeded): it was late";
        assert_eq!(of_failure(burned, None), LOOK);
        assert_eq!(Some(&*of_failure(memory, None)), remedy(memory));
        assert_eq!(of_failure(late, None), GIVE_TIME);
        let gone = "Job failed (BackoffLimitExceeded): it burned; ".to_owned() + PODS_GONE;
        assert_eq!(of_failure(&gone, None), WATCH);
    }

    #[test]
    fn where_a_profile_may_be_to_blame_it_is_named() {
        let pod = "pod x cannot be scheduled: 0/3 nodes are available";
        let conditions = [
            condition(STAMPED_OBJECT_CONDITION, "Unknown", "Unknown", ""),
            condition(READY, "Unknown", "Unschedulable", pod),
        ];
        let mut status = status(&conditions, &Value::Null);
        let advised =
            |status: &RunnableStatus| advice(status, &status.conditions[0]).unwrap().into_owned();
        assert!(!advised(&status).contains("ClusterRunProfile"));
        status.profile = serde_json::from_value(json!({ "name": "tiny" })).unwrap();
        let said = advised(&status);
        assert!(
            said.contains("; ClusterRunProfile \"tiny\" overrides the template, and"),
            "{said}"
        );
        assert!(said.ends_with("makes no run by itself: `cartouche rerun` requests one"));
        status.conditions[1].reason = "InvalidImageName".to_owned();
        status.conditions[1].message =
            "container a of pod x cannot be started (InvalidImageName)".to_owned();
        let said = advised(&status);
        assert!(
            said.contains("ClusterRunProfile \"tiny\" overrides"),
            "{said}"
        );
    }

    #[test]
    fn nothing_is_wrong_with_a_run_that_was_stopped() {
        let late = "Job failed (DeadlineExceeded): stopped by somebody; the Job says: it was late";
        assert_eq!(of_failure(late, Some("Cancelled")), STOPPED);
        assert_eq!(of_failure(late, Some("TimedOut")), RAISE_TIMEOUT);
        assert_eq!(of_failure(late, Some("Replaced")), GIVE_TIME);
    }

    #[test]
    fn of_a_run_at_work_it_is_said_what_lets_it_go_on_if_that_is_known() {
        let pod = "pod x cannot be scheduled: 0/3 nodes are available";
        assert_eq!(of_job("Unknown", pod, None).as_deref(), remedy(pod));
        assert!(remedy(pod).is_some());
        assert_eq!(of_job("Unknown", "", None), None);
    }
}
