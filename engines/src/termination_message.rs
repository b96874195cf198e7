//! The termination message of a pod, as a value.
//!
//! Kubernetes keeps the last words of a container (its text in `/dev/termination-log`, at most 4 KiB) in the
//! status of its pod. Output paths of a template that runs Jobs or Pods read them under `.terminationMessage`, a
//! field that Cartouche adds to the object that it read: a JSON object if the message is one, else the text.

use cartouche_crds::plain_json;
use cartouche_language::{
    CLOCKS, TERMINATION_MESSAGE,
    object::{holding, text},
};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use crate::{
    kinds::{OutputSource, known_fields, known_fields_of},
    maker::Maker,
};

/// Maximum bytes of a message that is parsed as JSON: the kubelet keeps 4 KiB of one container, and 12 KiB of all.
const MOST_BYTES: usize = 12 * 1024;

/// Returns true if a run's message is in its pods: if it is a Job.
#[must_use]
pub fn is_job(run: &Value) -> bool {
    has_message_in_pods(text(run, "apiVersion"), text(run, "kind"))
}

/// Returns the same for runs of a kind. Such a run itself reports next to nothing about its pods.
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

/// The pods of a Job that have ended. Only this is held, however many and however large the pods are.
#[derive(Clone, Debug)]
pub struct EndedPods {
    maker: Option<Maker>,
    /// The end of the Job. No pod that was created later speaks for it.
    end: Option<Timestamp>,
    succeeded: u64,
    last_succeeded: Option<LastWords>,
    last_failed: Option<LastWords>,
}

#[derive(Clone, Debug)]
struct LastWords {
    finished: Option<String>,
    message: Option<Value>,
}

impl EndedPods {
    /// Creates a collector for the pods of this Job.
    #[must_use]
    pub fn from_job(job: &Value) -> Self {
        let completed = job.pointer("/status/completionTime");
        let failed = || holding(job, "Failed")?.get("lastTransitionTime");
        let end = completed.or_else(failed).and_then(Value::as_str);
        Self {
            maker: Maker::from_run(job),
            end: end.and_then(|end| end.parse().ok()),
            succeeded: 0,
            last_succeeded: None,
            last_failed: None,
        }
    }

    /// Takes in a pod, and returns true if it is the Job's. A foreign or unfinished one changes nothing.
    pub fn hear(&mut self, pod: &Value) -> bool {
        let is_own = self
            .maker
            .as_ref()
            .is_some_and(|maker| maker.has_created(pod));
        if is_own && !self.is_late(pod) {
            self.hear_own(pod);
        }
        is_own
    }

    fn hear_own(&mut self, pod: &Value) {
        let last = match pod.pointer("/status/phase").and_then(Value::as_str) {
            Some("Succeeded") => {
                self.succeeded += 1;
                &mut self.last_succeeded
            }
            Some("Failed") => &mut self.last_failed,
            _ => return,
        };
        let finished = finished(pod);
        let known = last.as_ref();
        if known.is_none_or(|known| known.finished.as_deref() <= finished) {
            *last = Some(LastWords {
                finished: finished.map(str::to_owned),
                message: message(pod),
            });
        }
    }

    /// Returns true if the pod was created after the end of the Job, allowing for different clocks, or at an
    /// unknown time. The API server records the creation of a pod, and the Job controller the end of a Job.
    fn is_late(&self, pod: &Value) -> bool {
        let Some(end) = self.end else {
            return false;
        };
        let made = pod.pointer("/metadata/creationTimestamp");
        let made: Option<Timestamp> = made.and_then(Value::as_str).and_then(|it| it.parse().ok());
        let last = end.checked_add(CLOCKS).unwrap_or(Timestamp::MAX);
        made.is_none_or(|made| made > last)
    }
}

/// Adds the termination message of its pods to a Job that was read: that of the pod which succeeded last.
pub fn add_message_of(job: &mut Value, pods: EndedPods) {
    put(job, pods.last_succeeded.and_then(|it| it.message));
}

/// Adds the termination message of its pods to a Job that failed: that of the pod which failed last.
pub fn add_message_of_failed(job: &mut Value, pods: EndedPods) {
    put(job, pods.last_failed.and_then(|it| it.message));
}

/// Returns the number of pods that succeeded, and the lower number that the complete Job counts, or `None` if it
/// is not lower. The Job controller counts no pod that it has not created or adopted: then a foreign one is among
/// them, and it cannot be identified.
#[must_use]
pub fn strangers_among(pods: &EndedPods, job: &Value) -> Option<(u64, u64)> {
    // Before that the count lags behind the pods.
    holding(job, "Complete")?;
    let counted = job.pointer("/status/succeeded").and_then(Value::as_u64);
    let (counted, found) = (counted.unwrap_or_default(), pods.succeeded);
    (found > counted).then_some((found, counted))
}

/// Returns true if pods of a Job succeeded and none of them exists any more: their message is not missing, it is
/// gone.
#[must_use]
pub fn is_message_gone(job: &Value, pods: &EndedPods) -> bool {
    let count = job.pointer("/status/succeeded").and_then(Value::as_u64);
    count.is_some_and(|count| count > 0) && pods.succeeded == 0
}

fn put(run: &mut Value, message: Option<Value>) {
    if let (Some(fields), Some(message)) = (run.as_object_mut(), message) {
        fields.insert(TERMINATION_MESSAGE.to_owned(), message);
    }
}

/// Returns the time when the last of its containers ended; RFC 3339 in UTC sorts as text.
fn finished(pod: &Value) -> Option<&str> {
    ended(pod)
        .filter_map(|ended| ended.get("finishedAt")?.as_str())
        .max()
}

/// Returns the message of the first container that has one.
fn message(pod: &Value) -> Option<Value> {
    let text = ended(pod)
        .filter_map(|ended| ended.get("message")?.as_str())
        .find(|text| !text.is_empty())?;
    // A longer one is not the kubelet's, and may be a tree that takes far more than its text.
    let object = (text.len() <= MOST_BYTES).then(|| plain_json(text));
    match object {
        Some(Ok(object @ Value::Object(_))) => Some(object),
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

    use super::{EndedPods, add_own_message, strangers_among};

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

    fn heard(job: &Value, pods: &[Value]) -> EndedPods {
        let mut heard = EndedPods::from_job(job);
        for pod in pods {
            heard.hear(pod);
        }
        heard
    }

    fn add_message_of(job: &mut Value, pods: &[Value]) {
        let pods = heard(job, pods);
        super::add_message_of(job, pods);
    }

    fn add_message_of_failed(job: &mut Value, pods: &[Value]) {
        let pods = heard(job, pods);
        super::add_message_of_failed(job, pods);
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
            ("value:\n  a: b\n", json!("value:\n  a: b")),
        ] {
            let mut run = pod("x", "Succeeded", "2026-01-01T00:00:00Z", message);
            add_own_message(&mut run);
            assert_eq!(run["terminationMessage"], expected, "{message}");
        }
    }

    #[test]
    fn a_message_that_is_longer_than_any_of_the_kubelet_stays_text() {
        let long = format!("{{\"a\":[{}]}}", "[],".repeat(10_000) + "[]");
        let mut run = pod("x", "Succeeded", "2026-01-01T00:00:00Z", &long);
        add_own_message(&mut run);
        assert_eq!(run["terminationMessage"], long);
    }

    #[test]
    fn of_any_number_of_pods_only_the_last_words_are_held() {
        let mut heard = EndedPods::from_job(&job());
        let mut pod = pod("j", "Succeeded", "2026-01-01T00:00:01Z", "said");
        for n in 0..1_000 {
            pod["metadata"]["labels"][format!("l{n}")] = json!("x");
        }
        for _ in 0..100 {
            heard.hear(&pod);
        }
        assert_eq!(heard.succeeded, 100);
        assert!(format!("{heard:?}").len() < 1_000);
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
        add_message_of_failed(&mut failed, &[stranger]);
        assert_eq!(failed.get("terminationMessage"), None);
    }

    #[test]
    fn a_complete_job_that_counts_fewer_pods_than_succeeded_has_strangers_among_them() {
        let one = || pod("j", "Succeeded", "2026-01-01T00:00:01Z", "x");
        let of = |status: Value, pods: &[Value]| {
            let mut job = job();
            job["status"] = status;
            strangers_among(&heard(&job, pods), &job)
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
        let late = made("2026-01-01T00:00:40Z", "late");
        add_message_of(&mut run, std::slice::from_ref(&late));
        assert_eq!(run.get("terminationMessage"), None);
        // The clock of the Job controller may be behind.
        add_message_of(&mut run, &[made("2026-01-01T00:00:39Z", "own"), late]);
        assert_eq!(run["terminationMessage"], "own");
        // The time of its creation is unknown.
        let mut run = job();
        run["status"] = json!({ "completionTime": "2026-01-01T00:00:09Z" });
        add_message_of(
            &mut run,
            &[pod("j", "Succeeded", "2026-01-01T00:00:01Z", "x")],
        );
        assert_eq!(run.get("terminationMessage"), None);
        let mut failed = job();
        let condition = json!({ "type": "Failed", "status": "True", "lastTransitionTime": "2026-01-01T00:00:09Z" });
        failed["status"] = json!({ "conditions": [condition] });
        let mut pods = [
            made("2026-01-01T00:00:08Z", "own"),
            made("2026-01-01T00:00:40Z", "late"),
        ];
        for pod in &mut pods {
            pod["status"]["phase"] = json!("Failed");
        }
        add_message_of_failed(&mut failed, &pods);
        assert_eq!(failed["terminationMessage"], "own");
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
        add_message_of_failed(&mut run, &pods);
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
