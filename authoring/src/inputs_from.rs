//! Inputs that come from `ConfigMaps`, Secrets and other Runnables, if these are objects of files: by the functions of
//! the controller, with the places of faults.

mod absent;
mod meant;
pub mod object;
mod taking;
mod wrong;

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::InputSource;
use cartouche_protocol::{
    messages::diagnosis::Fault,
    references::{self, SourceKind, SourceObject},
    trace::SourceKey,
};
use cartouche_templating::Sourced;
use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    objects::{Objects, namespace_of},
    source::{Document, Segment, SourceSpan},
};

pub use absent::AbsentInput;
use taking::Taking;

/// Inputs of a Runnable that come from other objects, as files give them.
#[derive(Default)]
pub struct Given {
    /// The inputs by name, as far as they are known.
    pub values: BTreeMap<String, Sourced>,
    /// Places of these values.
    pub written: BTreeMap<String, SourceSpan>,
    /// Those whose object is not among the files.
    pub absent: Vec<AbsentInput>,
    /// Faults.
    pub findings: Vec<Finding>,
    /// The inputs that cannot be known since something is wrong.
    wrong: BTreeSet<String>,
    /// True if the uid of a Secret is not known. Its part of the hash follows from the uid.
    pub lacks_uid: bool,
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

    /// Returns the steps to one of its fields.
    fn steps(&self, fields: &[&str]) -> Vec<Segment> {
        let mut at = Segment::keys(["spec", FIELD]);
        at.push(Segment::Index(self.index));
        at.extend(Segment::keys(fields.iter().copied()));
        at
    }

    /// Returns the field that says where it comes from.
    fn reference(&self) -> &'static str {
        let object = SourceObject::from_source(&self.source);
        object.map_or("name", |object| object.kind.field())
    }

    fn key(&self) -> &str {
        references::key(&self.source)
    }
}

const FIELD: &str = "inputsFrom";

/// Returns the elements that can be read. The schema check reports the others.
fn entries(runnable: &Document) -> Vec<Entry> {
    let all: Vec<Value> = runnable.field(FIELD).unwrap_or_default();
    let read = |(index, value): (usize, Value)| {
        let source = serde_json::from_value(value).ok()?;
        Some(Entry { index, source })
    };
    all.into_iter().enumerate().filter_map(read).collect()
}

/// Reads the inputs of a Runnable from these objects.
#[must_use]
pub fn read_given(objects: &Objects, runnable: &Document) -> Given {
    let entries = entries(runnable);
    let mut given = Given::default();
    given.wrong.extend(unreadable(runnable));
    let wrong = wrong::find(runnable, &entries);
    given.findings.extend(wrong.findings);
    let mut taking = Taking::new(objects, runnable);
    for entry in entries {
        let object = SourceObject::read_in(namespace_of(runnable), &entry.source);
        match object.filter(|_| !wrong.indices.contains(&entry.index)) {
            Some(object) => taking.look(&mut given, entry, object),
            None => drop(given.wrong.insert(entry.name().to_owned())),
        }
    }
    taking.take(&mut given);
    given
}

/// Reference of a Runnable to another one, or to an object that outputs may be written to.
pub(crate) struct ReadReference {
    pub(crate) source: SourceKey,
    /// Place of the reference.
    pub(crate) place: SourceSpan,
}

/// Returns all such references of a Runnable, in the order of its inputs.
pub(crate) fn reads(runnable: &Document) -> Vec<ReadReference> {
    let own = namespace_of(runnable);
    let read = |entry: Entry| {
        let object = SourceObject::from_source(&entry.source)?;
        let is_other = object.is_runnable() && !object.name.is_empty();
        let source = is_other.then(|| object.source_key(own, entry.key()));
        Some(ReadReference {
            source: source.or_else(|| object.as_sink(own))?,
            place: runnable.place_at(&entry.steps(&[entry.reference(), "name"])),
        })
    };
    entries(runnable).into_iter().filter_map(read).collect()
}

/// Returns the names of elements that cannot be read.
fn unreadable(runnable: &Document) -> Vec<String> {
    let all: Vec<Value> = runnable.field(FIELD).unwrap_or_default();
    let broken = all
        .iter()
        .filter(|it| serde_json::from_value::<InputSource>((*it).clone()).is_err());
    let names = broken.filter_map(|it| Some(it.get("name")?.as_str()?.to_owned()));
    names.collect()
}

impl Given {
    fn note_wrong(&mut self, entry: &Entry, finding: Finding) {
        self.wrong.insert(entry.name().to_owned());
        self.findings.push(finding);
    }

    /// Returns the values, with those of absent Secrets: such an input is a reference, and is known without the Secret.
    pub(crate) fn known_values(&self) -> BTreeMap<String, Sourced> {
        let mut known = self.values.clone();
        for absent in self.absent.iter().filter(|it| it.is_secret()) {
            let value = Sourced::secret(&absent.object.name, &absent.key, String::new());
            known.insert(absent.input.clone(), value);
        }
        known
    }

    /// Returns the names of inputs that are given and whose values are not known.
    pub(crate) fn unknown_names(&self) -> Vec<&str> {
        let absent = self.absent.iter().filter(|it| !it.is_secret());
        let absent = absent.map(|it| it.input.as_str());
        absent
            .chain(self.wrong.iter().map(String::as_str))
            .collect()
    }

    /// Returns the Runnable with all its inputs, as its template reads it, and null for unknown values.
    #[must_use]
    pub fn complete(&self, runnable: &Document) -> Document {
        let mut seen = runnable.clone();
        let known = self.known_values();
        let unknown = self.unknown_names();
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

/// Returns the finding about a fault of the inputs of a Runnable.
fn finding(runnable: &Document, fault: Fault) -> Finding {
    let message = format!("Runnable {}: {}", runnable.name(), fault.what);
    Finding::error(Rule::Source, message)
        .label("this cannot be used")
        .maybe_help(fault.cure)
}

/// Returns the place of the entry that gives an input, or what is below it; `steps` lead there from the Runnable.
pub(crate) fn place_of_input(runnable: &Document, steps: &[Segment]) -> Option<SourceSpan> {
    let entry = entry_of(runnable, steps)?;
    Some(runnable.place_at(&entry.steps(&["name"])))
}

/// Returns true if an input, or what is below it, is a reference to a Secret.
pub(crate) fn is_of_secret(runnable: &Document, steps: &[Segment]) -> bool {
    let object = source_of(runnable, steps).and_then(|source| SourceObject::from_source(&source));
    object.is_some_and(|object| object.kind == SourceKind::Secret)
}

/// Returns the source of the input at these steps of a Runnable, if it comes from another object.
pub(crate) fn source_of(runnable: &Document, steps: &[Segment]) -> Option<InputSource> {
    entry_of(runnable, steps).map(|entry| entry.source)
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
