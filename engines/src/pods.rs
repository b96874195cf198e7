//! Causes of a run's failure or delay, as its pods report them.
//!
//! Only statuses and termination messages are repeated: reports of the kubelet, the scheduler and the containers
//! themselves. From a `spec` only the restart policy, the objects of volumes with their keys, and memory limits
//! are used. All of it comes from others, so all of it is bounded.

mod ended;
mod event;
mod mask;
mod memory;
mod no_pod;
mod remedy;
mod said;
mod waiting;

use cartouche_language::object::{holding, text};
use serde_json::Value;

use crate::{
    run_reason::RunReason,
    termination_message::is_job,
    verdict::{Health, Verdict},
};
use ended::{Ended, find_failure};
pub use event::cure_of_event;
pub use mask::mask;
pub use no_pod::{no_pod_because, no_pod_yet, why_no_pod};
pub use remedy::{is_of_memory_limit, remedy, remedy_at_work};
pub use said::Said;
pub use waiting::OBJECTS_OF_VOLUMES;
use waiting::{creating, find_unclaimed, initializing, lingering, repeating, waiting};

/// Maximum bytes of a message: the end of a container's, the beginning of the cluster's.
const SAID_BYTES: usize = 512;
/// Maximum bytes of a name or a reason, which only the API server bounds.
const NAME_BYTES: usize = 128;
/// The manager of a Job that names no other.
const JOB_CONTROLLER: &str = "kubernetes.io/job-controller";
/// The reason of a Job that exceeded its deadline.
const LATE: &str = "DeadlineExceeded";
// Words by which a remedy is chosen.
const CANNOT_BE_SCHEDULED: &str = "cannot be scheduled";
const CANNOT_BE_STARTED: &str = "cannot be started";
const CANNOT_BE_PULLED: &str = "cannot be pulled";
const NO_CONTAINERS: &str = "has no containers yet (ContainerCreating)";
const MAY_BE_PROBE: &str = "killed, maybe by its ";
const FOR_EVER: &str = "starts it again without end";
const TOO_LITTLE: &str = "cannot begin with a memory limit of ";
/// Separator between the number of failed pods and the words about the last one.
const LAST: &str = "; the last: ";
const STILL_RUNS: &str = "still runs; the run ends when all of them have";

/// Information that a run's pods have, and the run itself lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PodsTell {
    /// None, or the pods are not read: the engine itself reports everything.
    #[default]
    Nothing,
    /// The reason why none of them runs yet.
    WhyItWaits,
    /// The reason why there is none: the run has made no pod so far.
    WhyNoneIsMade,
    /// The reason why pods have failed so far: the engine creates others.
    WhyPodsFail {
        /// The number of pods that may fail, if they are counted for the whole run.
        limit: Option<u64>,
    },
    /// The reason why the run failed, or is about to.
    WhyItFailed,
}

impl PodsTell {
    /// Returns the information that the pods of this run have. Only those of a Job are read: it reports next to
    /// nothing about them, and its pods are known.
    #[must_use]
    pub fn choose(run: &Value, health: &Health) -> Self {
        if !is_job(run) || health.verdict == Verdict::Succeeded {
            return Self::Nothing;
        }
        let status = run.get("status").unwrap_or_default();
        let failing = holding(run, "FailureTarget").is_some();
        if failing || health.verdict == Verdict::Failed {
            return Self::WhyItFailed;
        }
        if had_failed_pods(run) {
            return Self::WhyPodsFail {
                limit: backoff_limit(run),
            };
        }
        let count = |field: &str| {
            status
                .get(field)
                .and_then(Value::as_u64)
                .unwrap_or_default()
        };
        if count("active") > 0 && count("ready") == 0 {
            Self::WhyItWaits
        } else if has_made_none(run) {
            Self::WhyNoneIsMade
        } else {
            Self::Nothing
        }
    }
}

/// Returns the number of pods of a Job that may fail, if they are counted for the whole Job.
fn backoff_limit(job: &Value) -> Option<u64> {
    let spec = job.get("spec")?;
    let limit = spec.get("backoffLimit").and_then(Value::as_u64);
    limit.filter(|_| spec.get("backoffLimitPerIndex").is_none())
}

/// Returns true if an unfinished Job should have created pods, and counts none of any state.
fn has_made_none(job: &Value) -> bool {
    let spec = job.get("spec").unwrap_or_default();
    let wants_none = spec.get("suspend") == Some(&Value::Bool(true))
        || spec.get("parallelism").and_then(Value::as_u64) == Some(0);
    let is_deleted = job.pointer("/metadata/deletionTimestamp").is_some();
    if wants_none || is_deleted || is_managed_elsewhere(job) {
        return false;
    }
    let status = job.get("status").unwrap_or_default();
    let counts = ["active", "ready", "succeeded", "failed", "terminating"];
    let uncounted = ["succeeded", "failed"].into_iter().filter_map(|end| {
        let uids = status.get("uncountedTerminatedPods")?.get(end)?;
        uids.as_array()
    });
    counts
        .iter()
        .all(|count| matches!(status.get(count).and_then(Value::as_u64), None | Some(0)))
        && uncounted.flatten().next().is_none()
        && status.get("completionTime").is_none()
}

/// Returns true if another manager may run the pods of a Job in another cluster.
fn is_managed_elsewhere(job: &Value) -> bool {
    let manager = text(job.get("spec").unwrap_or_default(), "managedBy");
    !matches!(manager, "" | JOB_CONTROLLER)
}

/// Returns true if pods of a Job failed in this cluster, and would be found if they still existed: pods of a
/// selector of its own need not have the label.
#[must_use]
pub fn had_failed_pods(job: &Value) -> bool {
    let failed = job.pointer("/status/failed").and_then(Value::as_u64);
    let selects_itself = job.pointer("/spec/manualSelector") == Some(&Value::Bool(true));
    failed > Some(0) && !selects_itself && !is_managed_elsewhere(job)
}

/// Returns true if a Job ends because it exceeded its deadline, whatever rule its template has.
#[must_use]
pub fn is_late(job: &Value) -> bool {
    let mut ends = ["Failed", "FailureTarget"].into_iter();
    ends.any(|end| {
        let condition = holding(job, end);
        condition.is_some_and(|condition| text(condition, "reason") == LATE)
    })
}

/// The reports of one run's pods, one after another. Of any number of them only the last failure and the first
/// hindrance are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodsWords {
    is_discreet: bool,
    /// True if there was a pod, whatever it reported.
    is_any: bool,
    failed_pods: usize,
    failed: Option<Ended>,
    waiting: Option<Said>,
    repeating: Option<Said>,
    lingering: Option<Said>,
    initializing: Option<Said>,
    creating: Option<Said>,
}

impl PodsWords {
    /// Creates a collector for pods that may know secrets: it keeps names, reasons and exit codes, but no messages
    /// and images.
    #[must_use]
    pub fn without_messages() -> Self {
        Self {
            is_discreet: true,
            ..Self::default()
        }
    }

    /// Takes in the report of a pod.
    pub fn hear(&mut self, pod: &Value) {
        self.is_any = true;
        let mut silent = None;
        if self.is_discreet {
            let mut pod = pod.clone();
            silence(&mut pod);
            silent = Some(pod);
        }
        let pod = silent.as_ref().unwrap_or(pod);
        if text(pod.get("status").unwrap_or_default(), "phase") == "Failed" {
            self.failed_pods += 1;
        }
        let failed = find_failure(pod);
        if failed > self.failed {
            self.failed = failed;
        }
        if self.waiting.is_none() {
            self.waiting = waiting(pod);
        }
        if self.repeating.is_none() {
            self.repeating = repeating(pod);
        }
        if self.initializing.is_none() {
            self.initializing = initializing(pod);
        }
        if self.lingering.is_none() {
            self.lingering = lingering(pod);
        }
        if self.creating.is_none() {
            self.creating = creating(pod).or_else(|| find_unclaimed(pod));
        }
    }

    /// Returns true if there was no pod at all.
    #[must_use]
    pub fn is_of_none(&self) -> bool {
        !self.is_any
    }

    /// Returns the reason of the run's failure: its last failure, or else the container that never began.
    #[must_use]
    pub fn failure(self) -> Option<Said> {
        self.failed.map(Ended::into_report).or(self.waiting)
    }

    /// Returns the names of the pod and of the container in [`Self::failure`].
    #[must_use]
    pub fn failed_container(&self) -> Option<(&str, &str)> {
        self.failed.as_ref()?.container()
    }

    /// Returns the reason of the run's delay: a wait, or else its last failure, or a container that runs on
    /// although another has done its work, or a pod that is not set up yet.
    #[must_use]
    pub fn hindrance(self) -> Option<Said> {
        let failed = self.failed.map(Ended::into_report_at_work);
        let ending = self.waiting.or(failed).or(self.repeating);
        ending
            .or(self.lingering)
            .or(self.initializing)
            .or(self.creating)
    }

    /// Returns true if [`Self::hindrance`] is the end of a container.
    #[must_use]
    pub fn is_hindered_by_failure(&self) -> bool {
        self.waiting.is_none() && self.failed.is_some()
    }

    /// Returns the same as [`Self::hindrance`] for the pods of a Job, which may also count none.
    #[must_use]
    pub fn hindrance_of_job(self, tell: PodsTell, namespace: &str, job: &str) -> Option<Said> {
        if tell == PodsTell::WhyNoneIsMade && !self.is_any {
            return Some(Said::new(no_pod_yet(namespace, job), RunReason::NoPodYet));
        }
        match tell {
            PodsTell::WhyPodsFail { limit } if self.is_hindered_by_failure() => {
                self.failures(limit)
            }
            _ => self.hindrance(),
        }
    }

    /// Returns the number of pods that have failed, the number that may, and the end of the last one.
    fn failures(self, limit: Option<u64>) -> Option<Said> {
        let last = self.failed.map(Ended::into_report)?;
        let pods = match self.failed_pods {
            0 | 1 => "1 pod has failed".to_owned(),
            pods => format!("{pods} pods have failed"),
        };
        let most =
            limit.map(|limit| format!(", and the run continues until more than {limit} have"));
        let words = format!("{pods}{}{LAST}{}", most.unwrap_or_default(), last.words);
        Some(Said::new(
            words,
            last.reason.unwrap_or(RunReason::PodFailed),
        ))
    }
}

/// Returns a Pod's report about itself, while it is unfinished or once it has failed.
pub(crate) fn of_pod(pod: &Value, verdict: Verdict, mut words: PodsWords) -> Option<Said> {
    words.hear(pod);
    // Every pod is set up first, which is reported only if it stays so for a while. Nor do all containers end at
    // once.
    words.creating = None;
    words.initializing = None;
    words.lingering = words
        .lingering
        .filter(|it| it.reason == Some(RunReason::SidecarRuns));
    match verdict {
        Verdict::Succeeded => None,
        Verdict::Failed => words.failure(),
        Verdict::Unknown if words.is_hindered_by_failure() => {
            let said = words.hindrance()?;
            Some(Said::new(without_end(pod, &said), said.reason))
        }
        Verdict::Unknown => words.hindrance(),
    }
}

/// Adds that the kubelet restarts a container of a Pod without an engine, which counts no attempts.
fn without_end(pod: &Value, said: &str) -> String {
    match text(pod.get("spec").unwrap_or_default(), "restartPolicy") {
        policy @ ("Always" | "OnFailure") => {
            format!("{said}; restartPolicy: {policy} {FOR_EVER}")
        }
        _ => said.to_owned(),
    }
}

/// Removes the messages of containers, kubelet and scheduler, and the images, which a template may have composed
/// of anything.
fn silence(status: &mut Value) {
    match status {
        Value::Object(members) => {
            members.remove("message");
            members.remove("image");
            members.remove("volumes");
            members.values_mut().for_each(silence);
        }
        Value::Array(elements) => elements.iter_mut().for_each(silence),
        _ => {}
    }
}

fn reason_and_words(reason: &str, words: &str) -> String {
    let mut text = match reason {
        "" => String::new(),
        reason => format!(" ({})", short(reason, NAME_BYTES)),
    };
    if !words.is_empty() {
        text.push_str(": ");
        text.push_str(words);
    }
    text
}

/// Iterates over the states of the containers, in the order in which they run, each with true for an init
/// container.
fn containers(pod: &Value) -> impl Iterator<Item = (&Value, bool)> {
    let states = |field: &str| pod.get("status")?.get(field)?.as_array();
    let of = |field: &str, is_init: bool| {
        let states = states(field).into_iter().flatten();
        states.map(move |state| (state, is_init))
    };
    of("initContainerStatuses", true).chain(of("containerStatuses", false))
}

fn conditions_of(pod: &Value) -> impl Iterator<Item = &Value> {
    let all = pod.pointer("/status/conditions").and_then(Value::as_array);
    all.into_iter().flatten()
}

fn name(pod: &Value) -> String {
    short(
        text(pod.get("metadata").unwrap_or_default(), "name"),
        NAME_BYTES,
    )
}

/// Returns the beginning of the cluster's message.
fn start(said: &str) -> String {
    // Masked first: no half of a password is left without its name, or without its end.
    let most = said.floor_char_boundary(8 * SAID_BYTES);
    short(&mask::mask(&said[..most]), SAID_BYTES)
}

/// Returns the end of a container's message, which contains the reason. It is cut after it was masked, so that no
/// half of a password is left without its name.
fn last(said: &str) -> String {
    // Kubernetes keeps 4 KiB of it; more is forged.
    let tail = &said[said.ceil_char_boundary(said.len().saturating_sub(8 * SAID_BYTES))..];
    let line = mask::mask(&one_line(tail));
    match line.len().checked_sub(SAID_BYTES) {
        None | Some(0) => line,
        Some(cut) => format!("…{}", &line[line.ceil_char_boundary(cut)..]),
    }
}

fn short(said: &str, bytes: usize) -> String {
    if said.len() <= bytes {
        return one_line(said);
    }
    let kept = &said[..said.floor_char_boundary(bytes)];
    format!("{}…", one_line(kept))
}

/// Separates the words with single blanks, and removes control characters.
fn one_line(said: &str) -> String {
    let words = said.split(|c: char| c.is_whitespace() || c.is_control());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests;
