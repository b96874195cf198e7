//! Inputs that come from `ConfigMaps` and Secrets, where these are objects of files: by the functions that the controller
//! has, with the places of what is wrong.

pub(crate) mod object;
mod wrong;

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::InputSource;
use cartouche_protocol::{
    diagnosis::Fault,
    sourced_inputs::{self, NoInputs, SourceKind, SourceObject},
};
use cartouche_templating::{Sourced, suggestion};
use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    objects::namespace_of,
    source::{Document, Segment, SourceSpan},
};

/// What files say of the inputs of a Runnable that come from other objects.
#[derive(Default)]
pub(crate) struct Given {
    /// The inputs by name, as far as they are known.
    pub(crate) values: BTreeMap<String, Sourced>,
    /// Where these are written.
    pub(crate) written: BTreeMap<String, SourceSpan>,
    /// Those whose object is not among the files.
    pub(crate) absent: Vec<Absent>,
    /// What is wrong.
    pub(crate) findings: Vec<Finding>,
    /// The inputs that cannot be known since something is wrong.
    wrong: BTreeSet<String>,
    /// Whether the uid of a Secret is not known, which its part of the hash follows from.
    pub(crate) lacks_uid: bool,
}

/// An input whose object is not among the files.
pub(crate) struct Absent {
    pub(crate) input: String,
    object: SourceObject,
    key: String,
    pub(crate) optional: bool,
    /// Where the object is named.
    place: SourceSpan,
}

/// An element of `spec.inputsFrom` that can be read.
struct Entry {
    index: usize,
    source: InputSource,
}

impl Entry {
    fn name(&self) -> &str {
        &self.source.name
    }

    fn slice(&self) -> &[InputSource] {
        std::slice::from_ref(&self.source)
    }

    /// The steps to one of its fields.
    fn steps(&self, fields: &[&str]) -> Vec<Segment> {
        let mut at = Segment::keys(["spec", FIELD]);
        at.push(Segment::Index(self.index));
        at.extend(Segment::keys(fields.iter().copied()));
        at
    }

    /// The field that says where it comes from.
    fn reference(&self) -> &'static str {
        let object = SourceObject::of(&self.source);
        object.map_or("name", |object| object.kind.field())
    }

    fn key(&self) -> &str {
        sourced_inputs::key(&self.source)
    }
}

const FIELD: &str = "inputsFrom";

/// The elements that can be read. What its schema says of the others is told elsewhere.
fn entries(runnable: &Document) -> Vec<Entry> {
    let all: Vec<Value> = runnable.field(FIELD).unwrap_or_default();
    let read = |(index, value): (usize, Value)| {
        let source = serde_json::from_value(value).ok()?;
        Some(Entry { index, source })
    };
    all.into_iter().enumerate().filter_map(read).collect()
}

/// What these objects say of the inputs of a Runnable.
pub(crate) fn given(objects: &[Document], runnable: &Document) -> Given {
    let entries = entries(runnable);
    let mut given = Given::default();
    given.wrong.extend(unreadable(runnable));
    let wrong = wrong::found(runnable, &entries);
    given.findings.extend(wrong.findings);
    for entry in &entries {
        let Some(object) = SourceObject::of(&entry.source) else {
            given.wrong.insert(entry.name().to_owned());
            continue;
        };
        if wrong.indices.contains(&entry.index) {
            given.wrong.insert(entry.name().to_owned());
        } else {
            given.take(objects, runnable, entry, object);
        }
    }
    given
}

/// The names of elements that cannot be read.
fn unreadable(runnable: &Document) -> Vec<String> {
    let all: Vec<Value> = runnable.field(FIELD).unwrap_or_default();
    let broken = all
        .iter()
        .filter(|it| serde_json::from_value::<InputSource>((*it).clone()).is_err());
    let names = broken.filter_map(|it| Some(it.get("name")?.as_str()?.to_owned()));
    names.collect()
}

impl Given {
    fn take(
        &mut self,
        objects: &[Document],
        runnable: &Document,
        entry: &Entry,
        object: SourceObject,
    ) {
        let name = entry.name().to_owned();
        let found = object::find(objects, namespace_of(runnable), &object);
        let [document] = found.as_slice() else {
            if found.is_empty() {
                return self.absent.push(Absent {
                    input: name,
                    key: entry.key().to_owned(),
                    optional: entry.source.optional == Some(true),
                    place: runnable.place_at(&entry.steps(&[entry.reference(), "name"])),
                    object,
                });
            }
            self.wrong.insert(name);
            return self.findings.push(twice_there(runnable, entry, &found));
        };
        match read(document, entry, &object) {
            Ok(values) => {
                let of_secret = object.kind == SourceKind::Secret && !values.is_empty();
                self.lacks_uid |= of_secret && object::lacks_uid(document);
                self.written
                    .insert(name, written(runnable, entry, document));
                self.values.extend(values);
            }
            Err(NoInputs { faults, missing }) => {
                self.wrong.insert(name);
                let at_key = runnable.place_at(&entry.steps(&[entry.reference(), "key"]));
                let found = |fault| {
                    let finding = finding(runnable, fault).at(at_key.clone());
                    beside(finding, &object, document)
                };
                self.findings.extend(faults.into_iter().map(found));
                let keys = || suggestion::hint(entry.key(), "it has", object::keys(document));
                let missing = missing.into_iter().map(found);
                self.findings
                    .extend(missing.map(|finding| finding.maybe_help(keys())));
            }
        }
    }

    /// The values as they are where nothing else is: an input from a Secret is known without it.
    pub(crate) fn known(&self) -> BTreeMap<String, Sourced> {
        let mut known = self.values.clone();
        for absent in self.absent.iter().filter(|it| it.is_secret()) {
            let value = Sourced::secret(&absent.object.name, &absent.key, String::new());
            known.insert(absent.input.clone(), value);
        }
        known
    }

    /// The inputs that are given, and of which nothing else is known.
    pub(crate) fn unknown(&self) -> Vec<&str> {
        let absent = self.absent.iter().filter(|it| !it.is_secret());
        let absent = absent.map(|it| it.input.as_str());
        absent
            .chain(self.wrong.iter().map(String::as_str))
            .collect()
    }

    /// The Runnable with all its inputs, as its template reads it, and null for what is not known.
    pub(crate) fn seen(&self, runnable: &Document) -> Document {
        let mut seen = runnable.clone();
        let known = self.known();
        let unknown = self.unknown();
        let Some(spec) = seen.value.get_mut("spec").and_then(Value::as_object_mut) else {
            return seen;
        };
        if known.is_empty() && unknown.is_empty() {
            return seen;
        }
        let inputs = spec
            .entry("inputs")
            .or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Some(inputs) = inputs.as_object_mut() {
            for name in unknown {
                inputs.entry(name).or_insert(Value::Null);
            }
            inputs.extend(known.into_iter().map(|(name, it)| (name, it.value)));
        }
        seen
    }
}

impl Absent {
    fn is_secret(&self) -> bool {
        self.object.kind == SourceKind::Secret
    }

    /// What to say where nothing can be rendered without it.
    pub(crate) fn finding(&self, runnable: &Document) -> Finding {
        let Self {
            input, object, key, ..
        } = self;
        let message = format!(
            "Runnable {}: input {input} comes from key {key} of {object}, which is not among these files",
            runnable.name()
        );
        Finding::error(Rule::Source, message)
            .at(self.place.clone())
            .label("not known here")
            .help(self.cure())
    }

    /// What to say where something was not checked without it; nothing where it is not needed.
    pub(crate) fn unchecked(&self, runnable: &Document) -> Option<Finding> {
        let Self { input, object, .. } = self;
        let message = format!(
            "what the template makes of the input {input} of Runnable {} was not checked: {object} is not among these files",
            runnable.name()
        );
        (!self.is_secret()).then(|| {
            Finding::note(Rule::Unchecked, message)
                .at(self.place.clone())
                .help(self.cure())
        })
    }

    /// What to say of one that is left out.
    pub(crate) fn left_out(&self) -> String {
        let Self { input, object, .. } = self;
        format!("input {input} is left out, since {object} is not among these files")
    }

    fn cure(&self) -> String {
        let Self { object, key, .. } = self;
        match object.kind {
            SourceKind::ConfigMap => {
                format!("give a file with {object}, which has {key} in its data")
            }
            SourceKind::Any => format!("give a file with {object}, which has a value at {key}"),
            SourceKind::Runnable => {
                format!("give a file with {object}, which has {key} in its status.outputs")
            }
            SourceKind::Secret => format!(
                "give a file with {object}, which has {key} in its stringData: any value will do, and none is shown"
            ),
        }
    }
}

/// What a fault of the inputs of a Runnable says to its author.
fn finding(runnable: &Document, fault: Fault) -> Finding {
    let message = format!("Runnable {}: {}", runnable.name(), fault.what);
    Finding::error(Rule::Source, message)
        .label("this cannot be used")
        .maybe_help(fault.cure)
}

/// What the controller would make of the object.
fn read(
    document: &Document,
    entry: &Entry,
    object: &SourceObject,
) -> Result<BTreeMap<String, Sourced>, NoInputs> {
    let keys = BTreeSet::from([entry.key()]);
    let read = object::read(document, object.kind, &keys).map_err(|unusable| NoInputs {
        faults: vec![unusable.fault(entry.name(), entry.key(), object)],
        ..NoInputs::default()
    })?;
    sourced_inputs::values(entry.slice(), |_| Some(&read))
}

fn twice_there(runnable: &Document, entry: &Entry, found: &[&Document]) -> Finding {
    let (input, object) = (entry.name(), SourceObject::of(&entry.source));
    let object = object.map(|it| it.to_string()).unwrap_or_default();
    let message = format!(
        "Runnable {}: input {input} comes from {object}, and there are {} of it among these files",
        runnable.name(),
        found.len()
    );
    let finding = Finding::error(Rule::Source, message)
        .at(runnable.place_at(&entry.steps(&[entry.reference(), "name"])))
        .label("which one?")
        .help("give one of them another name, or look at their folders one by one");
    let places = found.iter().map(|it| it.place_of(&["metadata", "name"]));
    places.fold(finding, |finding, place| {
        finding.with_note(format!("one is in {}", place.shown()))
    })
}

/// Says which object is meant. The line of a Secret is not shown: its value may stand there.
fn beside(finding: Finding, object: &SourceObject, document: &Document) -> Finding {
    let place = document.place_of(&["metadata", "name"]);
    match object.kind {
        SourceKind::ConfigMap | SourceKind::Runnable | SourceKind::Any => {
            finding.related(place, format!("{object} is this"))
        }
        SourceKind::Secret => finding.with_note(format!("{object} is in {}", place.shown())),
    }
}

/// Where a value is written: of a Secret, where it is referred to.
fn written(runnable: &Document, entry: &Entry, document: &Document) -> SourceSpan {
    let in_map = document.root.at(&["data", entry.key()]);
    match in_map.filter(|_| entry.source.config_map_key_ref.is_some()) {
        Some(node) => document.place(&node.span),
        None => runnable.place_at(&entry.steps(&[entry.reference(), "name"])),
    }
}

/// Where it is said that an input, or what is below it, comes from another object; `steps` lead there from the Runnable.
pub(crate) fn place_of_input(runnable: &Document, steps: &[Segment]) -> Option<SourceSpan> {
    let entry = entry_of(runnable, steps)?;
    Some(runnable.place_at(&entry.steps(&["name"])))
}

/// Whether an input, or what is below it, is a reference to a Secret.
pub(crate) fn is_of_secret(runnable: &Document, steps: &[Segment]) -> bool {
    let object = entry_of(runnable, steps).and_then(|entry| SourceObject::of(&entry.source));
    object.is_some_and(|object| object.kind == SourceKind::Secret)
}

fn entry_of(runnable: &Document, steps: &[Segment]) -> Option<Entry> {
    let [
        Segment::Key(spec),
        Segment::Key(inputs),
        Segment::Key(name),
        ..,
    ] = steps
    else {
        return None;
    };
    if (spec.as_str(), inputs.as_str()) != ("spec", "inputs")
        || runnable.root.at(&["spec", "inputs", name]).is_some()
    {
        return None;
    }
    let mut entries = entries(runnable).into_iter();
    entries.find(|entry| entry.name() == name)
}

#[cfg(test)]
mod tests;
