//! Inputs that come from other objects: which objects these are, and what they give. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use cartouche_crds::{
    API_VERSION, InputSource, MAX_SOURCES, Runnable, WaitFor, is_dns_label, is_dns_subdomain,
};
use cartouche_templating::{Room, Sourced, UnreadableText, given_twice, read_text, secret_mark};
use serde_json::Value;

use crate::{
    diagnosis::{Diagnosis, Fault},
    reconcile_error::{Category, ReconcileError, Requeue},
    sources::{Revision, Seen, Source, SourceKey, Value as Given},
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
    /// Its outputs are inputs of others.
    Runnable,
}

impl SourceKind {
    /// As manifests have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
            Self::Runnable => "Runnable",
        }
    }

    /// As paths have it.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
            Self::Runnable => "runnables",
        }
    }

    /// The `apiVersion` that it is read in.
    #[must_use]
    pub fn api_version(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::Secret => "v1",
            Self::Runnable => API_VERSION,
        }
    }

    /// What an input names of it.
    #[must_use]
    pub fn part(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::Secret => "key",
            Self::Runnable => "output",
        }
    }
}

/// An object that inputs come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceObject {
    /// Its kind.
    pub kind: SourceKind,
    /// Its namespace, if another is named than that of the Runnable which reads it.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl SourceObject {
    /// The object that an input comes from; none where nothing says from which.
    #[must_use]
    pub fn of(source: &InputSource) -> Option<Self> {
        let InputSource {
            config_map_key_ref: map,
            secret_key_ref: secret,
            runnable_ref: runnable,
            ..
        } = source;
        let (kind, namespace, name) = match (map, secret, runnable) {
            (Some(of), None, None) => (SourceKind::ConfigMap, None, &of.name),
            (None, Some(of), None) => (SourceKind::Secret, None, &of.name),
            (None, None, Some(of)) => (SourceKind::Runnable, of.namespace.clone(), &of.name),
            _ => return None,
        };
        Some(Self {
            kind,
            namespace,
            name: name.clone(),
        })
    }

    /// Its namespace, where the Runnable that reads it is in this one.
    #[must_use]
    pub fn namespace_in<'a>(&'a self, own: &'a str) -> &'a str {
        self.namespace.as_deref().unwrap_or(own)
    }

    /// Which source this key, or output, of it is to a Runnable of this namespace.
    #[must_use]
    pub fn source_key(&self, own: &str, key: &str) -> SourceKey {
        let namespace = self.namespace_in(own);
        match self.kind {
            SourceKind::ConfigMap => SourceKey::config_map(namespace, &self.name, key),
            SourceKind::Secret => SourceKey::secret(namespace, &self.name, key),
            SourceKind::Runnable => SourceKey::runnable(namespace, &self.name),
        }
    }
}

impl fmt::Display for SourceObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind.as_str())?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
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
    /// A Runnable.
    Runnable(Arc<RunnableRead>),
}

/// What was read of a Runnable.
#[derive(Clone, Debug)]
pub struct RunnableRead {
    /// Its outputs, at least those that are asked for.
    pub outputs: BTreeMap<String, Value>,
    /// What else of it decides about those that stem from it.
    pub seen: Arc<Seen>,
}

impl SourceRead {
    /// That of a Runnable, with these outputs.
    #[must_use]
    pub fn runnable(runnable: &Runnable, asked: &BTreeSet<&str>) -> Self {
        let outputs = runnable.status.iter().filter_map(|it| it.outputs.as_ref());
        let asked = outputs
            .flatten()
            .filter(|(name, _)| asked.contains(name.as_str()));
        Self::Runnable(Arc::new(RunnableRead {
            outputs: asked
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            seen: Arc::new(Seen::of(runnable)),
        }))
    }

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
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    fn check(self) -> Result<(), Self> {
        if self.is_nothing() { Ok(()) } else { Err(self) }
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

/// The key, or the output, that an input comes from; empty where nothing says from which.
#[must_use]
pub fn key(source: &InputSource) -> &str {
    let map = source.config_map_key_ref.as_ref().map(|of| &of.key);
    let secret = source.secret_key_ref.as_ref().map(|of| &of.key);
    let runnable = source.runnable_ref.as_ref().map(|of| &of.output);
    map.or(secret).or(runnable).map_or("", String::as_str)
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
            "give it either configMapKeyRef, secretKeyRef or runnableRef",
        ));
    };
    let kind = object.kind.as_str();
    if let Some(namespace) = object.namespace.as_ref().filter(|it| !is_dns_label(it)) {
        let what =
            format!("input {input} names the namespace {namespace:?}, which none can be called");
        return Some(fault(
            what,
            "give the name of one, or leave it out for the Runnable's own",
        ));
    }
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
    if object.kind == SourceKind::Runnable {
        let what = || format!("input {input} names no output of {object}");
        return key
            .is_empty()
            .then(|| fault(what(), "give the name of one"));
    }
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if key.is_empty() || key.len() > LONGEST_KEY || !key.chars().all(is_of_key) {
        let what = format!("input {input} names the key {key:?}, which no {kind} can have");
        return Some(fault(what, "give a key of letters, digits, -, _ and ."));
    }
    None
}

/// What was had of the sources of a Runnable.
#[derive(Debug, Default)]
pub struct Taken {
    /// The inputs, by name; those that are optional and not there are left out.
    pub values: BTreeMap<String, Sourced>,
    /// What each came from, as chains see it.
    pub sources: Vec<Source>,
    /// Why some cannot be had.
    pub wrong: NoInputs,
}

/// The inputs, by name, as far as their objects have been `read`; those that are optional and not there are left out.
pub fn values<'a>(
    sources: &[InputSource],
    read: impl Fn(&SourceObject) -> Option<&'a SourceRead>,
) -> Result<BTreeMap<String, Sourced>, NoInputs> {
    // In which namespace they are nobody asks here.
    let Taken { values, wrong, .. } = taken("", sources, read);
    wrong.check().map(|()| values)
}

/// The same, with what became of each source of a Runnable in this namespace.
pub fn taken<'a>(
    namespace: &str,
    sources: &[InputSource],
    read: impl Fn(&SourceObject) -> Option<&'a SourceRead>,
) -> Taken {
    let mut taken = Taken::default();
    let mut room = Room::default();
    for source in sources {
        let Some(object) = SourceObject::of(source) else {
            continue;
        };
        let optional = source.optional == Some(true);
        let (given, revision) = match value(source, &object, read(&object), &mut room) {
            Ok((value, revision)) => {
                taken.values.insert(source.name.clone(), value);
                (Given::Given, Some(revision))
            }
            Err(Wrong::Missing(_)) if optional => (Given::LeftOut, None),
            Err(Wrong::Missing(missing)) => {
                taken.wrong.missing.push(missing);
                (Given::Missing, None)
            }
            Err(Wrong::Fault(fault)) => {
                let why = fault.what.clone();
                taken.wrong.faults.push(fault);
                (Given::Unusable(why), None)
            }
        };
        let runnable = source.runnable_ref.as_ref();
        taken.sources.push(Source {
            key: object.source_key(namespace, key(source)),
            wait_for: runnable.and_then(|it| it.wait_for).unwrap_or_default(),
            value: given,
            revision,
        });
    }
    taken
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
) -> Result<(Sourced, Revision), Wrong> {
    let (input, key) = (&source.name, key(source));
    let from = || {
        format!(
            "input {input} comes from {} {key} of {object}",
            object.kind.part()
        )
    };
    match read {
        None | Some(SourceRead::Absent) => Err(absent(format!(
            "input {input} comes from {object}, which is not there"
        ))),
        Some(SourceRead::Secret(marks)) => {
            let mark = marks.get(key).ok_or_else(|| no_key(from()))?;
            let revision = Revision::of_mark(mark);
            Ok((Sourced::secret(&object.name, key, mark.clone()), revision))
        }
        Some(SourceRead::ConfigMap(map)) => {
            let reference = source.config_map_key_ref.as_ref();
            let read_as = reference.and_then(|it| it.read_as).unwrap_or_default();
            text(map, key, from).and_then(|text| {
                let value = read_text(text, read_as, room);
                let value = value.map_err(|error| unusable(&from(), &error))?;
                Ok((Sourced::plain(value), Revision::of_text(text)))
            })
        }
        Some(SourceRead::Runnable(of)) => {
            let revision = of.seen.revision.clone();
            let (value, revision) = of
                .outputs
                .get(key)
                .zip(revision)
                .ok_or_else(|| no_output(from(), of))?;
            room.take_value(value)
                .map_err(|error| unusable(&from(), &error))?;
            Ok((Sourced::plain(value.clone()), revision))
        }
    }
}

fn text<'a>(map: &'a Value, key: &str, from: impl Fn() -> String) -> Result<&'a str, Wrong> {
    let of = |field: &str| map.get(field).and_then(|data| data.get(key));
    of("data")
        .and_then(Value::as_str)
        .ok_or_else(|| match of("binaryData") {
            Some(_) => Wrong::Fault(fault(
                format!("{}, which is in its binaryData", from()),
                "give a key of data: an input is text or JSON",
            )),
            None => no_key(from()),
        })
}

fn unusable(from: &str, error: &UnreadableText) -> Wrong {
    let cure = "correct the value, or let the run read it itself";
    Wrong::Fault(fault(format!("{from}: {error}"), cure))
}

fn absent(what: String) -> Wrong {
    let cure = "create it, or set optional if the template can do without it";
    Wrong::Missing(fault(what, cure))
}

fn no_key(from: String) -> Wrong {
    absent(format!("{from}, which has no such key"))
}

fn no_output(from: String, of: &RunnableRead) -> Wrong {
    let (why, cure) = match of.seen.revision {
        None => (
            "which has given none yet",
            "see that it runs, or set optional if the template can do without it",
        ),
        Some(_) => (
            "which gives no such output",
            "correct its name, let that Runnable's template give it, or set optional if this one can do without it",
        ),
    };
    Wrong::Missing(fault(format!("{from}, {why}"), cure))
}

fn fault(what: String, cure: &str) -> Fault {
    Fault::new(what, Some(cure.to_owned()))
}

/// The Runnables that inputs of a Runnable in this namespace come from, and for what each is waited: the stricter, where several
/// inputs come from one.
#[must_use]
pub fn runnables(namespace: &str, sources: &[InputSource]) -> BTreeMap<SourceKey, WaitFor> {
    let mut all = BTreeMap::new();
    for source in sources {
        let Some((of, object)) = source.runnable_ref.as_ref().zip(SourceObject::of(source)) else {
            continue;
        };
        let asked = of.wait_for.unwrap_or_default();
        let wait_for = all.entry(object.source_key(namespace, "")).or_insert(asked);
        *wait_for = asked.max(*wait_for);
    }
    all
}

#[cfg(test)]
mod tests;
