//! The end of a run's pod without success.

use std::time::Duration;

use cartouche_language::object::text;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::{
    MAY_BE_PROBE, NAME_BYTES, Said, conditions_of, containers, last, name, reason_and_words,
    remedy::is_disruption, short, start, waiting::goes_on,
};
use crate::run_reason::RunReason;

/// Exit codes of killed containers: by SIGKILL, and by SIGTERM.
const KILLED: [i64; 2] = [137, 143];
// The usual meanings of exit codes.
pub(super) const NOT_EXECUTABLE: &str = "mostly a command that cannot be executed";
pub(super) const NOT_FOUND: &str = "mostly a command that is not in the image";
pub(super) const SIGKILL: &str = "mostly killed by SIGKILL";
pub(super) const SIGTERM: &str = "mostly stopped by SIGTERM";
/// Hint beside the reason.
const ONE_WORD: &str =
    "its command is one word with blanks, where a list of words belongs: [sh, -c, \u{2026}]";
/// The beginning of a runtime's message about a command that it cannot execute.
const EXECUTED: &str = "exec: \"";

/// The end of a container, or of its whole pod. The later one is the greater.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ended {
    /// RFC 3339 in UTC sorts as text.
    at: String,
    words: String,
    reason: Option<RunReason>,
    /// True if the kubelet restarts the container again and again.
    is_repeated: bool,
    /// The names of the pod and of its container, unless the pod failed as a whole.
    container: Option<(String, String)>,
}

impl Ended {
    pub(super) fn into_report(self) -> Said {
        Said::new(self.words, self.reason)
    }

    /// Returns the names of the pod and of the container, unless the pod failed as a whole.
    pub(super) fn container(&self) -> Option<(&str, &str)> {
        let (pod, container) = self.container.as_ref()?;
        Some((pod, container))
    }

    /// Returns the same as [`Self::into_report`] while the run is unfinished.
    pub(super) fn into_report_at_work(self) -> Said {
        let again = self.is_repeated.then_some(RunReason::CrashLoopBackOff);
        Said::new(self.words, self.reason.or(again))
    }
}

/// Returns the failure of a pod: as a whole, by an action of the cluster, or else the first of its containers that
/// failed.
pub(super) fn find_failure(pod: &Value) -> Option<Ended> {
    let phase = text(pod.get("status").unwrap_or_default(), "phase");
    if phase == "Succeeded" {
        // Its sidecars were stopped when it was done.
        return None;
    }
    let name = name(pod);
    let have_begun = has_begun(pod);
    let ended = |(container, is_init): (&Value, bool)| {
        // A sidecar delays the others only until it has started.
        if is_init && have_begun && goes_on(pod, text(container, "name")) {
            return None;
        }
        let (at, how, reason) = of_container(pod, container)?;
        let is_repeated = is_repeated(container);
        let full_name = text(container, "name").to_owned();
        let container = short(&full_name, NAME_BYTES);
        // An init container is a cause only if it keeps the others from their start. A sidecar is one as well, may
        // end as often as it likes, and is stopped with the others.
        let words = format!("container {container} of pod {name} {how}");
        // A container whose end has no time comes last.
        let order = (is_init, at.is_empty());
        Some((order, at, words, reason, is_repeated, full_name))
    };
    let first = containers(pod).filter_map(ended).min();
    let whole = disrupted(pod).or_else(|| {
        let status = pod
            .get("status")
            .filter(|it| text(it, "phase") == "Failed")?;
        let (reason, message) = (text(status, "reason"), text(status, "message"));
        // If the containers of a pod were never found, it reports nothing more.
        let has_own =
            !reason.is_empty() || first.is_none() && !containers(pod).any(|it| is_lost(it.0));
        let why = || {
            (
                reason_and_words(reason, &start(message)),
                whole_reason(reason),
            )
        };
        has_own.then(why)
    });
    let at = first
        .as_ref()
        .map_or_else(String::new, |(_, at, ..)| at.clone());
    let whole = whole.map(|(why, reason)| (format!("pod {name} failed{why}"), reason, false, None));
    let first = first.map(|(.., words, reason, is_repeated, container)| {
        (words, reason, is_repeated, Some(container))
    });
    let (words, reason, is_repeated, container) = whole.or(first)?;
    let full_name = text(pod.get("metadata").unwrap_or_default(), "name");
    Some(Ended {
        at,
        words,
        reason,
        is_repeated,
        container: container.map(|container| (full_name.to_owned(), container)),
    })
}

/// Returns true once a container that is no init container has begun.
pub(super) fn has_begun(pod: &Value) -> bool {
    let mut own = containers(pod).filter(|(_, is_init)| !is_init);
    own.any(|(container, _)| {
        let state = |state: &str| container.pointer(state).is_some();
        state("/state/running") || state("/state/terminated") || state("/lastState/terminated")
    })
}

/// Returns the cluster's report about a disrupted pod: it was evicted or preempted, or its node was lost.
fn disrupted(pod: &Value) -> Option<(String, Option<RunReason>)> {
    let condition = conditions_of(pod)
        .find(|it| text(it, "type") == "DisruptionTarget" && text(it, "status") == "True")?;
    let (reason, message) = (text(condition, "reason"), text(condition, "message"));
    let words = reason_and_words(reason, &start(message));
    Some((words, Some(RunReason::Evicted)))
}

/// Returns the reason why a pod failed as a whole, in one word.
fn whole_reason(reason: &str) -> Option<RunReason> {
    let evicted = is_disruption(reason).then_some(RunReason::Evicted);
    evicted.or_else(|| RunReason::of_engine(reason))
}

/// Returns the time and the kind of a container's failure, or `None` if it did not fail. A container whose last
/// end was a success did not, whatever came before.
fn of_container(pod: &Value, container: &Value) -> Option<(String, String, Option<RunReason>)> {
    let (ended, was_stopped) = last_end(pod, container)?;
    let how = match exit_code(ended) {
        0 => return None,
        code if was_stopped => format!("was stopped (exit code {code})"),
        _ => end(ended, probe(pod, container)),
    };
    let reason = RunReason::of_end(text(ended, "reason")).filter(|_| !was_stopped);
    Some((short(text(ended, "finishedAt"), NAME_BYTES), how, reason))
}

/// Returns the most informative end of a container, and true if the container was stopped then with its pod. A
/// failed Job deletes its pods, and only the end before has the cause of such a stop.
fn last_end<'a>(pod: &Value, container: &'a Value) -> Option<(&'a Value, bool)> {
    let (now, before) = (
        container.pointer("/state/terminated"),
        container.pointer("/lastState/terminated"),
    );
    // The kubelet knows nothing of a container that it does not find when the pod ends, perhaps since it never
    // ran, and may report this for the end before, too.
    let (now, before) = (
        now.filter(|end| is_known(end)),
        before.filter(|end| is_known(end)),
    );
    let was_stopped = now.is_some_and(|now| is_after_deletion(pod, now));
    if was_stopped && let Some(before) = before.filter(|before| exit_code(before) != 0) {
        return Some((before, false));
    }
    Some((now.or(before)?, was_stopped))
}

/// Returns true if the kubelet did not find a container when its pod ended.
fn is_lost(container: &Value) -> bool {
    let now = container.pointer("/state/terminated");
    now.is_some_and(|now| !is_known(now))
}

/// Returns true if the kubelet found the container of this end.
fn is_known(end: &Value) -> bool {
    text(end, "reason") != "ContainerStatusUnknown"
}

/// Returns true if a container ended after the deletion of its pod was requested.
fn is_after_deletion(pod: &Value, ended: &Value) -> bool {
    let metadata = pod.get("metadata").unwrap_or_default();
    let time = |text: &str| text.parse::<Timestamp>().ok();
    let grace = metadata.get("deletionGracePeriodSeconds");
    let grace = grace.and_then(Value::as_u64).unwrap_or_default();
    let asked = time(text(metadata, "deletionTimestamp"))
        .and_then(|at| at.checked_sub(Duration::from_secs(grace)).ok());
    let ended = time(text(ended, "finishedAt"));
    asked
        .zip(ended)
        .is_some_and(|(asked, ended)| ended >= asked)
}

/// Returns true if the kubelet has restarted a container that has ended again, or is about to restart it. A
/// running one may still succeed.
fn is_repeated(container: &Value) -> bool {
    let restarts = container.get("restartCount").and_then(Value::as_u64);
    let waiting = container.pointer("/state/waiting");
    let has_ended = container.pointer("/state/terminated").is_some();
    restarts > Some(0) && has_ended
        || waiting.is_some_and(|it| text(it, "reason") == "CrashLoopBackOff")
}

/// Returns the probe of a container whose failure makes the kubelet kill it, if it has one.
fn probe(pod: &Value, container: &Value) -> Option<&'static str> {
    let all = pod.pointer("/spec/containers").and_then(Value::as_array)?;
    let name = text(container, "name");
    let spec = all.iter().find(|it| text(it, "name") == name)?;
    let mut probes = ["livenessProbe", "startupProbe"].into_iter();
    probes.find(|probe| spec.get(probe).is_some_and(Value::is_object))
}

/// Formats an end, for example `exited 3: relation "orders" already exists`.
fn end(terminated: &Value, probe: Option<&str>) -> String {
    let code = exit_code(terminated);
    let reason = text(terminated, "reason");
    let message = text(terminated, "message");
    let ended = match reason {
        // Every failed container has this reason.
        "" | "Error" => match (probe.filter(|_| KILLED.contains(&code)), of_code(code)) {
            (Some(probe), _) => format!("exited {code} ({MAY_BE_PROBE}{probe})"),
            (None, Some(meaning)) => format!("exited {code} ({meaning})"),
            (None, None) => format!("exited {code}"),
        },
        "StartError" | "ContainerCannotRun" if is_one_word(message) => {
            format!("exited {code} ({reason}; {ONE_WORD})")
        }
        reason => format!("exited {code} ({})", short(reason, NAME_BYTES)),
    };
    match last(message) {
        said if said.is_empty() => ended,
        said => format!("{ended}: {said}"),
    }
}

/// Returns the usual meaning of an exit code, by the convention of shells.
fn of_code(code: i64) -> Option<&'static str> {
    match code {
        126 => Some(NOT_EXECUTABLE),
        127 => Some(NOT_FOUND),
        137 => Some(SIGKILL),
        143 => Some(SIGTERM),
        _ => None,
    }
}

/// Returns true if a runtime did not find a command whose first word contains a blank, like a whole line.
fn is_one_word(message: &str) -> bool {
    let command = message.split_once(EXECUTED);
    let command = command.and_then(|(_, rest)| rest.split_once("\": "));
    command.is_some_and(|(command, why)| {
        let is_missing = ["not found", "no such file"]
            .iter()
            .any(|part| why.contains(part));
        is_missing && command.contains(' ')
    })
}

fn exit_code(terminated: &Value) -> i64 {
    let code = terminated.get("exitCode").and_then(Value::as_i64);
    code.unwrap_or_default()
}
