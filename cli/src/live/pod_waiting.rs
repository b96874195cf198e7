//! The reason why a pod prints nothing yet.

use cartouche_authoring::foreign::in_one_line;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};

/// Reason why a pod waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodWaiting {
    /// Reason in one word; callers report a change of it.
    pub(crate) reason: String,
    /// Full text, for people.
    pub(crate) text: String,
}

/// Returns the reason why a pod waits, or `None` once a container is running or the pod has ended. A container with a
/// problem counts in any case.
pub(crate) fn pod_waiting(pod: &Pod) -> Option<PodWaiting> {
    let nobody = PodStatus::default();
    let status = pod.status.as_ref().unwrap_or(&nobody);
    if matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")) {
        return None;
    }
    unscheduled(status).or_else(|| unstarted(status))
}

/// Returns the reason if no node takes the pod.
fn unscheduled(status: &PodStatus) -> Option<PodWaiting> {
    let mut conditions = status.conditions.iter().flatten();
    let scheduled = conditions.find(|condition| condition.type_ == "PodScheduled")?;
    if scheduled.status != "False" {
        return None;
    }
    let reason = scheduled.reason.as_deref().unwrap_or("Unschedulable");
    Some(describe_wait(
        "not scheduled",
        reason,
        scheduled.message.as_deref(),
    ))
}

/// Returns the reason if a container waits, preferring one with a problem to one that is being prepared.
fn unstarted(status: &PodStatus) -> Option<PodWaiting> {
    let init = status.init_container_statuses.iter().flatten();
    let all: Vec<&ContainerStatus> = init
        .chain(status.container_statuses.iter().flatten())
        .collect();
    if all.is_empty() {
        let waiting = describe_wait("pending", "no container has been made yet", None);
        return Some(waiting);
    }
    let waiting = |container: &&ContainerStatus| {
        let waiting = container.state.as_ref()?.waiting.as_ref()?;
        let reason = waiting.reason.as_deref().unwrap_or("Waiting");
        let who = format!("container {}", container.name);
        Some(describe_wait(&who, reason, waiting.message.as_deref()))
    };
    let is_at_work = all.iter().any(|container| {
        let state = container.state.as_ref();
        state.is_some_and(|state| state.running.is_some())
    });
    let is_problem = |found: &PodWaiting| {
        !matches!(
            found.reason.as_str(),
            "PodInitializing" | "ContainerCreating"
        )
    };
    let waits: Vec<PodWaiting> = all.iter().filter_map(waiting).collect();
    let problem = waits.iter().find(|found| is_problem(found));
    match problem {
        Some(problem) => Some(problem.clone()),
        None if is_at_work => None,
        None => waits.first().cloned(),
    }
}

fn describe_wait(who: &str, reason: &str, message: Option<&str>) -> PodWaiting {
    let (reason, message) = (
        in_one_line(reason),
        in_one_line(message.unwrap_or_default()),
    );
    let text = match message.trim() {
        "" => format!("{who}: {reason}"),
        message => format!("{who}: {reason}: {message}"),
    };
    PodWaiting { reason, text }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn container(name: &str, state: &Value) -> Value {
        json!({ "name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state })
    }

    fn text(status: &Value) -> Option<String> {
        let pod = json!({ "metadata": { "name": "x" }, "status": status });
        pod_waiting(&serde_json::from_value(pod).unwrap()).map(|waiting| waiting.text)
    }

    fn waits(reason: &str, message: &str) -> Value {
        json!({ "waiting": { "reason": reason, "message": message } })
    }

    #[test]
    fn a_pod_that_no_node_takes_says_why() {
        let status = json!({ "phase": "Pending", "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/3 nodes are available: insufficient cpu",
        }] });
        let expected = "not scheduled: Unschedulable: 0/3 nodes are available: insufficient cpu";
        assert_eq!(text(&status).as_deref(), Some(expected));
    }

    #[test]
    fn a_container_with_a_problem_is_told_before_one_that_is_made_ready() {
        let status = json!({
            "initContainerStatuses": [container("fetch", &waits("ImagePullBackOff", "no\nsuch image"))],
            "containerStatuses": [container("build", &waits("PodInitializing", ""))],
        });
        let expected = "container fetch: ImagePullBackOff: no such image";
        assert_eq!(text(&status).as_deref(), Some(expected));
        let status = json!({ "containerStatuses": [
            container("build", &waits("ContainerCreating", "")),
            container("proxy", &waits("ErrImagePull", "")),
        ] });
        assert_eq!(
            text(&status).as_deref(),
            Some("container proxy: ErrImagePull")
        );
    }

    #[test]
    fn nothing_is_told_of_a_pod_that_is_at_work_or_has_ended() {
        let running = json!({
            "initContainerStatuses": [container("fetch", &json!({ "running": {} }))],
            "containerStatuses": [container("build", &waits("PodInitializing", ""))],
        });
        assert_eq!(text(&running), None);
        assert_eq!(text(&json!({ "phase": "Succeeded" })), None);
        let failed = json!({ "phase": "Failed", "containerStatuses": [
            container("build", &waits("ContainerCreating", "")),
        ] });
        assert_eq!(text(&failed), None);
    }

    #[test]
    fn a_pod_of_which_nothing_is_known_has_no_container_yet() {
        let expected = "pending: no container has been made yet";
        for status in [Value::Null, json!({ "phase": "Pending" })] {
            assert_eq!(text(&status).as_deref(), Some(expected));
        }
    }
}
