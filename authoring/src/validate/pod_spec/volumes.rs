//! Volumes of pods, and the mounts of containers.

use std::collections::{BTreeMap, BTreeSet};

use cartouche_language::suggestion;
use cartouche_templating::RUNNER_VOLUME;
use serde_json::Value;

use super::{Part, Pod, PodFault, is_merged, pods};
use crate::{objects::Objects, source::Document, template_file};

/// Prefix of the volumes that the cluster adds to pods.
const ADDED: &str = "kube-api-access-";

/// The sources of volumes that are in use.
const SOURCES: [&str; 11] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "hostPath",
    "image",
    "nfs",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// Volumes that profiles add to the pods of a template.
pub(super) struct Brought<'a> {
    names: Vec<&'a str>,
    /// True if a profile that is not known may add more.
    more: bool,
}

impl<'a> Brought<'a> {
    pub(super) fn collect(objects: &'a Objects, template: &Document) -> Self {
        let profiles = objects.profiles.iter();
        let run = template.value.pointer("/spec/template");
        let is_merged = run.is_some_and(is_merged);
        let has_files = template.value.pointer("/spec/runner").is_some();
        let pods = profiles
            .clone()
            .filter(|_| is_merged)
            .filter_map(|it| pods::of_profile(&it.value));
        let names = pods.filter_map(|pod| pod.volume_names()).flatten();
        let has_patches = |profile: &Document| profile.value.pointer("/spec/patches").is_some();
        Self {
            names: names.chain(has_files.then_some(RUNNER_VOLUME)).collect(),
            more: template_file::needs_profile(template) || profiles.clone().any(has_patches),
        }
    }
}

/// Returns the faults that no profile repairs.
pub(super) fn check(pod: &Pod<'_>) -> Vec<PodFault> {
    let mut faults = Vec::new();
    let mut seen = BTreeMap::new();
    for volume in &pod.volumes {
        let Some(name) = volume.name() else {
            continue;
        };
        if let Some(first) = seen.insert(name, volume) {
            let message = format!("the pod has two volumes '{name}'");
            let help = "rename or remove one of them";
            faults.push(twice((first, volume), "name", message, help));
        }
        faults.extend(two_sources(volume, name));
    }
    faults.extend(pod.containers.iter().flat_map(same_path));
    faults
}

/// Returns the fault of two parts with the same value in a field.
fn twice(
    (first, part): (&Part<'_>, &Part<'_>),
    key: &str,
    message: String,
    help: &str,
) -> PodFault {
    let (label, help) = ("it is there already", help.to_owned());
    PodFault::refused(&part.or_self(key), message, label, help).with(&first.or_self(key))
}

fn two_sources(volume: &Part<'_>, name: &str) -> Option<PodFault> {
    let members = volume.members().into_iter();
    // A misspelt one is an unknown field.
    let sources = members.filter(|(key, member)| SOURCES.contains(key) && !member.value.is_null());
    let sources: Vec<&str> = sources.map(|(key, _)| key).collect();
    let message = format!("the volume '{name}' is {} at once", sources.join(" and "));
    let help = "keep one of them, or make two volumes of it".to_owned();
    (sources.len() > 1).then(|| PodFault::refused(volume, message, "a volume is one thing", help))
}

fn same_path(container: &Part<'_>) -> Vec<PodFault> {
    let mut seen = BTreeMap::new();
    let mut faults = Vec::new();
    let mounts = container.items("volumeMounts");
    for mount in &mounts {
        let Some(path) = mount.text_of("mountPath") else {
            continue;
        };
        if let Some(first) = seen.insert(path, mount) {
            let message = format!("{} mounts two volumes at {path}", container.container());
            let help = "give one of them another mountPath";
            faults.push(twice((first, mount), "mountPath", message, help));
        }
    }
    faults
}

/// Finds mounts of volumes that do not exist.
pub(super) fn mounts(pod: &Pod<'_>, brought: &Brought<'_>) -> Vec<PodFault> {
    let Some(mut known) = pod.volume_names() else {
        return Vec::new();
    };
    known.extend(&brought.names);
    let missing = missing(pod, &known).into_iter();
    missing
        .map(|(container, mount, name)| {
            let what = format!(
                "{container} mounts the volume '{name}', and the pod has none of this name"
            );
            let meant = suggestion::slip(name, known.iter().copied());
            let help = cure(name, meant, "volumes of the pod");
            let fault = if meant.is_some() && !brought.more {
                PodFault::refused(&mount, what, "no such volume", help)
            } else {
                let help = format!("{help}; a profile may bring it as well");
                PodFault::surprise(&mount, what, "no such volume", help)
            };
            let volumes = pod.spec.as_ref().and_then(|spec| spec.get("volumes"));
            volumes.iter().fold(fault, PodFault::with)
        })
        .collect()
}

/// Finds mounts that a profile adds, of volumes that neither the profile nor any template of the files has.
pub(super) fn not_brought(objects: &Objects, profile: &Document, pod: &Pod<'_>) -> Vec<PodFault> {
    let Some(names) = templates_of(profile) else {
        return Vec::new();
    };
    let templates = objects.templates.iter();
    let templates = templates.filter(|it| names.contains(it.name()));
    let bodies = templates.filter_map(|it| it.value.pointer("/spec/template"));
    let bodies: Vec<&Value> = bodies.collect();
    let pods: Vec<Pod<'_>> = bodies.iter().flat_map(|body| pods::of_run(body)).collect();
    let of_templates: Option<Vec<BTreeSet<&str>>> = pods.iter().map(Pod::volume_names).collect();
    let (Some(of_templates), Some(own)) = (of_templates, pod.volume_names()) else {
        return Vec::new();
    };
    if bodies.len() < names.len() || pods.is_empty() {
        return Vec::new();
    }
    let known: BTreeSet<&str> = own
        .into_iter()
        .chain(of_templates.into_iter().flatten())
        .collect();
    let missing = missing(pod, &known).into_iter();
    missing
        .map(|(container, mount, name)| {
            let what = format!(
                "{container} mounts the volume '{name}', and neither this profile nor a template of its rules has it: such runs are refused"
            );
            let meant = suggestion::slip(name, known.iter().copied());
            let help = cure(name, meant, "volumes of podTemplate.spec");
            PodFault::surprise(&mount, what, "no such volume", help)
        })
        .collect()
}

/// Returns the templates that the rules of a profile name, or `None` if there is a rule for any template.
fn templates_of(profile: &Document) -> Option<BTreeSet<&str>> {
    let rules = profile.value.pointer("/spec/rules")?.as_array()?;
    let mut names = BTreeSet::new();
    for rule in rules {
        let templates = rule.get("templates")?.as_array()?;
        names.extend(templates.iter().filter_map(Value::as_str));
    }
    Some(names)
}

fn missing<'a>(pod: &Pod<'a>, known: &BTreeSet<&str>) -> Vec<(String, Part<'a>, &'a str)> {
    let mut missing = Vec::new();
    for container in &pod.containers {
        for mount in container.items("volumeMounts") {
            let name = mount.name().filter(|name| !name.starts_with(ADDED));
            if let Some(name) = name.filter(|name| !known.contains(name)) {
                missing.push((container.container(), mount.or_self("name"), name));
            }
        }
    }
    missing
}

fn cure(name: &str, meant: Option<&str>, to: &str) -> String {
    match meant {
        Some(meant) => format!("did you mean '{meant}'?"),
        None => format!(
            "add it under {to}: - {{name: {name}, emptyDir: {{}}}}, with the real source in the place of emptyDir"
        ),
    }
}
