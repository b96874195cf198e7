//! How a pod of a run ended without success.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::{
    MAY_BE_PROBE, NAME_BYTES, Said, conditions_of, containers, last, name, reason_and_words,
    remedy::is_disruption, short, start, waiting::goes_on,
};
use crate::{object::text, run_reason::RunReason};

/// Exit codes of what was killed: by SIGKILL, and by SIGTERM.
const KILLED: [i64; 2] = [137, 143];
// The usual meanings of exit codes.
pub(super) const NOT_EXECUTABLE: &str = "mostly a command that cannot be executed";
pub(super) const NOT_FOUND: &str = "mostly a command that is not in the image";
pub(super) const SIGKILL: &str = "mostly killed by SIGKILL";
pub(super) const SIGTERM: &str = "mostly stopped by SIGTERM";
/// Stands beside the reason.
const ONE_WORD: &str =
    "its command is one word with blanks, where a list of words belongs: [sh, -c, \u{2026}]";
/// The beginning of what a runtime says of a command that it cannot call.
const EXECUTED: &str = "exec: \"";

/// How a container, or its whole pod, ended; the later one is the greater.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ended {
    /// RFC 3339 in UTC sorts as text.
    at: String,
    words: String,
    reason: Option<RunReason>,
    /// The kubelet starts it again and again.
    is_repeated: bool,
    /// The names of the pod and of its container, unless the pod failed as a whole.
    container: Option<(String, String)>,
}

impl Ended {
    pub(super) fn said(self) -> Said {
        Said::new(self.words, self.reason)
    }

    /// The names of the pod and of the container, unless the pod failed as a whole.
    pub(super) fn container(&self) -> Option<(&str, &str)> {
        let (pod, container) = self.container.as_ref()?;
        Some((pod, container))
    }

    /// The same while the run goes on.
    pub(super) fn said_at_work(self) -> Said {
        let again = self.is_repeated.then_some(RunReason::CrashLoopBackOff);
        Said::new(self.words, self.reason.or(again))
    }
}

/// How a pod failed: as a whole, by what the cluster did to it, or the first of its containers that did.
pub(super) fn failed(pod: &Value) -> Option<Ended> {
    let phase = text(pod.get("status").unwrap_or_default(), "phase");
    if phase == "Succeeded" {
        // Its sidecars were stopped when it was done.
        return None;
    }
    let name = name(pod);
    let have_begun = has_begun(pod);
    let ended = |(container, is_init): (&Value, bool)| {
        // One that goes on beside the others keeps them only from their start.
        if is_init && have_begun && goes_on(pod, text(container, "name")) {
            return None;
        }
        let (at, how, reason) = of_container(pod, container)?;
        let is_repeated = is_repeated(container);
        let full_name = text(container, "name").to_owned();
        let container = short(&full_name, NAME_BYTES);
        // Of an init container only what keeps the others from their start is a cause: a sidecar is one as well, may
        // end as often as it likes, and is stopped with them.
        let words = format!("container {container} of pod {name} {how}");
        // Where it is not known when, another comes first.
        let order = (is_init, at.is_empty());
        Some((order, at, words, reason, is_repeated, full_name))
    };
    let first = containers(pod).filter_map(ended).min();
    let whole = disrupted(pod).or_else(|| {
        let status = pod
            .get("status")
            .filter(|it| text(it, "phase") == "Failed")?;
        let (reason, message) = (text(status, "reason"), text(status, "message"));
        // One whose containers were never found says no more than that.
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

/// True once a container that is no init container has begun.
pub(super) fn has_begun(pod: &Value) -> bool {
    let mut own = containers(pod).filter(|(_, is_init)| !is_init);
    own.any(|(container, _)| {
        let state = |state: &str| container.pointer(state).is_some();
        state("/state/running") || state("/state/terminated") || state("/lastState/terminated")
    })
}

/// What the cluster says that it did to a pod: it was evicted, preempted, or its node went.
fn disrupted(pod: &Value) -> Option<(String, Option<RunReason>)> {
    let condition = conditions_of(pod)
        .find(|it| text(it, "type") == "DisruptionTarget" && text(it, "status") == "True")?;
    let (reason, message) = (text(condition, "reason"), text(condition, "message"));
    let words = reason_and_words(reason, &start(message));
    Some((words, Some(RunReason::Evicted)))
}

/// Why a pod as a whole failed, in one word.
fn whole_reason(reason: &str) -> Option<RunReason> {
    let evicted = is_disruption(reason).then_some(RunReason::Evicted);
    evicted.or_else(|| RunReason::of_engine(reason))
}

/// When and how a container failed; `None` if it has not. One that ended well at last has not, whatever came before.
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

/// The end of a container that tells most, and whether it was stopped then with its pod, which a Job that has failed
/// deletes: of such an end only the one before says why.
fn last_end<'a>(pod: &Value, container: &'a Value) -> Option<(&'a Value, bool)> {
    let (now, before) = (
        container.pointer("/state/terminated"),
        container.pointer("/lastState/terminated"),
    );
    // Of a container that it does not find when the pod ends, be it that it never ran, the kubelet knows nothing, and may
    // say so of the end before, too.
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

/// Whether the kubelet did not find a container when its pod ended.
fn is_lost(container: &Value) -> bool {
    let now = container.pointer("/state/terminated");
    now.is_some_and(|now| !is_known(now))
}

/// Whether the kubelet found the container that this is the end of.
fn is_known(end: &Value) -> bool {
    text(end, "reason") != "ContainerStatusUnknown"
}

/// Whether a container ended once the deletion of its pod was asked for.
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

/// True if the kubelet has started a container again and it has ended again, or is about to start it. One that works by now may
/// end well.
fn is_repeated(container: &Value) -> bool {
    let restarts = container.get("restartCount").and_then(Value::as_u64);
    let waiting = container.pointer("/state/waiting");
    let has_ended = container.pointer("/state/terminated").is_some();
    restarts > Some(0) && has_ended
        || waiting.is_some_and(|it| text(it, "reason") == "CrashLoopBackOff")
}

/// The probe of a container after which the kubelet kills it, if it has one.
fn probe(pod: &Value, container: &Value) -> Option<&'static str> {
    let all = pod.pointer("/spec/containers").and_then(Value::as_array)?;
    let name = text(container, "name");
    let spec = all.iter().find(|it| text(it, "name") == name)?;
    let mut probes = ["livenessProbe", "startupProbe"].into_iter();
    probes.find(|probe| spec.get(probe).is_some_and(Value::is_object))
}

/// `exited 3: relation "orders" already exists`.
fn end(terminated: &Value, probe: Option<&str>) -> String {
    let code = exit_code(terminated);
    let reason = text(terminated, "reason");
    let message = text(terminated, "message");
    let ended = match reason {
        // That is what every failed container has.
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

/// The usual meaning of an exit code, by the custom of shells.
fn of_code(code: i64) -> Option<&'static str> {
    match code {
        126 => Some(NOT_EXECUTABLE),
        127 => Some(NOT_FOUND),
        137 => Some(SIGKILL),
        143 => Some(SIGTERM),
        _ => None,
    }
}

/// True if a runtime did not find a command that has a blank in its first word, as a whole line has.
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
