//! Reports about a Job that should have created pods and has none.

use cartouche_language::CLOCKS;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::{Said, event::cure_of_event, start};
use crate::run_reason::RunReason;

const NO_POD: &str = " has made no pod yet: ";
const CAUSES: &str = "read the events of the Job (`kubectl describe job`): the cause is mostly a quota, Pod Security or a missing ServiceAccount";
// Words around the name of a Job whose events were not read.
const UNKNOWN: &str = "`kubectl describe job ";
const SHOWS_WHY: &str = "` shows why";
/// The reason of the event with the cause.
const FAILED_CREATE: &str = "FailedCreate";
/// The component that publishes the event.
const CONTROLLER: &str = "job-controller";

/// Reports that a Job has no pod. Its events contain the cause, but the Runnable's account may lack permission to
/// read them.
#[must_use]
pub fn no_pod_yet(namespace: &str, job: &str) -> String {
    format!("Job {job}{NO_POD}{UNKNOWN}{job} -n {namespace}{SHOWS_WHY}")
}

/// Reports that a Job has no pod, with the cause in the words of an event.
#[must_use]
pub fn no_pod_because(job: &str, message: &str) -> Said {
    // The name of the pod that was not created differs each time.
    let marks = [" is forbidden: ", " is invalid: "];
    let why = marks.iter().find_map(|mark| message.split_once(mark));
    let why = why.map(|(_, why)| why);
    let why = why.or_else(|| message.strip_prefix("Error creating: "));
    let words = format!("Job {job}{NO_POD}{}", start(why.unwrap_or(message)));
    Said::new(words, RunReason::NoPodYet)
}

/// Returns the time, as text that sorts, and the message of an event, if it is the reason why a Job creates no
/// pod. Every account that may create events may forge one. It counts if it names the Job controller, and is not
/// later than `now`.
#[must_use]
pub fn why_no_pod(event: &Value, kind: &str, now: Timestamp) -> Option<(String, String)> {
    let text = |path: &str| event.pointer(path)?.as_str().map(str::to_owned);
    let is = |path: &str, wanted: &str| event.pointer(path).and_then(Value::as_str) == Some(wanted);
    let is_of_controller =
        is("/source/component", CONTROLLER) || is("/reportingComponent", CONTROLLER);
    if !is("/reason", FAILED_CREATE) || !is("/involvedObject/kind", kind) || !is_of_controller {
        return None;
    }
    let at = [
        "/lastTimestamp",
        "/eventTime",
        "/metadata/creationTimestamp",
    ];
    let at = at.into_iter().find_map(text)?;
    let latest = now.checked_add(CLOCKS).unwrap_or(Timestamp::MAX);
    let is_past = at.parse::<Timestamp>().is_ok_and(|at| at <= latest);
    is_past.then_some((at, text("/message")?))
}

/// Returns the cure for a report about a Job without pods. The name of a Job has no blanks, so no container can
/// forge it.
pub(super) fn cure(said: &str) -> Option<&'static str> {
    let (job, why) = said.strip_prefix("Job ")?.split_once(NO_POD)?;
    if job.contains(' ') {
        return None;
    }
    let is_unknown = why.starts_with(UNKNOWN) && why.ends_with(SHOWS_WHY);
    cure_of_event(FAILED_CREATE, why).or(is_unknown.then_some(CAUSES))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_cause_is_told_without_the_name_of_a_pod_and_has_its_cure() {
        let said = no_pod_because(
            "it-1",
            "Error creating: pods \"it-1-x7k2p\" is forbidden: failed quota: team: must specify limits.memory for: build",
        );
        assert_eq!(
            said,
            "Job it-1 has made no pod yet: failed quota: team: must specify limits.memory for: build"
        );
        assert_eq!(said.reason, Some(RunReason::NoPodYet));
        let invalid = "Error creating: Pod \"it-1-x7k2p\" is invalid: spec.x: Required value";
        let told = "Job it-1 has made no pod yet: spec.x: Required value";
        assert_eq!(no_pod_because("it-1", invalid), told);
        assert!(cure(&said).unwrap().contains("under resources"));
        let account = "Error creating: pods \"it-1-\" is forbidden: error looking up service account s/deploy: serviceaccount \"deploy\" not found";
        let cured = cure(&no_pod_because("it-1", account)).unwrap();
        assert!(cured.contains("create that ServiceAccount"), "{cured}");
        assert_eq!(cure(&no_pod_yet("s", "it-1")), Some(CAUSES));
        assert_eq!(cure("Job a b has made no pod yet: x"), None);
    }

    #[test]
    fn what_is_not_known_leads_to_the_events_and_is_no_cause_itself() {
        let invalid = "Error creating: Pod \"it-1-x7k2p\" is invalid: spec.containers[0].image: Required value";
        let webhook = "Error creating: admission webhook \"a.b\" denied the request: `kubectl describe job x` shows why";
        for message in [invalid, webhook] {
            assert_eq!(cure(&no_pod_because("it-1", message)), None, "{message}");
        }
        let cured = cure(&no_pod_yet("s", "it-1")).unwrap();
        assert!(!cured.contains("list events"), "{cured}");
    }

    #[test]
    fn an_event_counts_by_its_reason_its_kind_its_component_and_its_time() {
        const NOW: &str = "2026-01-01T00:00:00Z";
        let event = json!({
            "reason": "FailedCreate", "message": "m", "lastTimestamp": NOW,
            "involvedObject": { "kind": "K" }, "source": { "component": "job-controller" },
        });
        let found = |event: &Value| why_no_pod(event, "K", NOW.parse().unwrap());
        assert_eq!(found(&event), Some((NOW.to_owned(), "m".to_owned())));
        let mut newer = event.clone();
        newer["source"] = json!({});
        newer["reportingComponent"] = json!("job-controller");
        assert_eq!(found(&newer), found(&event));
        for (path, other) in [
            ("/reason", "Other"),
            ("/involvedObject/kind", "Pod"),
            ("/source/component", "stranger"),
            ("/lastTimestamp", "9999-12-31T23:59:59Z"),
            ("/lastTimestamp", "zzz"),
        ] {
            let mut forged = event.clone();
            *forged.pointer_mut(path).unwrap() = json!(other);
            assert_eq!(found(&forged), None, "{path} {other}");
        }
    }
}
