//! Inputs that come from other objects: which objects these are, and what they give. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use cartouche_crds::{ConfigMapKeyRef, InputSource, MAX_SOURCES, SecretKeyRef, is_dns_subdomain};
use cartouche_templating::{Room, Sourced, given_twice, read_text, secret_mark};
use serde_json::Value;

use crate::{
    diagnosis::{Diagnosis, Fault},
    reconcile_error::{Category, ReconcileError, Requeue},
};

/// Keys of `ConfigMaps` and Secrets have so many characters at most.
const LONGEST_KEY: usize = 253;

/// A kind of object that inputs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SourceKind {
    /// Anybody may see it who may see the run.
    ConfigMap,
    /// Its values are seen by nobody.
    Secret,
}

impl SourceKind {
    /// As manifests have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }

    /// As paths have it.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
        }
    }
}

/// An object that inputs come from, in the namespace of the Runnable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceObject {
    /// Its kind.
    pub kind: SourceKind,
    /// Its name.
    pub name: String,
}

impl SourceObject {
    /// The object that an input comes from; none where nothing says from which.
    #[must_use]
    pub fn of(source: &InputSource) -> Option<Self> {
        let (kind, name) = match (&source.config_map_key_ref, &source.secret_key_ref) {
            (Some(of), None) => (SourceKind::ConfigMap, &of.name),
            (None, Some(of)) => (SourceKind::Secret, &of.name),
            _ => return None,
        };
        Some(Self {
            kind,
            name: name.clone(),
        })
    }
}

impl fmt::Display for SourceObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.name)
    }
}

/// What a read of such an object said.
#[derive(Clone, Debug)]
pub enum SourceRead {
    /// It is not there.
    Absent,
    /// A `ConfigMap`: its `data` and `binaryData`, at least the keys that are asked for.
    ConfigMap(Arc<Value>),
    /// A Secret: of its keys, at least of those that are asked for, what stands for their values in hashes.
    Secret(BTreeMap<String, String>),
}

impl SourceRead {
    /// That of a Secret with these values.
    #[must_use]
    pub fn secret<'a>(uid: &str, values: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let marks = values.into_iter();
        let marks = marks.map(|(key, value)| (key.to_owned(), secret_mark(uid, key, value)));
        Self::Secret(marks.collect())
    }
}

/// Why inputs cannot be had: all that is wrong at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoInputs {
    /// What somebody has to correct.
    pub faults: Vec<Fault>,
    /// What is not there.
    pub missing: Vec<Fault>,
}

impl NoInputs {
    fn check(self) -> Result<(), Self> {
        if self == Self::default() {
            Ok(())
        } else {
            Err(self)
        }
    }

    /// The error of the Runnable. What is missing is waited for, and looked for again after this time; a fault only a change
    /// ends.
    #[must_use]
    pub fn error(self, again: Duration) -> ReconcileError {
        let (category, requeue) = if self.faults.is_empty() {
            (Category::DependencyNotReady, Requeue::After(again))
        } else {
            (Category::SourceError, Requeue::OnChange)
        };
        let all = self.faults.into_iter().chain(self.missing);
        let diagnosis = Diagnosis::Sources(all.collect());
        ReconcileError::caused(category, requeue, diagnosis, None)
    }
}

/// The keys of one object that are asked for.
#[must_use]
pub fn keys<'a>(sources: &'a [InputSource], object: &SourceObject) -> BTreeSet<&'a str> {
    let of_object = |source: &&InputSource| SourceObject::of(source).as_ref() == Some(object);
    sources.iter().filter(of_object).map(key).collect()
}

/// The key that an input comes from; empty where nothing says from which.
#[must_use]
pub fn key(source: &InputSource) -> &str {
    match (&source.config_map_key_ref, &source.secret_key_ref) {
        (Some(ConfigMapKeyRef { key, .. }), _) | (None, Some(SecretKeyRef { key, .. })) => key,
        (None, None) => "",
    }
}

/// What is wrong with them whatever the objects say; then nothing of them is read.
pub fn check(
    inputs: Option<&BTreeMap<String, Value>>,
    sources: &[InputSource],
) -> Result<(), NoInputs> {
    let mut faults: Vec<Fault> = Vec::new();
    if sources.len() > MAX_SOURCES {
        let what = format!(
            "spec.inputsFrom has {} entries, more than {MAX_SOURCES}",
            sources.len()
        );
        faults.push(fault(what, "take some of them out"));
    }
    let twice = given_twice(inputs, sources).into_iter().map(|name| {
        let what = format!("input {name} is given twice, in spec.inputs or spec.inputsFrom");
        fault(what, "take one of them away, or rename it")
    });
    faults.extend(twice.chain(sources.iter().filter_map(wrong_reference)));
    NoInputs {
        faults,
        missing: Vec::new(),
    }
    .check()
}

/// What is wrong with a reference that can name nothing.
fn wrong_reference(source: &InputSource) -> Option<Fault> {
    let input = &source.name;
    let Some(object) = SourceObject::of(source) else {
        let what = format!("input {input} has no kind of source, or more than one");
        return Some(fault(
            what,
            "give it either configMapKeyRef or secretKeyRef",
        ));
    };
    let kind = object.kind.as_str();
    if !is_dns_subdomain(&object.name) {
        let what = format!(
            "input {input} names {:?}, which no {kind} can be called",
            object.name
        );
        return Some(fault(
            what,
            "give the name of one, which is a lower-case DNS name",
        ));
    }
    let key = key(source);
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if key.is_empty() || key.len() > LONGEST_KEY || !key.chars().all(is_of_key) {
        let what = format!("input {input} names the key {key:?}, which no {kind} can have");
        return Some(fault(what, "give a key of letters, digits, -, _ and ."));
    }
    None
}

/// The inputs, by name, as far as their objects have been `read`; those that are optional and not there are left out.
pub fn values<'a>(
    sources: &[InputSource],
    read: impl Fn(&SourceObject) -> Option<&'a SourceRead>,
) -> Result<BTreeMap<String, Sourced>, NoInputs> {
    let (mut values, mut wrong) = (BTreeMap::new(), NoInputs::default());
    let mut room = Room::default();
    for source in sources {
        let Some(object) = SourceObject::of(source) else {
            continue;
        };
        match value(source, &object, read(&object), &mut room) {
            Ok(value) => drop(values.insert(source.name.clone(), value)),
            Err(Wrong::Missing(_)) if source.optional == Some(true) => {}
            Err(Wrong::Missing(missing)) => wrong.missing.push(missing),
            Err(Wrong::Fault(fault)) => wrong.faults.push(fault),
        }
    }
    wrong.check().map(|()| values)
}

enum Wrong {
    Missing(Fault),
    Fault(Fault),
}

fn value(
    source: &InputSource,
    object: &SourceObject,
    read: Option<&SourceRead>,
    room: &mut Room,
) -> Result<Sourced, Wrong> {
    let (input, key) = (&source.name, key(source));
    let missing = |what: String| {
        Wrong::Missing(fault(
            what,
            "create it, or set optional if the template can do without it",
        ))
    };
    let no_key = || {
        missing(format!(
            "input {input} comes from key {key} of {object}, which has no such key"
        ))
    };
    match read {
        None | Some(SourceRead::Absent) => Err(missing(format!(
            "input {input} comes from {object}, which is not there"
        ))),
        Some(SourceRead::Secret(marks)) => {
            let mark = marks.get(key).ok_or_else(no_key)?;
            Ok(Sourced::secret(&object.name, key, mark.clone()))
        }
        Some(SourceRead::ConfigMap(map)) => {
            let of = |field: &str| map.get(field).and_then(|data| data.get(key));
            let Some(text) = of("data").and_then(Value::as_str) else {
                return Err(match of("binaryData") {
                    Some(_) => Wrong::Fault(fault(
                        format!(
                            "input {input} comes from key {key} of {object}, which is in its binaryData"
                        ),
                        "give a key of data: an input is text or JSON",
                    )),
                    None => no_key(),
                });
            };
            let reference = source.config_map_key_ref.as_ref();
            let read_as = reference.and_then(|it| it.read_as).unwrap_or_default();
            read_text(text, read_as, room)
                .map(Sourced::plain)
                .map_err(|error| {
                    let what = format!("input {input} comes from key {key} of {object}: {error}");
                    Wrong::Fault(fault(
                        what,
                        "correct the value, or let the run read it itself",
                    ))
                })
        }
    }
}

fn fault(what: String, cure: &str) -> Fault {
    Fault::new(what, Some(cure.to_owned()))
}

#[cfg(test)]
mod tests;
