//! Reasons why a pod does not run, or does not end.

use std::fmt::Write as _;

use cartouche_language::object::text;
use serde_json::Value;

use super::{
    CANNOT_BE_PULLED, CANNOT_BE_SCHEDULED, CANNOT_BE_STARTED, FOR_EVER, NAME_BYTES, NO_CONTAINERS,
    STILL_RUNS, Said, conditions_of, containers, ended::has_begun, memory::too_little, name,
    reason_and_words, short, start,
};
use crate::run_reason::RunReason;

/// Containers that serve others, and run until they are stopped, by the names that their injectors give them.
const SIDECARS: [&str; 10] = [
    "cloud-sql-proxy",
    "cloudsql-proxy",
    "consul-dataplane",
    "daprd",
    "envoy",
    "istio-proxy",
    "kuma-sidecar",
    "linkerd-proxy",
    "osm-envoy",
    "vault-agent",
];
/// The objects that a volume, or a source of a projected one, may refer to: the kind, the field, and its field for
/// the name.
pub const OBJECTS_OF_VOLUMES: [(&str, &str, &str); 4] = [
    ("Secret", "secret", "secretName"),
    ("Secret", "secret", "name"),
    ("ConfigMap", "configMap", "name"),
    (
        "PersistentVolumeClaim",
        "persistentVolumeClaim",
        "claimName",
    ),
];
/// Maximum number of containers that are named in a list.
const NAMED: usize = 4;

/// Returns the reason why a pod does not run, if it may not pass by itself.
pub(super) fn waiting(pod: &Value) -> Option<Said> {
    let phase = text(pod.get("status").unwrap_or_default(), "phase");
    if matches!(phase, "Succeeded" | "Failed") {
        return None;
    }
    let name = name(pod);
    let unscheduled = conditions_of(pod)
        .find(|it| text(it, "type") == "PodScheduled" && text(it, "status") == "False");
    if let Some(condition) = unscheduled {
        let message = start(text(condition, "message"));
        let unschedulable = RunReason::Unschedulable;
        return Some(match text(condition, "reason") {
            "SchedulingGated" => Said::new(
                format!("pod {name} is held back by its scheduling gates"),
                RunReason::SchedulingGated,
            ),
            _ if message.is_empty() => {
                Said::new(format!("pod {name} {CANNOT_BE_SCHEDULED}"), unschedulable)
            }
            _ => Said::new(
                format!("pod {name} {CANNOT_BE_SCHEDULED}: {message}"),
                unschedulable,
            ),
        });
    }
    let waiting = containers(pod).find_map(|(container, _)| {
        let waiting = container.pointer("/state/waiting")?;
        let container_name = short(text(container, "name"), NAME_BYTES);
        let of = format!("container {container_name} of pod {name}");
        let reason = text(waiting, "reason");
        let words = match reason {
            // It passes by itself; or the former end says more.
            "" | "PodInitializing" | "ContainerCreating" | "CrashLoopBackOff" => return None,
            // The kubelet alternates between the two; its words differ each time.
            "ErrImagePull" | "ImagePullBackOff" => match start(text(container, "image")) {
                image if image.is_empty() => {
                    format!("{of} {CANNOT_BE_STARTED}: its image {CANNOT_BE_PULLED}")
                }
                image => format!("{of} {CANNOT_BE_STARTED}: image {image:?} {CANNOT_BE_PULLED}"),
            },
            reason => format!(
                "{of} {CANNOT_BE_STARTED}{}",
                reason_and_words(reason, &start(text(waiting, "message")))
            ),
        };
        Some(Said::new(words, RunReason::of_waiting(reason)))
    });
    let is_placed = !text(pod.get("spec").unwrap_or_default(), "nodeName").is_empty();
    waiting.or_else(|| too_little(pod).filter(|_| is_placed && !has_begun(pod)))
}

/// Returns a report if a pod has a node, but no containers yet. Only its events contain the cause (a slow image, a
/// missing Secret).
pub(super) fn creating(pod: &Value) -> Option<Said> {
    let is_creating = |(container, _): (&Value, bool)| {
        let waiting = container.pointer("/state/waiting");
        waiting.is_some_and(|it| text(it, "reason") == "ContainerCreating")
    };
    let name = name(pod);
    let namespace = text(pod.get("metadata").unwrap_or_default(), "namespace");
    let namespace = short(namespace, NAME_BYTES);
    let words = format!(
        "pod {name} {NO_CONTAINERS}{}: `kubectl describe pod {name} -n {namespace}` shows what it waits for",
        mounted(pod)
    );
    let said = Said::new(words, RunReason::ContainerCreating);
    containers(pod).any(is_creating).then_some(said)
}

/// Lists the objects and the paths that the volumes of a pod need.
fn mounted(pod: &Value) -> String {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    let mut all: Vec<String> = Vec::new();
    for (kind, name, keys) in volumes.into_iter().flatten().flat_map(needed) {
        let mut one = format!("{kind} {}", short(name, NAME_BYTES));
        if !keys.is_empty() {
            let named = keys.iter().take(NAMED);
            let mut named: Vec<String> = named.map(|key| short(key, NAME_BYTES)).collect();
            if keys.len() > NAMED {
                named.push("more".to_owned());
            }
            let _ = write!(one, " with {}", named.join(" and "));
        }
        if !all.contains(&one) {
            all.push(one);
        }
    }
    match all.len() {
        0 => String::new(),
        more if more > NAMED => {
            format!("; its volumes are of {} and more", all[..NAMED].join(", "))
        }
        _ => format!("; its volumes are of {}", all.join(", ")),
    }
}

/// Returns the required objects and the path of a volume, each with the first of its named keys.
fn needed(volume: &Value) -> Vec<(&'static str, &str, Vec<&str>)> {
    let projected = volume.pointer("/projected/sources");
    let projected = projected.and_then(Value::as_array).into_iter().flatten();
    let path = ("hostPath", "hostPath", "path");
    let parts = OBJECTS_OF_VOLUMES.into_iter().chain([path]);
    let all = projected.chain([volume]).flat_map(|source| {
        parts.clone().filter_map(move |(kind, field, name)| {
            let part = source.get(field)?;
            let is_optional = part.get("optional") == Some(&Value::Bool(true));
            let name = text(part, name);
            // Every namespace has that one.
            let is_given = name.is_empty() || name == "kube-root-ca.crt";
            let items = part.get("items").and_then(Value::as_array);
            let keys = items.into_iter().flatten().map(|it| text(it, "key"));
            (!is_optional && !is_given).then(|| (kind, name, keys.take(NAMED + 1).collect()))
        })
    });
    all.collect()
}

/// Returns a report if a container has succeeded, but is always restarted.
pub(super) fn repeating(pod: &Value) -> Option<Said> {
    let is_always = text(pod.get("spec").unwrap_or_default(), "restartPolicy") == "Always";
    if !is_always || pod.pointer("/metadata/deletionTimestamp").is_some() {
        return None;
    }
    let ended = |(container, is_init): &(&Value, bool)| {
        let ends = ["/state/terminated", "/lastState/terminated"];
        let last = ends.into_iter().find_map(|end| container.pointer(end));
        !is_init && last.is_some_and(|it| it.get("exitCode").and_then(Value::as_i64) == Some(0))
    };
    let (container, _) = containers(pod).find(ended)?;
    let words = format!(
        "container {} of pod {} has ended with code 0, and restartPolicy: Always {FOR_EVER}",
        short(text(container, "name"), NAME_BYTES),
        name(pod)
    );
    Some(Said::new(words, RunReason::RestartPolicyAlways))
}

/// Returns a report if an init container runs, and keeps the others from their start. A sidecar does not.
pub(super) fn initializing(pod: &Value) -> Option<Said> {
    let runs = |(container, is_init): &(&Value, bool)| {
        let is_running = container.pointer("/state/running").is_some();
        *is_init && is_running && !goes_on(pod, text(container, "name"))
    };
    let (container, _) = containers(pod).find(runs)?;
    let container = short(text(container, "name"), NAME_BYTES);
    let (name, metadata) = (name(pod), pod.get("metadata").unwrap_or_default());
    let namespace = short(text(metadata, "namespace"), NAME_BYTES);
    let words = format!(
        "init container {container} of pod {name} still runs, and the others wait for it: `kubectl logs {name} -c {container} -n {namespace}` shows what it does"
    );
    Some(Said::new(words, RunReason::InitContainerRuns))
}

/// Returns true for a sidecar: an init container that runs on beside the others.
pub(super) fn goes_on(pod: &Value, container: &str) -> bool {
    let all = pod
        .pointer("/spec/initContainers")
        .and_then(Value::as_array);
    let mut all = all.into_iter().flatten();
    all.any(|it| text(it, "name") == container && text(it, "restartPolicy") == "Always")
}

/// Returns a report if no scheduler has handled a pod, for example because its `schedulerName` is misspelt: no
/// event and no condition reports this.
pub(super) fn find_unclaimed(pod: &Value) -> Option<Said> {
    let has_node = !text(pod.get("spec").unwrap_or_default(), "nodeName").is_empty();
    let has_condition = conditions_of(pod).any(|it| text(it, "type") == "PodScheduled");
    let is_seen = has_node || has_condition || containers(pod).next().is_some();
    let phase = text(pod.get("status").unwrap_or_default(), "phase");
    (phase == "Pending" && !is_seen).then(|| {
        let name = name(pod);
        let words = format!("no scheduler has handled pod {name} yet: check that the one in its spec.schedulerName is running");
        Said::new(words, RunReason::NoScheduler)
    })
}

fn state<'a>(container: &'a Value, state: &str) -> Option<&'a Value> {
    container.get("state")?.get(state)
}

/// Returns a report if a container has succeeded, and others run on: a pod, and so its run, ends when all have.
/// This is no fault if each has work of its own.
pub(super) fn lingering(pod: &Value) -> Option<Said> {
    let is_deleted = pod.pointer("/metadata/deletionTimestamp").is_some();
    let phase = text(pod.get("status").unwrap_or_default(), "phase");
    if is_deleted || phase != "Running" {
        return None;
    }
    let own = || containers(pod).filter(|(_, is_init)| !is_init);
    let succeeded = own().find(|(container, _)| {
        let ended = state(container, "terminated");
        ended.is_some_and(|ended| ended.get("exitCode").and_then(Value::as_u64) == Some(0))
    })?;
    let running: Vec<&str> = own()
        .filter(|(container, _)| state(container, "running").is_some())
        .map(|(container, _)| text(container, "name"))
        .collect();
    let all_others = own().filter(|(container, _)| state(container, "terminated").is_none());
    if running.is_empty() || all_others.count() != running.len() {
        return None;
    }
    let named = running.iter().take(NAMED).map(|it| short(it, NAME_BYTES));
    let named = named.collect::<Vec<_>>().join(", ");
    let ended = short(text(succeeded.0, "name"), NAME_BYTES);
    let words = format!(
        "container {ended} of pod {} has ended with code 0, {named} {STILL_RUNS}",
        name(pod)
    );
    let are_sidecars = running.iter().all(|it| SIDECARS.contains(it));
    Some(Said::new(
        words,
        are_sidecars.then_some(RunReason::SidecarRuns),
    ))
}
