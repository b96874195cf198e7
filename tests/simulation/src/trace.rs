//! The events of a simulation for readers.

use crate::{server::State, store::Happened};
use cartouche_crds::{RunResult, RunnableStatus, SINK_SEQUENCE_ANNOTATION};
use serde::Deserialize;
use serde_json::Value;

/// Returns all requests and all changes, in order.
#[must_use]
pub fn lines(state: &State) -> Vec<String> {
    let mut told: Vec<(u64, usize, String)> = Vec::new();
    for (at, line) in state.spoken.iter().flatten().enumerate() {
        let version = line.get(9..16).and_then(|text| text.trim().parse().ok());
        told.push((version.unwrap_or_default(), at, line.clone()));
    }
    for change in state.store.log() {
        let happened = match change.happened {
            Happened::Created => "+",
            Happened::Changed => "~",
            Happened::Deleted => "-",
        };
        let line = format!(
            "{:9.3} {:5} {happened} {:?} {} by {}{}",
            change.at.as_secs_f64(),
            change.version,
            change.key.resource,
            change.key.name,
            change.actor,
            detail(&change.object)
        );
        told.push((change.version, 0, line));
    }
    told.sort_by_key(|(version, at, _)| (*version, *at));
    told.into_iter().map(|(_, _, line)| line).collect()
}

fn detail(object: &Value) -> String {
    let text = |pointer: &str| match object.pointer(pointer) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let short = |text: String| text.chars().take(11).collect::<String>();
    if object["kind"] == "ConfigMap" {
        let number = &object["metadata"]["annotations"][SINK_SEQUENCE_ANNOTATION];
        return format!(" {} of {number}", text("/data"));
    }
    if object["kind"] != "Runnable" {
        return format!(" {} {}", short(text("/metadata/uid")), text("/spec"));
    }
    let status = RunnableStatus::deserialize(&object["status"]).unwrap_or_default();
    let earlier = status.history.iter().map(|run| {
        let uid = run.uid.as_deref().unwrap_or("?");
        let result = run.result.map_or("null", RunResult::as_str);
        format!("{}:{}:{result}", run.sequence, short(uid.to_owned()))
    });
    let history: Vec<String> = earlier.collect();
    format!(
        " inputs {} run {} {} {} {} attempted {} history {history:?} outputs of {} ready {}{}",
        text("/spec/inputs"),
        text("/status/currentRun/sequence"),
        text("/status/currentRun/phase"),
        short(text("/status/currentRun/inputHash")),
        text("/status/currentRun/result"),
        text("/status/currentRun/attempted"),
        text("/status/outputsFrom/sequence"),
        ready(object),
        sinks(&status),
    )
}

/// Returns the sinks, with the number of the run whose outputs each has.
fn sinks(status: &RunnableStatus) -> String {
    let sinks = status.sinks.iter().map(|it| {
        let behind = if it.behind { " behind" } else { "" };
        format!(" {}:{}{behind}", it.name, it.sequence)
    });
    sinks.collect()
}

fn ready(object: &Value) -> String {
    let conditions = object
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "Ready");
    ready.map_or_else(String::new, |ready| {
        format!("{} {}", ready["status"], ready["reason"])
    })
}
