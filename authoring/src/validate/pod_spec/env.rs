//! Environment variables of containers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Part, PodFault};

/// The sources of a variable.
const SOURCES: [&str; 4] = [
    "configMapKeyRef",
    "secretKeyRef",
    "fieldRef",
    "resourceFieldRef",
];

pub(super) fn check(container: &Part<'_>) -> Vec<PodFault> {
    let mut faults = Vec::new();
    let mut seen: BTreeMap<&str, &Part<'_>> = BTreeMap::new();
    let env = container.items("env");
    for variable in &env {
        let Some(name) = variable.name() else {
            continue;
        };
        if let Some(first) = seen.insert(name, variable)
            && first.value != variable.value
            && !env.iter().any(|it| reads(it, name))
        {
            let message = format!(
                "{} has the variable {name} twice: the last one counts",
                container.container()
            );
            let help = "remove one of the two".to_owned();
            let place = variable.or_self("name");
            faults.push(PodFault::surprise(
                &place,
                message,
                "it is there already",
                help,
            ));
        }
        faults.extend(with_value(variable, name));
        faults.extend(sources(variable, name));
    }
    faults
}

/// Returns true if the value of a variable refers to another one.
fn reads(variable: &Part<'_>, name: &str) -> bool {
    let value = variable.value.get("value").and_then(Value::as_str);
    value.is_some_and(|value| value.contains(&format!("$({name})")))
}

/// Finds the name and the value in one text.
fn with_value(variable: &Part<'_>, name: &str) -> Option<PodFault> {
    let (before, after) = name.split_once('=')?;
    let message = format!("the name of a variable cannot be '{name}': it has =");
    let help = format!("write {{name: {before}, value: \"{after}\"}}");
    let place = variable.or_self("name");
    Some(PodFault::refused(
        &place,
        message,
        "the API server refuses this",
        help,
    ))
}

fn sources(variable: &Part<'_>, name: &str) -> Option<PodFault> {
    let from = variable
        .get("valueFrom")
        .filter(|from| from.value.is_object())?;
    let value = variable
        .get("value")
        .filter(|it| it.value.as_str() != Some("") && !it.value.is_null());
    if value.is_some() {
        let message = format!("the variable {name} has both value and valueFrom");
        let help = "keep one of them".to_owned();
        return Some(PodFault::refused(
            &from,
            message,
            "the API server refuses both",
            help,
        ));
    }
    let mut members = from.members();
    // A null removes the member that a profile is merged into.
    members.retain(|(_, member)| !member.value.is_null());
    let is_known = |key: &str| SOURCES.contains(&key);
    // A misspelt one is an unknown field.
    if members.iter().any(|(key, _)| !is_known(key))
        || members.len() == 1
        || members.is_empty() && !from.members().is_empty()
    {
        return None;
    }
    let (what, help) = match members.len() {
        0 => (
            "has no source",
            "name its source in valueFrom: configMapKeyRef, secretKeyRef or fieldRef",
        ),
        _ => ("has several sources", "keep one member of valueFrom"),
    };
    let message = format!("the variable {name} {what}");
    Some(PodFault::refused(
        &from,
        message,
        "this has to be one source",
        help.to_owned(),
    ))
}
