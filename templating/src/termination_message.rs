//! What a container said at its end: the termination message of a pod, as a value.
//!
//! Kubernetes keeps the last words of a container (what it wrote to `/dev/termination-log`, at most
//! 4 KiB) in the status of its pod. Output paths of a template that runs Jobs or Pods read them under
//! `.terminationMessage`, a field that Cartouche adds to what it read: a JSON object if the message is
//! one, else the text.

use serde_json::Value;

use crate::{
    document::text,
    kinds::{OutputSource, known_fields, known_fields_of},
};

/// The field that output paths read.
pub const TERMINATION_MESSAGE: &str = "terminationMessage";

/// Whether a run's message is in its pods: whether it is a Job.
#[must_use]
pub fn is_job(run: &Value) -> bool {
    has_message_in_pods(text(run, "apiVersion"), text(run, "kind"))
}

/// The same of runs of a kind. Such a run says next to nothing of its pods itself.
#[must_use]
pub fn has_message_in_pods(api_version: &str, kind: &str) -> bool {
    let known = known_fields(api_version, kind);
    known.is_some_and(|known| known.outputs == OutputSource::RunAndMessageOfPods)
}

/// Adds the termination message to a Pod that was read.
pub fn add_own_message(run: &mut Value) {
    let known = known_fields_of(run);
    if known.is_some_and(|known| known.outputs == OutputSource::RunAndItsMessage) {
        let message = message(run);
        put(run, message);
    }
}

/// Whether a pod is one of the Job with this uid. Anybody may give pods the labels of a Job: only its own
/// speak for it.
#[must_use]
pub fn is_pod_of(pod: &Value, job_uid: &str) -> bool {
    let owners = pod
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let mut uids = owners.into_iter().flatten().filter_map(|it| it.get("uid"));
    uids.any(|uid| uid == job_uid)
}

/// Adds the termination message of its pods to a Job that was read: that of the pod which succeeded
/// last.
pub fn add_message_of(job: &mut Value, pods: &[Value]) {
    let last = succeeded(job, pods).max_by_key(|pod| finished(pod));
    let message = last.and_then(message);
    put(job, message);
}

/// The same to a Job that failed: that of the pod which failed last.
pub fn add_message_of_failed(job: &mut Value, pods: &[Value]) {
    let last = ended_as("Failed", job, pods).max_by_key(|pod| finished(pod));
    let message = last.and_then(message);
    put(job, message);
}

/// Whether pods of a Job succeeded and none of them is there any more: what they said is not missing, it is gone.
#[must_use]
pub fn is_message_gone(job: &Value, pods: &[Value]) -> bool {
    let count = job.pointer("/status/succeeded").and_then(Value::as_u64);
    count.is_some_and(|count| count > 0) && succeeded(job, pods).next().is_none()
}

/// The pods of a Job that succeeded.
fn succeeded<'a>(job: &Value, pods: &'a [Value]) -> impl Iterator<Item = &'a Value> {
    ended_as("Succeeded", job, pods)
}

/// Its pods in this phase.
fn ended_as<'a>(
    phase: &'static str,
    job: &Value,
    pods: &'a [Value],
) -> impl Iterator<Item = &'a Value> {
    let uid = job.pointer("/metadata/uid").and_then(Value::as_str);
    pods.iter().filter(move |pod| {
        uid.is_some_and(|uid| is_pod_of(pod, uid))
            && pod.pointer("/status/phase").and_then(Value::as_str) == Some(phase)
    })
}

fn put(run: &mut Value, message: Option<Value>) {
    if let (Some(fields), Some(message)) = (run.as_object_mut(), message) {
        fields.insert(TERMINATION_MESSAGE.to_owned(), message);
    }
}

/// When the last of its containers ended; RFC 3339 in UTC sorts as text.
fn finished(pod: &Value) -> Option<&str> {
    ended(pod)
        .filter_map(|ended| ended.get("finishedAt")?.as_str())
        .max()
}

/// The first container that said anything.
fn message(pod: &Value) -> Option<Value> {
    let text = ended(pod)
        .filter_map(|ended| ended.get("message")?.as_str())
        .find(|text| !text.is_empty())?;
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => Some(object),
        _ => Some(Value::from(text.trim_end_matches('\n'))),
    }
}

fn ended(pod: &Value) -> impl Iterator<Item = &Value> {
    let statuses = pod
        .pointer("/status/containerStatuses")
        .and_then(Value::as_array);
    statuses
        .into_iter()
        .flatten()
        .filter_map(|status| status.pointer("/state/terminated"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{add_message_of, add_own_message};

    fn pod(owner: &str, phase: &str, finished: &str, message: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "ownerReferences": [{ "uid": owner }] },
            "status": { "phase": phase, "containerStatuses": [
                { "state": { "running": {} } },
                { "state": { "terminated": { "finishedAt": finished, "message": message } } },
            ] },
        })
    }

    fn job() -> Value {
        json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "uid": "j" } })
    }

    #[test]
    fn a_json_object_becomes_a_value_and_anything_else_is_text() {
        for (message, expected) in [
            (
                r#"{"digest":"sha256:1","size":3}"#,
                json!({"digest": "sha256:1", "size": 3}),
            ),
            ("done\n", json!("done")),
            ("3", json!("3")),
            ("{broken", json!("{broken")),
        ] {
            let mut run = pod("x", "Succeeded", "2026-01-01T00:00:00Z", message);
            add_own_message(&mut run);
            assert_eq!(run["terminationMessage"], expected, "{message}");
        }
    }

    #[test]
    fn a_job_speaks_by_its_own_pod_that_succeeded_last() {
        let mut run = job();
        add_message_of(
            &mut run,
            &[
                pod("j", "Succeeded", "2026-01-01T00:00:01Z", "first"),
                pod("j", "Succeeded", "2026-01-01T00:00:02Z", "second"),
                pod("j", "Failed", "2026-01-01T00:00:03Z", "failed"),
                pod("other", "Succeeded", "2026-01-01T00:00:04Z", "stranger"),
            ],
        );
        assert_eq!(run["terminationMessage"], "second");
    }

    #[test]
    fn a_job_that_failed_speaks_by_its_own_pod_that_failed_last() {
        let mut run = job();
        let pods = [
            pod("j", "Failed", "2026-01-01T00:00:01Z", "first"),
            pod("j", "Failed", "2026-01-01T00:00:02Z", "second"),
            pod("j", "Succeeded", "2026-01-01T00:00:03Z", "succeeded"),
            pod("other", "Failed", "2026-01-01T00:00:04Z", "stranger"),
        ];
        super::add_message_of_failed(&mut run, &pods);
        assert_eq!(run["terminationMessage"], "second");
    }

    #[test]
    fn an_owner_without_a_uid_is_no_job_without_a_uid() {
        let mut run = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": {} });
        let mut stranger = pod("j", "Succeeded", "2026-01-01T00:00:01Z", "stranger");
        stranger["metadata"]["ownerReferences"] = json!([{ "kind": "Job" }]);
        add_message_of(&mut run, &[stranger]);
        assert_eq!(run.get("terminationMessage"), None);
    }

    #[test]
    fn without_words_there_is_no_field() {
        let mut run = job();
        add_message_of(
            &mut run,
            &[pod("j", "Succeeded", "2026-01-01T00:00:01Z", "")],
        );
        assert_eq!(run.get("terminationMessage"), None);
    }
}
