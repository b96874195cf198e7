//! The pod that files are mounted into.

use cartouche_engines::{kinds, merge};
use cartouche_language::{Diagnostic, DiagnosticKind, Diagnostics, OpenPlace, Segment};
use serde_json::{Map, Value, json};

use super::{RenderedFile, field, file, wrong};

/// Name of the volume with the files.
pub const VOLUME: &str = "cartouche-runner";
const NAME: &str = "name";
const MOUNT_PATH: &str = "mountPath";
/// Maximum number of mounts that one run gets. A pod has far fewer, but inputs may decide how many containers
/// there are.
const MOST_MOUNTS: usize = 4096;

pub(super) struct RunnerPod<'a> {
    /// The steps to the pod in the document.
    at: Vec<Segment>,
    fields: &'a mut Map<String, Value>,
    problems: Vec<Diagnostic>,
}

impl<'a> RunnerPod<'a> {
    /// Returns the pod of a run.
    pub(super) fn find(document: &'a mut Value) -> Option<Self> {
        let pointer = kinds::known_fields_of(document)?.pod_template?;
        let steps = pointer.split('/').filter(|step| !step.is_empty());
        Some(Self {
            at: Segment::keys(steps),
            fields: document.pointer_mut(pointer)?.as_object_mut()?,
            problems: Vec::new(),
        })
    }

    /// Returns the fields of the pod.
    pub(super) fn fields(&self) -> &Map<String, Value> {
        self.fields
    }

    /// Adds files, and their open places to those of the run. Without names they are for all containers except
    /// init containers.
    pub(super) fn mount(
        mut self,
        files: Vec<RenderedFile>,
        containers: Option<&[String]>,
        open: &mut Vec<OpenPlace>,
    ) -> Result<(), Diagnostics> {
        let items = files.iter().map(|file| {
            let path = format!("metadata.annotations['{}']", file.annotation);
            json!({ "path": file.name, "fieldRef": { "fieldPath": path } })
        });
        let volume = json!({ NAME: VOLUME, "downwardAPI": { "items": items.collect::<Value>() } });
        self.add_volume(volume);
        let wanted = self.wanted(containers);
        if wanted.len().saturating_mul(files.len()) > MOST_MOUNTS {
            let (into, all) = (wanted.len(), files.len());
            let what = format!(
                "{all} files go into each of {into} containers, which is more than {MOST_MOUNTS} mounts"
            );
            self.refuse(Segment::keys(["runner"]), what);
            return Diagnostics::check(self.problems);
        }
        for (list, index) in wanted {
            self.add_to_container(list, index, &files);
        }
        for file in files {
            self.annotate(file, open);
        }
        Diagnostics::check(self.problems)
    }

    fn refuse(&mut self, at: Vec<Segment>, what: String) {
        self.problems.push(wrong(at, DiagnosticKind::plain(what)));
    }

    fn add_volume(&mut self, volume: Value) {
        let volumes = object(self.fields, "spec").and_then(|spec| list(spec, "volumes"));
        let at = Segment::keys(["runner"]);
        match volumes {
            None => self.refuse(
                at,
                "the pod of the run has no volumes that can be added to".into(),
            ),
            Some(volumes) if volumes.iter().any(|it| it.get(NAME) == volume.get(NAME)) => {
                self.refuse(at, format!("the run has a volume '{VOLUME}' already"));
            }
            Some(volumes) => volumes.push(volume),
        }
    }

    /// Returns the containers that files are mounted into: the list and the position in it.
    fn wanted(&mut self, names: Option<&[String]>) -> Vec<(&'static str, usize)> {
        let mut known = Vec::new();
        for list in ["containers", "initContainers"] {
            let spec = self.fields.get("spec").and_then(|spec| spec.get(list));
            let containers = spec.and_then(Value::as_array).into_iter().flatten();
            let places = containers.enumerate().map(|(index, container)| {
                let name = container
                    .get(NAME)
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                (name.to_owned(), (list, index))
            });
            known.extend(places);
        }
        let Some(names) = names else {
            let wanted = known.into_iter().map(|(_, place)| place);
            return wanted.filter(|(list, _)| *list == "containers").collect();
        };
        let mut wanted = Vec::new();
        for (position, name) in names.iter().enumerate() {
            if let Some((_, place)) = known.iter().find(|(known, _)| known == name) {
                wanted.push(*place);
            } else {
                let at = [field("containers"), vec![Segment::Index(position)]].concat();
                let known: Vec<&str> = known.iter().map(|(known, _)| known.as_str()).collect();
                let unknown = merge::unknown_container(name, &known);
                self.problems.push(wrong(at, unknown));
            }
        }
        wanted
    }

    fn add_to_container(&mut self, list_name: &str, index: usize, files: &[RenderedFile]) {
        let containers = object(self.fields, "spec").and_then(|spec| list(spec, list_name));
        let Some(Value::Object(container)) = containers.and_then(|list| list.get_mut(index)) else {
            return;
        };
        let name = container
            .get(NAME)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let mut found = Vec::new();
        for (place, made) in files.iter().enumerate() {
            let mount = json!({ NAME: VOLUME, MOUNT_PATH: made.path, "subPath": made.name, "readOnly": true });
            if !add(container, "volumeMounts", MOUNT_PATH, mount) {
                let what = format!(
                    "the container '{name}' has something at {} already",
                    made.path
                );
                found.push((made_at(files, place), what));
            }
            let Some(variable) = made.variable else {
                continue;
            };
            if !add(
                container,
                "env",
                NAME,
                json!({ NAME: variable, "value": made.path }),
            ) {
                let what = format!("the container '{name}' has a variable {variable} already");
                found.push((Segment::keys(["runner"]), what));
            }
        }
        for (at, what) in found {
            self.refuse(at, what);
        }
    }

    fn annotate(&mut self, file: RenderedFile, open: &mut Vec<OpenPlace>) {
        let annotations =
            object(self.fields, "metadata").and_then(|metadata| object(metadata, "annotations"));
        let at = Segment::keys(["runner"]);
        let RenderedFile {
            annotation,
            content,
            ..
        } = file;
        match annotations {
            None => self.refuse(
                at,
                "the pod of the run has no annotations that can be added to".into(),
            ),
            Some(all) if all.contains_key(&annotation) => {
                self.refuse(
                    at,
                    format!("the pod of the run has an annotation {annotation} already"),
                );
            }
            Some(all) => {
                let steps = Segment::keys(["metadata", "annotations", annotation.as_str()]);
                let at = [self.at.clone(), steps].concat();
                open.extend(content.place.map(|place| OpenPlace { at, ..place }));
                all.insert(annotation, content.text.into());
            }
        }
    }
}

/// Returns the place of a file in the template, by its position among all files.
fn made_at(files: &[RenderedFile], position: usize) -> Vec<Segment> {
    let of_template = files.iter().filter(|file| file.variable.is_some()).count();
    match position.checked_sub(of_template) {
        Some(index) => file(index, "path"),
        None => Segment::keys(["runner"]),
    }
}

/// Returns the object in a field, which is created if it is absent.
fn object<'a>(
    parent: &'a mut Map<String, Value>,
    field: &str,
) -> Option<&'a mut Map<String, Value>> {
    let value = parent.entry(field).or_insert(Value::Null);
    if value.is_null() {
        *value = json!({});
    }
    value.as_object_mut()
}

/// Returns the list in a field, which is created if it is absent.
fn list<'a>(parent: &'a mut Map<String, Value>, field: &str) -> Option<&'a mut Vec<Value>> {
    let value = parent.entry(field).or_insert(Value::Null);
    if value.is_null() {
        *value = json!([]);
    }
    value.as_array_mut()
}

/// Adds an element to a list, and returns true, if the field is a list without an element of the same key.
fn add(parent: &mut Map<String, Value>, field: &str, key: &str, element: Value) -> bool {
    let list =
        list(parent, field).filter(|list| list.iter().all(|it| it.get(key) != element.get(key)));
    let is_free = list.is_some();
    if let Some(list) = list {
        list.push(element);
    }
    is_free
}
