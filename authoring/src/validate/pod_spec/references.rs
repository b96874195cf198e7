//! Objects that pods name, if one with a similar name is among the files.
//!
//! Only a cluster knows which objects there are. A name that is like none of the files gives no finding, nor does one
//! that any other object of the files has in a text, since that object may make it.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use cartouche_engines::OBJECTS_OF_VOLUMES;
use cartouche_language::suggestion;
use serde_json::Value;

use super::{Part, Pod, PodFault};
use crate::{objects::Objects, source::Document};

const CONFIG_MAP: &str = "ConfigMap";
const SECRET: &str = "Secret";
/// Objects that each namespace has.
const EVERYWHERE: [&str; 6] = [
    "default",
    "kube-root-ca.crt",
    // On OpenShift.
    "builder",
    "deployer",
    "openshift-service-ca.crt",
    "pipeline",
];

/// A name in a pod, of an object of a kind, with the keys of it that are read.
struct Reference<'a> {
    kind: &'static str,
    name: Part<'a>,
    keys: Vec<Part<'a>>,
}

impl<'a> Reference<'a> {
    /// Returns `None` for an object that the pod can do without.
    fn new(kind: &'static str, part: &Part<'a>, name: &str) -> Option<Self> {
        let is_optional = part.value.get("optional") == Some(&Value::Bool(true));
        let name = part.get(name).filter(|_| !is_optional)?;
        let keys = part.get("key").into_iter().collect();
        Some(Self { kind, name, keys })
    }
}

/// The objects of the files, by kind and name, for runs in some namespaces.
struct FileObjects<'a> {
    objects: &'a Objects,
    by_name: BTreeMap<(&'a str, &'a str), Vec<&'a Document>>,
    namespaces: &'a BTreeSet<&'a str>,
    texts: OnceCell<BTreeSet<&'a str>>,
}

/// Returns the faults in the references of pods. Without namespaces, or with an unknown one, every namespace counts.
pub(super) fn check(
    objects: &Objects,
    pods: &[Pod<'_>],
    namespaces: &BTreeSet<&str>,
) -> Vec<PodFault> {
    let mut by_name: BTreeMap<(&str, &str), Vec<&Document>> = BTreeMap::new();
    for object in objects.others.iter().filter(|it| it.api_version() == "v1") {
        let of_name = by_name.entry((object.kind(), object.name())).or_default();
        of_name.push(object);
    }
    let files = FileObjects {
        objects,
        by_name,
        namespaces,
        texts: OnceCell::new(),
    };
    let of_pod = |pod| {
        let all = references(pod);
        let faults = all.iter().flat_map(|it| files.misspelt(it, &all));
        faults.collect::<Vec<_>>()
    };
    pods.iter().flat_map(of_pod).collect()
}

fn references<'a>(pod: &Pod<'a>) -> Vec<Reference<'a>> {
    let mut all = Vec::new();
    if let Some(spec) = &pod.spec {
        all.extend(Reference::new("ServiceAccount", spec, "serviceAccountName"));
    }
    for container in &pod.containers {
        let env = container.items("env");
        let from_key = env.iter().filter_map(|it| it.get("valueFrom"));
        let fields = ["configMapKeyRef", "secretKeyRef"];
        all.extend(from_key.flat_map(|it| of_source(&it, fields)));
        let whole = container.items("envFrom");
        let fields = ["configMapRef", "secretRef"];
        all.extend(whole.iter().flat_map(|it| of_source(it, fields)));
    }
    all.extend(pod.volumes.iter().flat_map(of_volume));
    all
}

/// Returns the objects below the fields for a `ConfigMap` and for a Secret.
fn of_source<'a>(source: &Part<'a>, fields: [&str; 2]) -> Vec<Reference<'a>> {
    let fields = fields.into_iter().zip([CONFIG_MAP, SECRET]);
    let of = |(field, kind)| Reference::new(kind, &source.get(field)?, "name");
    fields.filter_map(of).collect()
}

fn of_volume<'a>(volume: &Part<'a>) -> Vec<Reference<'a>> {
    let projected = volume.get("projected");
    let mut sources = projected.map_or_else(Vec::new, |it| it.items("sources"));
    sources.push(volume.clone());
    let rows = |source: &Part<'a>| {
        let of = OBJECTS_OF_VOLUMES.into_iter();
        let found = of.filter_map(|(kind, field, name)| {
            let part = source.get(field)?;
            let items = part.items("items");
            Some(Reference {
                keys: items.iter().filter_map(|item| item.get("key")).collect(),
                ..Reference::new(kind, &part, name)?
            })
        });
        found.collect::<Vec<_>>()
    };
    sources.iter().flat_map(rows).collect()
}

impl<'a> FileObjects<'a> {
    /// Returns the faults of a name or of keys that are close to those of the files, beside all names of the pod.
    fn misspelt(&self, reference: &Reference<'_>, all: &[Reference<'_>]) -> Vec<PodFault> {
        let Some(name) = reference.name.text() else {
            return Vec::new();
        };
        match self.by_name.get(&(reference.kind, name)) {
            Some(named) => {
                let here: Vec<&Document> = named
                    .iter()
                    .copied()
                    .filter(|object| self.is_here(object))
                    .collect();
                misspelt_keys(reference, &here, name)
            }
            None => (self.misspelt_name(reference, name, all))
                .into_iter()
                .collect(),
        }
    }

    fn misspelt_name(
        &self,
        reference: &Reference<'_>,
        name: &str,
        all: &[Reference<'_>],
    ) -> Option<PodFault> {
        if EVERYWHERE.contains(&name) || self.texts().contains(name) {
            return None;
        }
        let kind = reference.kind;
        let of_kind = self.by_name.iter().filter(|((it, _), objects)| {
            *it == kind && objects.iter().any(|object| self.is_here(object))
        });
        let meant = suggestion::slip_or_ending(name, of_kind.map(|((_, name), _)| *name))?;
        // A pod that names both, such as `deploy` and `deployer`, means both.
        let is_ending = name.starts_with(meant) || meant.starts_with(name);
        let mut others = all.iter().filter(|it| it.kind == kind);
        if is_ending && others.any(|it| it.name.text() == Some(meant)) {
            return None;
        }
        let message = format!(
            "there is no {kind} '{name}' among these files: a pod that names it does not start without it"
        );
        let help = format!("did you mean '{meant}'?");
        let label = "not among these files";
        Some(PodFault::surprise(&reference.name, message, label, help))
    }

    fn is_here(&self, object: &Document) -> bool {
        let (namespace, all) = (object.namespace(), self.namespaces);
        let is_any = namespace.is_empty() || all.is_empty() || all.contains("");
        is_any || all.contains(namespace)
    }

    /// Returns the texts of other objects, and the names of sinks and of the objects that templates make.
    fn texts(&self) -> &BTreeSet<&'a str> {
        self.texts.get_or_init(|| {
            let mut texts = BTreeSet::new();
            for object in &self.objects.others {
                collect(&object.value, &mut texts);
            }
            let templates = self.objects.templates.iter();
            let made = templates.filter_map(|it| it.value.pointer("/spec/template/metadata"));
            let runnables = self.objects.runnables.iter();
            let sinks = runnables.filter_map(|it| it.value.pointer("/spec/writeOutputsTo"));
            made.chain(sinks).for_each(|it| collect(it, &mut texts));
            texts
        })
    }
}

fn collect<'a>(value: &'a Value, texts: &mut BTreeSet<&'a str>) {
    match value {
        Value::String(text) => drop(texts.insert(text)),
        Value::Array(items) => items.iter().for_each(|it| collect(it, texts)),
        Value::Object(members) => members.values().for_each(|it| collect(it, texts)),
        _ => {}
    }
}

fn misspelt_keys(reference: &Reference<'_>, named: &[&Document], name: &str) -> Vec<PodFault> {
    let known: BTreeSet<&str> = named.iter().flat_map(|it| keys(it)).collect();
    let kind = reference.kind;
    let fault = |part: &Part<'_>| {
        let key = part.text().filter(|key| !known.contains(key))?;
        let meant = suggestion::slip(key, known.iter().copied())?;
        let message = format!(
            "{kind} {name} has no key '{key}' in its file: a pod that reads it does not start"
        );
        let help = format!("did you mean '{meant}'?");
        Some(PodFault::surprise(part, message, "no such key", help))
    };
    reference.keys.iter().filter_map(fault).collect()
}

fn keys(object: &Document) -> impl Iterator<Item = &str> {
    let fields = ["data", "stringData", "binaryData"].into_iter();
    let values = fields.filter_map(|field| object.value.get(field)?.as_object());
    values.flatten().map(|(key, _)| key.as_str())
}
