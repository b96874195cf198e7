//! The files of an existing run, found in its pod.

use std::collections::BTreeMap;

use cartouche_language::Segment;
use serde_json::Value;

use super::{pod::VOLUME, to_annotations};

/// A file of a run, and the annotation that contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOfRun {
    /// The steps to the annotation.
    pub at: Vec<Segment>,
    /// The path of the file in the containers.
    pub path: String,
}

/// Returns the files that the containers of a run get, from the annotations that its pod mounts. An annotation
/// that is not mounted is no file, whatever its name.
#[must_use]
pub fn files_of_run(run: &Value) -> Vec<FileOfRun> {
    let Some(annotations) = to_annotations(run) else {
        return Vec::new();
    };
    let Some(pod) = annotations.strip_suffix("/metadata/annotations") else {
        return Vec::new();
    };
    let Some(spec) = run.pointer(&format!("{pod}/spec")) else {
        return Vec::new();
    };
    let paths = mounted_at(spec);
    let steps = annotations.split('/').filter(|step| !step.is_empty());
    let steps = Segment::keys(steps);
    let items = list(spec, "volumes").filter(|volume| text(volume, "name") == VOLUME);
    let items = items.filter_map(|volume| volume.pointer("/downwardAPI/items")?.as_array());
    let file = |item: &Value| {
        let field = item.pointer("/fieldRef/fieldPath")?.as_str()?;
        let key = field.strip_prefix("metadata.annotations['")?;
        let key = key.strip_suffix("']")?.to_owned();
        let path = (*paths.get(text(item, "path"))?).to_owned();
        let at = [steps.as_slice(), &[Segment::Key(key)]].concat();
        Some(FileOfRun { at, path })
    };
    items.flatten().filter_map(file).collect()
}

/// Returns the paths of the volume's files in the containers, by their names in the volume.
fn mounted_at(spec: &Value) -> BTreeMap<&str, &str> {
    let containers = ["containers", "initContainers"];
    let containers = containers.iter().flat_map(|all| list(spec, all));
    let mounts = containers.flat_map(|container| list(container, "volumeMounts"));
    let mut paths = BTreeMap::new();
    for mount in mounts.filter(|mount| text(mount, "name") == VOLUME) {
        let path = text(mount, "mountPath");
        paths.entry(text(mount, "subPath")).or_insert(path);
    }
    paths
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    let found = value.get(name).and_then(Value::as_array);
    found.into_iter().flatten()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
