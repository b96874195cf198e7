//! Volumes of pods, and the mounts of containers.

use std::collections::BTreeSet;

use cartouche_templating::suggestion;
use serde_json::Value;

use super::{Fault, Part, Pod, pods};
use crate::{objects::Objects, source::Document, template_file};

/// Volumes that the cluster adds to pods begin so.
const ADDED: &str = "kube-api-access-";

/// Volumes that profiles add to the pods of a template.
pub(super) struct Brought<'a> {
    names: Vec<&'a str>,
    /// True if a profile that is not known may add more.
    more: bool,
}

impl<'a> Brought<'a> {
    pub(super) fn of(objects: &'a Objects, template: &Document) -> Self {
        let profiles = objects.profiles.iter();
        let pods = profiles
            .clone()
            .filter_map(|it| pods::of_profile(&it.value));
        let names = pods.filter_map(|pod| pod.volume_names()).flatten();
        let has_patches = |profile: &Document| profile.value.pointer("/spec/patches").is_some();
        Self {
            names: names.collect(),
            more: template_file::needs_profile(template) || profiles.clone().any(has_patches),
        }
    }
}

/// The faults that no profile mends.
pub(super) fn check(pod: &Pod<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for volume in &pod.volumes {
        let Some(name) = volume.name() else {
            continue;
        };
        if !seen.insert(name) {
            let message = format!("the pod has two volumes '{name}'");
            let help = "give one of them another name, or take one out";
            faults.push(twice(volume, message, help));
        }
        faults.extend(two_sources(volume, name));
    }
    faults.extend(pod.containers.iter().flat_map(same_path));
    faults
}

fn twice(part: &Part<'_>, message: String, help: &str) -> Fault {
    Fault::refused(
        &part.or_self("name"),
        message,
        "it is there already",
        help.to_owned(),
    )
}

fn two_sources(volume: &Part<'_>, name: &str) -> Option<Fault> {
    let members = volume.members().into_iter();
    let sources = members.filter(|(key, member)| *key != "name" && !member.value.is_null());
    let sources: Vec<&str> = sources.map(|(key, _)| key).collect();
    let message = format!("the volume '{name}' is {} at once", sources.join(" and "));
    let help = "keep one of them, or make two volumes of it".to_owned();
    (sources.len() > 1).then(|| Fault::refused(volume, message, "a volume is one thing", help))
}

fn same_path(container: &Part<'_>) -> Vec<Fault> {
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for mount in container.items("volumeMounts") {
        let Some(path) = mount.text_of("mountPath") else {
            continue;
        };
        if !seen.insert(path) {
            let message = format!("{} mounts two volumes at {path}", container.container());
            let help = "give one of them another mountPath".to_owned();
            let place = mount.or_self("mountPath");
            faults.push(Fault::refused(&place, message, "it is there already", help));
        }
    }
    faults
}

/// Mounts of volumes that there are not.
pub(super) fn mounts(pod: &Pod<'_>, brought: &Brought<'_>) -> Vec<Fault> {
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
            let mut help = cure(name, &known, "volumes of the pod");
            if brought.more {
                help = format!("{help}; a profile may bring it as well");
                return Fault::surprise(&mount, what, "no such volume", help);
            }
            Fault::refused(&mount, what, "no such volume", help)
        })
        .collect()
}

/// Mounts that a profile adds, of volumes that neither the profile nor any template of the files has.
pub(super) fn not_brought(objects: &Objects, pod: &Pod<'_>) -> Vec<Fault> {
    let templates = objects.templates.iter();
    let bodies = templates.filter_map(|it| it.value.pointer("/spec/template"));
    let bodies: Vec<&Value> = bodies.collect();
    let pods: Vec<Pod<'_>> = bodies.iter().flat_map(|body| pods::of_run(body)).collect();
    let of_templates: Option<Vec<Vec<&str>>> = pods.iter().map(Pod::volume_names).collect();
    let (Some(of_templates), Some(own)) = (of_templates, pod.volume_names()) else {
        return Vec::new();
    };
    if pods.is_empty() {
        return Vec::new();
    }
    let known: Vec<&str> = own
        .into_iter()
        .chain(of_templates.into_iter().flatten())
        .collect();
    let missing = missing(pod, &known).into_iter();
    missing
        .map(|(container, mount, name)| {
            let what = format!(
                "{container} mounts the volume '{name}', and neither this profile nor a template among these files has it: such runs are refused"
            );
            let help = cure(name, &known, "volumes of podTemplate.spec");
            Fault::surprise(&mount, what, "no such volume", help)
        })
        .collect()
}

fn missing<'a>(pod: &Pod<'a>, known: &[&str]) -> Vec<(String, Part<'a>, &'a str)> {
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

fn cure(name: &str, known: &[&str], to: &str) -> String {
    match suggestion::nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean '{meant}'?"),
        None => format!(
            "add it under {to}: - {{name: {name}, emptyDir: {{}}}}, with what it is to hold in the place of emptyDir"
        ),
    }
}
