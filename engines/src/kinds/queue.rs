//! Queued runs: they exist and do not work yet.
//!
//! Kueue and others hold a run by a field of its own kind, and admit it, or evict it, by the same field. Such a
//! run is at work for the order of runs, but not for the clock.

use cartouche_language::object::text;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::find_kind;

/// The way in which a queue holds runs of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// The field of `spec` that queues write. It is no part of the document that a run was made of.
    pub owned: Option<&'static str>,
    /// The sign of a queued run, for people.
    pub sign: &'static str,
    /// Returns the standing of a run, from its object.
    pub standing: fn(&Value) -> Standing,
    /// True if some runs of the kind ignore a stop.
    pub may_ignore_stop: bool,
    /// Returns the reason if a success does not count, because the engine reports it for a run that has not done
    /// its work.
    pub no_success: fn(&Value) -> Option<&'static str>,
}

/// The standing of a run between its creation and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The time from which a timeout counts.
    pub works: Works,
    /// True if the run stops when it is asked to by the method of its kind.
    pub heeds_stop: bool,
}

/// The time since which a run works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Works {
    /// The run works since its creation: no queue holds runs of its kind.
    SinceCreation,
    /// The run does not work: a queue holds it.
    NotYet,
    /// The run works since this time.
    Since(Timestamp),
    /// The run works since an unknown time.
    Untimed,
}

impl Standing {
    /// The standing of a run that no queue holds.
    pub const FREE: Self = Self {
        works: Works::SinceCreation,
        heeds_stop: true,
    };

    /// Returns true while a queue holds the run.
    #[must_use]
    pub fn is_queued(self) -> bool {
        self.works == Works::NotYet
    }
}

impl Default for Standing {
    fn default() -> Self {
        Self::FREE
    }
}

/// Returns the standing of a run, by its kind.
#[must_use]
pub fn standing(run: &Value) -> Standing {
    let queue = queue_of(text(run, "apiVersion"), text(run, "kind"));
    queue.map_or(Standing::FREE, |queue| (queue.standing)(run))
}

/// Returns the way in which a queue holds runs of this kind, if one does.
#[must_use]
pub fn queue_of(api_version: &str, kind: &str) -> Option<&'static Queue> {
    find_kind(api_version, kind)?.queue
}

/// Returns the start of a run from this field of its status.
pub(super) fn since(run: &Value, field: &str) -> Works {
    let status = run.get("status").unwrap_or_default();
    text(status, field)
        .parse()
        .map_or(Works::Untimed, Works::Since)
}

/// Accepts every success.
pub(super) fn any_success(_run: &Value) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const AT: &str = "2026-01-01T00:00:07Z";

    fn stands(api_version: &str, kind: &str, fields: &Value) -> (Works, bool) {
        let mut run = json!({ "apiVersion": api_version, "kind": kind });
        let run_fields = run.as_object_mut().unwrap();
        run_fields.extend(fields.as_object().unwrap().clone());
        let standing = standing(&run);
        assert_eq!(standing.is_queued(), standing.works == Works::NotYet);
        (standing.works, standing.heeds_stop)
    }

    fn at() -> Works {
        Works::Since(AT.parse().unwrap())
    }

    #[test]
    fn a_job_is_queued_while_it_is_suspended_and_works_since_its_controller_says() {
        let job = |fields: Value| stands("batch/v1", "Job", &fields);
        let started = json!({ "startTime": AT });
        let suspended = json!({ "suspend": true });
        assert_eq!(job(json!({ "spec": suspended })), (Works::NotYet, false));
        let evicted = json!({ "spec": suspended, "status": started });
        assert_eq!(job(evicted), (Works::NotYet, false));
        let working = json!({ "spec": { "suspend": false }, "status": started });
        assert_eq!(job(working), (at(), true));
        assert_eq!(job(json!({ "spec": {} })), (Works::Untimed, true));
        // The Job was resumed, and the time is still that of its former start.
        let status = json!({
            "startTime": AT, "conditions": [{ "type": "Suspended", "status": "True" }],
        });
        let admitted = json!({ "spec": { "suspend": false }, "status": status });
        assert_eq!(job(admitted), (Works::Untimed, true));
    }

    #[test]
    fn a_job_of_another_controller_never_heeds_its_deadline() {
        let managed = |by: &str| {
            let job = json!({ "spec": { "managedBy": by }, "status": { "startTime": AT } });
            stands("batch/v1", "Job", &job)
        };
        assert_eq!(managed("kueue.x-k8s.io/multikueue"), (at(), false));
        assert_eq!(managed("kubernetes.io/job-controller"), (at(), true));
    }

    #[test]
    fn a_pod_is_queued_while_it_is_gated_and_heeds_its_deadline_on_a_node() {
        let pod = |spec: Value, scheduled: &str| {
            let condition =
                json!({ "type": "PodScheduled", "status": scheduled, "lastTransitionTime": AT });
            let pod = json!({ "spec": spec, "status": { "conditions": [condition] } });
            stands("v1", "Pod", &pod)
        };
        let gate = json!({ "name": "kueue.x-k8s.io/admission" });
        let held = json!({ "schedulingGates": [gate] });
        assert_eq!(pod(held, "False"), (Works::NotYet, false));
        let waiting = json!({ "schedulingGates": [] });
        assert_eq!(pod(waiting, "False"), (Works::Untimed, false));
        assert_eq!(pod(json!({ "nodeName": "a" }), "True"), (at(), true));
    }

    #[test]
    fn a_pipelinerun_is_queued_while_it_is_pending_and_can_be_cancelled_all_the_same() {
        let run = |status: &str, started: Value| {
            let run = json!({ "spec": { "status": status }, "status": started });
            stands("tekton.dev/v1", "PipelineRun", &run)
        };
        let started = json!({ "startTime": AT });
        assert_eq!(run("PipelineRunPending", json!({})), (Works::NotYet, true));
        assert_eq!(run("", started.clone()), (at(), true));
        assert_eq!(run("", json!({})), (Works::Untimed, true));
        let task_run = json!({ "status": started });
        let task_run = stands("tekton.dev/v1", "TaskRun", &task_run);
        assert_eq!(task_run, (Works::SinceCreation, true));
    }

    #[test]
    fn a_workflow_is_queued_while_it_is_pending_and_has_not_started() {
        let workflow = |status: Value| {
            let workflow = json!({ "status": status });
            stands("argoproj.io/v1alpha1", "Workflow", &workflow)
        };
        let waiting = json!({ "phase": "Pending", "startedAt": null });
        assert_eq!(workflow(waiting), (Works::NotYet, false));
        let running = json!({ "phase": "Running", "startedAt": AT });
        assert_eq!(workflow(running), (at(), true));
        let between = json!({ "phase": "Pending", "startedAt": AT });
        assert_eq!(workflow(between), (at(), true));
        assert_eq!(workflow(json!({})), (Works::Untimed, true));
    }

    #[test]
    fn runs_of_other_kinds_are_never_queued() {
        for (api_version, kind) in [("example.dev/v1", "Build"), ("v1", "ConfigMap"), ("", "")] {
            let run = json!({ "spec": { "suspend": true, "schedulingGates": [1] } });
            assert_eq!(
                stands(api_version, kind, &run),
                (Works::SinceCreation, true)
            );
        }
    }

    #[test]
    fn a_time_that_is_none_is_no_time() {
        let job = json!({ "status": { "startTime": "yesterday" } });
        assert_eq!(stands("batch/v1", "Job", &job), (Works::Untimed, true));
        let job = json!({ "status": 7, "spec": [] });
        assert_eq!(stands("batch/v1", "Job", &job), (Works::Untimed, true));
    }
}
