//! Objects that pods name, where one of nearly that name is among the files.
//!
//! Only a cluster knows which objects there are: a name that is like none of the files gives no finding.

use std::collections::BTreeSet;

use cartouche_templating::suggestion;
use serde_json::Value;

use super::{Fault, Part, Pod};
use crate::{objects::Objects, source::Document};

const CONFIG_MAP: &str = "ConfigMap";
const SECRET: &str = "Secret";

/// A name in a pod, of an object of a kind, with the key of it that is read.
struct Reference<'a> {
    kind: &'static str,
    name: Part<'a>,
    key: Option<Part<'a>>,
    is_optional: bool,
}

impl<'a> Reference<'a> {
    fn new(kind: &'static str, part: &Part<'a>, name: &str) -> Option<Self> {
        Some(Self {
            kind,
            name: part.get(name)?,
            key: None,
            is_optional: part.value.get("optional") == Some(&Value::Bool(true)),
        })
    }
}

pub(super) fn check(objects: &Objects, pods: &[Pod<'_>]) -> Vec<Fault> {
    let all = pods.iter().flat_map(references);
    all.filter_map(|reference| misspelt(objects, &reference))
        .collect()
}

fn references<'a>(pod: &Pod<'a>) -> Vec<Reference<'a>> {
    let mut all = Vec::new();
    if let Some(spec) = &pod.spec {
        all.extend(Reference::new("ServiceAccount", spec, "serviceAccountName"));
        let secrets = spec.items("imagePullSecrets");
        all.extend(
            secrets
                .iter()
                .filter_map(|it| Reference::new(SECRET, it, "name")),
        );
    }
    for container in &pod.containers {
        all.extend(container.items("env").iter().filter_map(of_variable));
        for source in container.items("envFrom") {
            let of = |field: &str, kind| Reference::new(kind, &source.get(field)?, "name");
            all.extend(of("configMapRef", CONFIG_MAP));
            all.extend(of("secretRef", SECRET));
        }
    }
    for volume in &pod.volumes {
        all.extend(of_volume(volume));
    }
    all
}

fn of_variable<'a>(variable: &Part<'a>) -> Option<Reference<'a>> {
    let from = variable.get("valueFrom")?;
    let of = |field: &str, kind| {
        let part = from.get(field)?;
        let key = part.get("key");
        Some(Reference {
            key,
            ..Reference::new(kind, &part, "name")?
        })
    };
    of("configMapKeyRef", CONFIG_MAP).or_else(|| of("secretKeyRef", SECRET))
}

fn of_volume<'a>(volume: &Part<'a>) -> Vec<Reference<'a>> {
    let sources = [
        ("configMap", CONFIG_MAP, "name"),
        ("secret", SECRET, "secretName"),
        (
            "persistentVolumeClaim",
            "PersistentVolumeClaim",
            "claimName",
        ),
    ];
    let mut all = Vec::new();
    for (field, kind, name) in sources {
        let Some(source) = volume.get(field) else {
            continue;
        };
        let items = source.items("items").into_iter();
        let keys = items.filter_map(|item| {
            let key = item.get("key");
            Some(Reference {
                key,
                ..Reference::new(kind, &source, name)?
            })
        });
        all.extend(keys);
        if all.is_empty() {
            all.extend(Reference::new(kind, &source, name));
        }
    }
    all
}

/// The fault of a name or a key that is nearly one of the files.
fn misspelt(objects: &Objects, reference: &Reference<'_>) -> Option<Fault> {
    let name = reference.name.text()?;
    let kind = reference.kind;
    let of_kind = objects.others.iter();
    let of_kind = of_kind.filter(|it| it.api_version() == "v1" && it.kind() == kind);
    let of_kind: Vec<&Document> = of_kind.collect();
    let named: Vec<&&Document> = of_kind.iter().filter(|it| it.name() == name).collect();
    if !named.is_empty() {
        return misspelt_key(reference, &named, name);
    }
    if is_written(objects, kind, name) || reference.is_optional {
        return None;
    }
    let meant = suggestion::nearest(name, of_kind.iter().map(|it| it.name()))?;
    let message = format!(
        "there is no {kind} '{name}' among these files: a pod that names it does not begin without it"
    );
    let help = format!("did you mean '{meant}'?");
    Some(Fault::surprise(
        &reference.name,
        message,
        "not among these files",
        help,
    ))
}

fn misspelt_key(reference: &Reference<'_>, named: &[&&Document], name: &str) -> Option<Fault> {
    let part = reference.key.as_ref().filter(|_| !reference.is_optional)?;
    let key = part.text()?;
    let known: BTreeSet<&str> = named.iter().flat_map(|it| keys(it)).collect();
    if known.contains(key) || known.is_empty() {
        return None;
    }
    let kind = reference.kind;
    let message =
        format!("{kind} {name} has no key '{key}' in its file: a pod that reads it does not begin");
    let help = suggestion::hint(key, "it has", known.iter().copied());
    let help = help.unwrap_or_else(|| "correct the key, or add it to the object".to_owned());
    Some(Fault::surprise(part, message, "no such key", help))
}

fn keys(object: &Document) -> impl Iterator<Item = &str> {
    let fields = ["data", "stringData", "binaryData"].into_iter();
    let values = fields.filter_map(|field| object.value.get(field)?.as_object());
    values.flatten().map(|(key, _)| key.as_str())
}

/// True if a Runnable of the files writes its outputs there.
fn is_written(objects: &Objects, kind: &str, name: &str) -> bool {
    let text =
        |sink: &Value, field: &str| sink.get(field).and_then(Value::as_str).map(str::to_owned);
    let sinks = objects.runnables.iter();
    let sinks = sinks.filter_map(|it| it.value.pointer("/spec/writeOutputsTo")?.as_array());
    let mut sinks = sinks.flatten();
    sinks.any(|sink| {
        text(sink, "kind").as_deref() == Some(kind) && text(sink, "name").as_deref() == Some(name)
    })
}
