//! The end of a run, from its object.

use cartouche_language::object::{SUCCEEDED, conditions, holding, text};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use crate::{
    kinds::{self, HealthFrom, PodsOf},
    verdict::Verdict,
};

/// Returns the time when a run of that `apiVersion` and kind ended: from the last transition of the deciding
/// condition, or from the equivalent of its kind. Returns `None` if it has not ended, or the time is unknown.
#[must_use]
pub fn ended_at((api_version, kind): (&str, &str), run: &Value) -> Option<Timestamp> {
    let mut decided = conditions(run, SUCCEEDED);
    if let Some(condition) = decided.next() {
        let is_one = decided.next().is_none();
        let has_ended = is_one && matches!(text(condition, "status"), "True" | "False");
        return has_ended.then(|| transition(condition)).flatten();
    }
    let known = kinds::find_kind(api_version, kind)?;
    match known.health {
        // For an existing object, a rule of the template may find another end.
        HealthFrom::SucceededCondition | HealthFrom::Existence => None,
        HealthFrom::Conditions { decisive, .. } => {
            let ended = decisive.iter().filter(|(_, is)| *is != Verdict::Unknown);
            let mut holding = ended.filter_map(|(kind, _)| holding(run, kind));
            transition(holding.next()?)
        }
        HealthFrom::Phase { failures, .. } => {
            let status = run.get("status")?;
            let phase = text(status, "phase");
            let has_ended = phase == "Succeeded" || failures.contains(&phase);
            let ended = match known.pods {
                PodsOf::Itself => last_container(status),
                PodsOf::Labelled(_) | PodsOf::Unknown => time(status, "finishedAt"),
            };
            ended.filter(|_| has_ended)
        }
    }
}

fn transition(condition: &Value) -> Option<Timestamp> {
    time(condition, "lastTransitionTime")
}

fn time(value: &Value, field: &str) -> Option<Timestamp> {
    text(value, field).parse().ok()
}

/// Returns the time when the last container of a Pod ended.
fn last_container(status: &Value) -> Option<Timestamp> {
    let containers = status.get("containerStatuses")?.as_array()?;
    let ended = containers.iter().map(|container| {
        let terminated = container.pointer("/state/terminated")?;
        time(terminated, "finishedAt")
    });
    // If one has no time, the last is unknown.
    let ended: Option<Vec<Timestamp>> = ended.collect();
    ended?.into_iter().max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const END: &str = "2026-01-01T00:00:07Z";

    fn ended(api_version: &str, kind: &str, run: &Value) -> Option<String> {
        ended_at((api_version, kind), run).map(|at| at.to_string())
    }

    fn with_condition(kind: &str, status: &str) -> Value {
        json!({ "status": { "conditions": [
            { "type": "Started", "status": "True", "lastTransitionTime": "2026-01-01T00:00:01Z" },
            { "type": kind, "status": status, "lastTransitionTime": END },
        ] } })
    }

    #[test]
    fn a_run_that_has_ended_says_when_in_the_way_of_its_kind() {
        let end = Some(END.to_owned());
        for kind in ["Complete", "Failed"] {
            let job = with_condition(kind, "True");
            assert_eq!(ended("batch/v1", "Job", &job), end, "{kind}");
        }
        for status in ["True", "False"] {
            let run = with_condition("Succeeded", status);
            assert_eq!(ended("tekton.dev/v1", "TaskRun", &run), end);
            assert_eq!(ended("example.dev/v1", "Build", &run), end);
        }
        let workflow = json!({ "status": { "phase": "Error", "finishedAt": END } });
        let argo = "argoproj.io/v1alpha1";
        assert_eq!(ended(argo, "Workflow", &workflow), end);
        let container = |at: &str| json!({ "state": { "terminated": { "finishedAt": at } } });
        let pod = json!({ "status": {
            "phase": "Succeeded",
            "containerStatuses": [container(END), container("2026-01-01T00:00:02Z")],
        } });
        assert_eq!(ended("v1", "Pod", &pod), end);
    }

    #[test]
    fn of_a_run_at_work_and_of_one_that_does_not_say_it_nothing_is_made_up() {
        for kind in ["FailureTarget", "Suspended"] {
            assert_eq!(
                ended("batch/v1", "Job", &with_condition(kind, "True")),
                None
            );
        }
        let unknown = with_condition("Succeeded", "Unknown");
        assert_eq!(ended("tekton.dev/v1", "TaskRun", &unknown), None);
        let pod = json!({ "status": { "phase": "Failed", "containerStatuses": [{}] } });
        assert_eq!(ended("v1", "Pod", &pod), None);
        let workflow = json!({ "status": { "phase": "Running", "finishedAt": END } });
        let argo = "argoproj.io/v1alpha1";
        assert_eq!(ended(argo, "Workflow", &workflow), None);
        assert_eq!(ended("example.dev/v1", "Build", &json!({})), None);
        let untimed =
            json!({ "status": { "conditions": [{ "type": "Failed", "status": "True" }] } });
        assert_eq!(ended("batch/v1", "Job", &untimed), None);
        let map = json!({ "metadata": { "creationTimestamp": END } });
        assert_eq!(ended("v1", "ConfigMap", &map), None);
    }
}
