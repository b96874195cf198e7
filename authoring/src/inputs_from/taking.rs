//! Takes the inputs of a Runnable from the objects of files: first the source of each entry, and then all at once,
//! since together they have no more room than on a cluster.

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::{InputSource, ReadAs};
use cartouche_language::{suggestion, syntax};
use cartouche_protocol::{
    messages::diagnosis::Fault,
    references::{self, SourceKind, SourceObject},
    sourced_inputs::{self, SourceRead},
    sources::Value as Became,
};
use serde_json::Value;

use super::{
    Entry, Given,
    absent::{AbsentInput, MissingPart},
    finding, meant, object,
};
use crate::{
    finding::{Finding, Rule},
    objects::{Objects, namespace_of},
    source::{Document, SourceSpan, values},
    template_file::declared_outputs,
};

/// The entries of a Runnable that can be read, and the objects that they name.
pub(super) struct Taking<'a> {
    objects: &'a Objects,
    runnable: &'a Document,
    entries: Vec<Entry>,
    documents: BTreeMap<SourceObject, &'a Document>,
}

impl<'a> Taking<'a> {
    pub(super) fn new(objects: &'a Objects, runnable: &'a Document) -> Self {
        Self {
            objects,
            runnable,
            entries: Vec::new(),
            documents: BTreeMap::new(),
        }
    }

    /// Looks for the object of an entry. The findings say why its value is not known.
    pub(super) fn look(&mut self, given: &mut Given, entry: Entry, object: SourceObject) {
        let found = self.find(&object);
        let [document] = found.as_slice() else {
            if found.is_empty() {
                let meant = meant::finding(self.objects, self.runnable, &entry, &object);
                given.findings.extend(meant);
                let names = self.names(&object);
                let absent = AbsentInput::new(self.runnable, &entry, object, MissingPart::NoObject);
                return given.absent.push(absent.unless(&names));
            }
            let twice = self.twice_there(&entry, &object, &found);
            return given.note_wrong(&entry, twice);
        };
        if let Some(undeclared) = self.undeclared(&entry, &object, document) {
            if entry.source.optional != Some(true) {
                return given.note_wrong(&entry, undeclared);
            }
            given.findings.push(undeclared);
        }
        if object.kind == SourceKind::Runnable && object::lacks_outputs(document) {
            let absent = AbsentInput::new(self.runnable, &entry, object, MissingPart::NoOutputs);
            return given.absent.push(absent);
        }
        if let Err(unusable) = object::read(document, object.kind, &BTreeSet::from([entry.key()])) {
            let fault = unusable.fault(entry.name(), entry.key(), &object);
            let report = self.make_finding(&entry, fault, &object, document);
            return given.note_wrong(&entry, report);
        }
        self.documents.insert(object, document);
        self.entries.push(entry);
    }

    /// Returns the names of all objects of this kind.
    fn names(&self, object: &SourceObject) -> Vec<&'a str> {
        let identity = object.type_meta();
        let is_one = |it: &&Document| (it.api_version(), it.kind()) == identity;
        let found = self.objects.selectable().filter(is_one);
        found.map(Document::name).collect()
    }

    /// Finds the objects of a reference. An object as it is on a cluster takes precedence over its manifest.
    fn find(&self, object: &SourceObject) -> Vec<&'a Document> {
        let own = namespace_of(self.runnable);
        let live = object::find(&self.objects.others, own, object);
        if live.is_empty() && object.is_runnable() {
            return object::find(&self.objects.runnables, own, object);
        }
        live
    }

    /// Gives the values that the controller would make of all of them.
    pub(super) fn take(self, given: &mut Given) {
        let sources: Vec<InputSource> = self.entries.iter().map(|it| it.source.clone()).collect();
        let namespace = namespace_of(self.runnable);
        let documents = self.documents.iter();
        let reads: BTreeMap<&SourceObject, SourceRead> = documents
            .filter_map(|(object, document)| {
                let keys = references::keys(namespace, &sources, object);
                Some((object, object::read(document, object.kind, &keys).ok()?))
            })
            .collect();
        let taken = sourced_inputs::take_inputs(namespace, &sources, |object| reads.get(object));
        // Both are in the order of the entries.
        let mut faults = taken.wrong.faults.into_iter();
        let mut missing = taken.wrong.missing.into_iter();
        for (entry, became) in self.entries.iter().zip(taken.sources) {
            let object = SourceObject::read_in(namespace, &entry.source);
            let document = object.as_ref().and_then(|it| self.documents.get(it));
            let Some((object, document)) = object.as_ref().zip(document) else {
                continue;
            };
            let fault = match became.value {
                // One that is not ready holds runs back, and has its inputs.
                Became::Given | Became::ObjectNotReady => {
                    self.note_given(given, entry, object, document);
                    None
                }
                Became::LeftOut => None,
                Became::Unusable(_) => {
                    let hint = as_json(entry, document);
                    faults.next().map(|fault| (fault, hint))
                }
                Became::Missing => {
                    let hint = known(entry, object, document);
                    missing.next().map(|fault| (fault, hint))
                }
            };
            if let Some((fault, hint)) = fault {
                let report = self.make_finding(entry, fault, object, document);
                given.note_wrong(entry, report.maybe_help(hint));
            }
        }
        given.values.extend(taken.values);
    }

    fn note_given(&self, given: &mut Given, entry: &Entry, object: &SourceObject, file: &Document) {
        given.lacks_uid |= object.kind == SourceKind::Secret && object::lacks_uid(file);
        let place = self.written(entry, file);
        given.written.insert(entry.name().to_owned(), place);
    }

    /// Returns the place of a value: of a Secret, that of the reference to it.
    fn written(&self, entry: &Entry, document: &Document) -> SourceSpan {
        let (source, key) = (&entry.source, entry.key());
        let value = match (&source.config_map_key_ref, &source.runnable_ref) {
            (Some(_), None) => document.root.at(&["data", key]),
            (None, Some(_)) => document.root.at(&["status", "outputs", key]),
            _ => None,
        };
        match value {
            Some(node) => document.place(&node.span),
            None => (self.runnable).place_at(&entry.steps(&[entry.reference(), "name"])),
        }
    }

    /// Returns the finding about a fault, at the part of the object that is named.
    fn make_finding(
        &self,
        entry: &Entry,
        fault: Fault,
        object: &SourceObject,
        document: &Document,
    ) -> Finding {
        let part = entry.steps(&[entry.reference(), object.kind.part()]);
        let report = finding(self.runnable, fault).at(self.runnable.place_at(&part));
        let value = document.root.at(&["data", entry.key()]);
        match value.filter(|_| object.kind == SourceKind::ConfigMap) {
            Some(value) => {
                report.with_related(document.place(&value.span), format!("{object} has this"))
            }
            None => report.beside(document, format!("{object} is this")),
        }
    }

    /// Finds an output that the template of the Runnable will never give.
    fn undeclared(&self, entry: &Entry, object: &SourceObject, of: &Document) -> Option<Finding> {
        if object.kind != SourceKind::Runnable {
            return None;
        }
        let template = self.objects.template_of(of)?;
        let (declared, key) = (declared_outputs(template), entry.key());
        if declared.contains(&key) {
            return None;
        }
        let message = format!(
            "Runnable {}: input {} comes from output {key} of {object}, which its template {} does not declare",
            self.runnable.name(),
            entry.name(),
            template.name()
        );
        let finding = if entry.source.optional == Some(true) {
            Finding::warning(Rule::Source, format!("{message}: it is always left out"))
        } else {
            Finding::error(Rule::Source, message)
        };
        let help = suggestion::hint(key, "its outputs are", declared.iter().copied())
            .unwrap_or_else(|| "declare it under outputs of that template".to_owned());
        let part = entry.steps(&[entry.reference(), object.kind.part()]);
        let finding = finding
            .at(self.runnable.place_at(&part))
            .label("no such output")
            .help(help);
        Some(finding.beside(of, format!("{object} is this")))
    }

    fn twice_there(&self, entry: &Entry, object: &SourceObject, found: &[&Document]) -> Finding {
        let message = format!(
            "Runnable {}: input {} comes from {object}, and there are {} of it among these files",
            self.runnable.name(),
            entry.name(),
            found.len()
        );
        let at = entry.steps(&[entry.reference(), "name"]);
        let finding = Finding::error(Rule::Source, message)
            .at(self.runnable.place_at(&at))
            .label("which one?")
            .help("rename one of them, or check their folders one by one");
        let places = found.iter().map(|it| it.place_of(&["metadata", "name"]));
        places.fold(finding, |finding, place| {
            finding.with_note(format!("one is in {}", place.describe()))
        })
    }
}

/// Returns the cure of a text that has to be JSON, and is YAML, or JSON with other quotes.
fn as_json(entry: &Entry, document: &Document) -> Option<String> {
    let reference = entry.source.config_map_key_ref.as_ref();
    reference.filter(|it| it.read_as == Some(ReadAs::Json))?;
    let node = document.root.at(&["data", entry.key()])?;
    let text = node.text()?;
    let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok();
    if is_json(text) {
        return None;
    }
    if is_json(&text.replace('\'', "\"")) {
        let help = "JSON has double quotes: write them instead of the single ones";
        let place = document.place(&node.span);
        let is_quoted = place.text().starts_with('"');
        return Some(match place.source.text.trim_start().starts_with('{') {
            true if is_quoted => format!("{help}, each with a \\ before it"),
            false if is_quoted => format!("{help}, and put the value in single quotes"),
            _ => help.to_owned(),
        });
    }
    let read = values(text).ok()?;
    matches!(read.as_slice(), [Value::Array(_) | Value::Object(_)])
        .then(|| "this is YAML: write it as JSON".to_owned())
}

/// Returns the keys or outputs that the object has in place of one that is not there.
fn known(entry: &Entry, object: &SourceObject, document: &Document) -> Option<String> {
    let has = match object.kind {
        SourceKind::Runnable => "it gives",
        SourceKind::ConfigMap | SourceKind::Secret => "it has",
        SourceKind::Any => return misspelt_step(entry.key(), document),
    };
    suggestion::hint(entry.key(), has, object::keys(document))
}

/// Returns the field of an object whose name is close to a missing one on a path.
fn misspelt_step(path: &str, document: &Document) -> Option<String> {
    let mut value = &document.value;
    for step in syntax::steps(path) {
        let key = step.key()?;
        let Some(next) = value.get(key) else {
            let there = value.as_object().into_iter().flatten();
            let there = there.map(|(name, _)| name.as_str());
            let meant = suggestion::nearest(key, there)?;
            return Some(format!("did you mean '{meant}'?"));
        };
        value = next;
    }
    None
}
