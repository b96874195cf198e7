//! What a container said at its end: the termination message of a pod, as a value.
//!
//! Kubernetes keeps the last words of a container (what it wrote to `/dev/termination-log`, at most
//! 4 KiB) in the status of its pod. Output paths of a template that runs Jobs or Pods read them under
//! `.terminationMessage`, a field that Cartouche adds to what it read: a JSON object if the message is
//! one, else the text.

use serde_json::Value;

use crate::{
    document::text,
    health::holding,
    kinds::{OutputSource, known_fields, known_fields_of},
    maker::Maker,
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

/// The pods that succeeded as pods of a Job, and how many of these the complete Job counts, if it counts fewer. The Job controller
/// counts no pod that it has not made or adopted: then a stranger's is among them, and nothing tells which.
#[must_use]
pub fn strangers_among(pods: &[Value], job: &Value) -> Option<(u64, u64)> {
    // Before that the count lags behind the pods.
    holding(job, "Complete")?;
    let counted = job.pointer("/status/succeeded").and_then(Value::as_u64);
    let (counted, found) = (counted.unwrap_or_default(), succeeded(job, pods).count());
    let found = u64::try_from(found).unwrap_or(u64::MAX);
    (found > counted).then_some((found, counted))
}

/// Whether pods of a Job succeeded and none of them is there any more: what they said is not missing, it is gone.
#[must_use]
pub fn is_message_gone(job: &Value, pods: &[Value]) -> bool {
    let count = job.pointer("/status/succeeded").and_then(Value::as_u64);
    count.is_some_and(|count| count > 0) && succeeded(job, pods).next().is_none()
}

/// The pods of a Job that succeeded. None that was made after its end.
fn succeeded<'a>(job: &Value, pods: &'a [Value]) -> impl Iterator<Item = &'a Value> {
    let end = job
        .pointer("/status/completionTime")
        .and_then(Value::as_str);
    let end = end.map(str::to_owned);
    ended_as("Succeeded", job, pods).filter(move |pod| {
        let made = pod
            .pointer("/metadata/creationTimestamp")
            .and_then(Value::as_str);
        // Times of Kubernetes are in UTC, to the second.
        end.as_deref()
            .zip(made)
            .is_none_or(|(end, made)| made <= end)
    })
}

/// Its pods in this phase.
fn ended_as<'a>(
    phase: &'static str,
    job: &Value,
    pods: &'a [Value],
) -> impl Iterator<Item = &'a Value> {
    let maker = Maker::of(job);
    pods.iter().filter(move |pod| {
        maker.as_ref().is_some_and(|maker| maker.made(pod))
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
            "metadata": {
                "labels": { "batch.kubernetes.io/controller-uid": owner },
                "ownerReferences": [{ "apiVersion": "batch/v1", "kind": "Job", "uid": owner, "controller": true }],
            },
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
    fn a_pod_that_only_names_the_job_as_an_owner_does_not_speak_for_it() {
        let mut stranger = pod("j", "Succeeded", "2026-01-01T00:00:09Z", "forged");
        stranger["metadata"]["ownerReferences"][0]["controller"] = json!(false);
        let mut run = job();
        let own = pod("j", "Succeeded", "2026-01-01T00:00:01Z", "genuine");
        add_message_of(&mut run, &[own, stranger.clone()]);
        assert_eq!(run["terminationMessage"], "genuine");
        let mut failed = job();
        stranger["status"]["phase"] = json!("Failed");
        super::add_message_of_failed(&mut failed, &[stranger]);
        assert_eq!(failed.get("terminationMessage"), None);
    }

    #[test]
    fn a_complete_job_that_counts_fewer_pods_than_succeeded_has_strangers_among_them() {
        let one = || pod("j", "Succeeded", "2026-01-01T00:00:01Z", "x");
        let of = |status: Value, pods: &[Value]| {
            let mut job = job();
            job["status"] = status;
            super::strangers_among(pods, &job)
        };
        let complete = |succeeded: Value| json!({ "succeeded": succeeded, "conditions": [{ "type": "Complete", "status": "True" }] });
        assert_eq!(of(complete(json!(1)), &[one()]), None);
        assert_eq!(of(complete(json!(2)), &[one()]), None);
        assert_eq!(of(complete(json!(1)), &[one(), one()]), Some((2, 1)));
        assert_eq!(of(complete(json!(null)), &[one()]), Some((1, 0)));
        // Its count lags before its end.
        assert_eq!(of(json!({ "active": 1 }), &[one()]), None);
    }

    #[test]
    fn no_pod_that_was_made_after_the_end_of_a_job_speaks_for_it() {
        let mut run = job();
        run["status"] = json!({ "succeeded": 1, "completionTime": "2026-01-01T00:00:09Z" });
        let made = |at: &str, said: &str| {
            let mut pod = pod("j", "Succeeded", "2026-01-01T00:01:00Z", said);
            pod["metadata"]["creationTimestamp"] = json!(at);
            pod
        };
        let late = made("2026-01-01T00:00:10Z", "late");
        add_message_of(&mut run, std::slice::from_ref(&late));
        assert_eq!(run.get("terminationMessage"), None);
        add_message_of(&mut run, &[made("2026-01-01T00:00:09Z", "own"), late]);
        assert_eq!(run["terminationMessage"], "own");
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
        stranger["metadata"]["ownerReferences"] =
            json!([{ "apiVersion": "batch/v1", "kind": "Job", "controller": true }]);
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
