//! What was read of the objects that inputs come from. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cartouche_crds::{InputSource, ReadAs, Runnable, SensitiveOutput};
use cartouche_templating::{
    Fields, NoValue,
    bounds::{MAX_WEIGHT, takes},
    is_run, secret_mark,
    weight::{weight, weight_of_text},
};
use serde_json::{Map, Value, json};

use super::there::kept;
use crate::{object::too_heavy, references::SourceObject, sources::Seen};

/// What a read of such an object said.
#[derive(Clone, Debug)]
pub enum SourceRead {
    /// It is not there.
    Absent,
    /// A `ConfigMap`: its `data` and `binaryData`, at least the keys that are asked for.
    ConfigMap(Arc<Value>),
    /// A Secret: of its keys, at least of those that are asked for, what stands for their values in hashes.
    Secret(BTreeMap<String, String>),
    /// A Secret that is a run: a status shows its uid, which is the key of what would stand for its values.
    SecretRun,
    /// A Runnable.
    Runnable(RunnableRead),
    /// An object of any kind.
    Object(ObjectRead),
    /// More than one has the labels: the names of two.
    Several(Vec<String>),
}

/// What was read of a Runnable.
#[derive(Clone, Debug)]
pub struct RunnableRead {
    /// Its outputs, at least those that are asked for.
    outputs: Arc<Value>,
    /// The names of those that it has, if it lacks one that is asked for, up to a bound.
    pub(super) others: Vec<String>,
    /// Those of them that stand in Secrets only.
    pub sensitive: BTreeMap<String, SensitiveOutput>,
    /// What else of it decides about those that stem from it.
    pub seen: Arc<Seen>,
    /// The same, as far as something newer is known. It says why an output is not there, and whether one is on its way; no run is made
    /// or held back by it.
    pub(super) newest: Arc<Seen>,
}

/// What was read of an object of any kind.
#[derive(Clone, Debug)]
pub struct ObjectRead {
    /// The values at the paths that are asked for.
    fields: Arc<Value>,
    /// Why there is none at the others.
    pub without: BTreeMap<String, NoValue>,
    /// Whether it says that it is not ready.
    pub is_ready: bool,
    /// Its name.
    pub name: String,
    /// Its namespace; empty if it is one of the cluster.
    pub namespace: String,
}

impl SourceRead {
    /// That of a `ConfigMap` with this uid and the keys that are asked for; with the names of the others, up to a bound, if it
    /// lacks one of these.
    #[must_use]
    pub fn config_map(
        uid: &str,
        mut data: BTreeMap<String, String>,
        mut binary: BTreeMap<String, String>,
        asked: &BTreeSet<&str>,
    ) -> Self {
        let is_there = |key: &&str| data.contains_key(*key) || binary.contains_key(*key);
        let others = (!asked.iter().all(is_there)).then(|| kept(data.keys()));
        data.retain(|key, _| asked.contains(key.as_str()));
        binary.retain(|key, _| asked.contains(key.as_str()));
        // That it is there is all that matters.
        binary.values_mut().for_each(String::clear);
        let mut map = json!({
            "metadata": { "uid": uid }, "data": data, "binaryData": binary,
        });
        if let Some(others) = others {
            map["keys"] = others.into();
        }
        Self::ConfigMap(Arc::new(map))
    }

    /// That of a Secret with this metadata and these values.
    #[must_use]
    pub fn secret<'a>(
        metadata: &Value,
        values: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Self {
        if is_run(metadata) {
            return Self::SecretRun;
        }
        let uid = metadata.get("uid").and_then(Value::as_str);
        let uid = uid.unwrap_or_default();
        let marks = values.into_iter();
        let marks = marks.map(|(key, value)| (key.to_owned(), secret_mark(uid, key, value)));
        Self::Secret(marks.collect())
    }

    /// That of a Runnable, with the outputs that are asked for.
    #[must_use]
    pub fn runnable(runnable: &Runnable, asked: &BTreeSet<&str>) -> Self {
        let outputs = runnable.status.iter().filter_map(|it| it.outputs.as_ref());
        let others = others(runnable, asked);
        let outputs = outputs.flatten();
        let given = outputs.filter(|(name, _)| asked.contains(name.as_str()));
        let given: Map<String, Value> = given
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let seen = Seen::of(runnable);
        let sensitive = runnable.status.iter().flat_map(|it| &it.sensitive_outputs);
        let sensitive = sensitive
            .filter(|(name, _)| asked.contains(name.as_str()) && !seen.behind.contains(*name));
        let sensitive = sensitive.map(|(name, of)| (name.clone(), of.clone()));
        let sensitive = sensitive.collect();
        let seen = Arc::new(seen);
        Self::Runnable(RunnableRead {
            others,
            sensitive,
            outputs: content(runnable.metadata.uid.as_deref(), &given),
            newest: seen.clone(),
            seen,
        })
    }

    /// The same Runnable, of which this is newer: its outputs are those that were read.
    pub fn is_now(&mut self, seen: Arc<Seen>) {
        if let Self::Runnable(of) = self {
            of.newest = seen;
        }
    }

    /// That of any object, with what is at these paths.
    #[must_use]
    pub fn object(object: &Value, paths: &BTreeSet<&str>) -> Self {
        let (mut fields, mut without) = (Map::new(), BTreeMap::new());
        let mut read = Fields::of(object);
        for path in paths {
            let value = match too_heavy(object) {
                None => read.read(path),
                Some(weight) => Err(NoValue::TooMuch(format!(
                    "the object {}",
                    takes(weight, MAX_WEIGHT)
                ))),
            };
            match value {
                Ok(value) => drop(fields.insert((*path).to_owned(), value)),
                Err(why) => drop(without.insert((*path).to_owned(), why)),
            }
        }
        let metadata = |field: &str| object.get("metadata")?.get(field)?.as_str();
        let named = |field| metadata(field).unwrap_or_default().to_owned();
        Self::Object(ObjectRead {
            fields: content(metadata("uid"), &fields),
            without,
            is_ready: is_ready(object),
            name: named("name"),
            namespace: named("namespace"),
        })
    }

    /// True if it is an object of which a value takes too much memory: by itself, or because all of the object does.
    #[must_use]
    pub fn is_too_heavy(&self) -> bool {
        let Self::Object(read) = self else {
            return false;
        };
        let mut without = read.without.values();
        without.any(|why| matches!(why, NoValue::TooMuch(_)))
    }

    /// What of it takes the more memory the larger it is.
    #[must_use]
    pub fn content(&self) -> Option<&Value> {
        match self {
            Self::ConfigMap(value) => Some(value),
            Self::Runnable(read) => Some(&read.outputs),
            Self::Object(read) => Some(&read.fields),
            Self::Absent | Self::Secret(_) | Self::SecretRun | Self::Several(_) => None,
        }
    }

    /// The same, to share it with others that are equal.
    pub fn content_mut(&mut self) -> Option<&mut Arc<Value>> {
        match self {
            Self::ConfigMap(value) => Some(value),
            Self::Runnable(read) => Some(&mut read.outputs),
            Self::Object(read) => Some(&mut read.fields),
            Self::Absent | Self::Secret(_) | Self::SecretRun | Self::Several(_) => None,
        }
    }

    /// What is held of it, for inputs of a Runnable in this namespace: what was read, and the tree of each text that is an input
    /// as JSON. No tree is made.
    #[must_use]
    pub fn weight(&self, namespace: &str, sources: &[InputSource], object: &SourceObject) -> usize {
        let Some(content) = self.content() else {
            return 0;
        };
        let of_object = |source: &&InputSource| {
            SourceObject::read_in(namespace, source).as_ref() == Some(object)
        };
        let mut inputs_of = BTreeMap::<&str, usize>::new();
        for source in sources.iter().filter(of_object) {
            let reference = source.config_map_key_ref.as_ref();
            let reference = reference.filter(|it| it.read_as == Some(ReadAs::Json));
            if let Some(reference) = reference {
                *inputs_of.entry(&reference.key).or_default() += 1;
            }
        }
        // Each text is looked through once, however many inputs it becomes. One that is not JSON becomes no tree.
        let trees = inputs_of.into_iter().filter_map(|(key, inputs)| {
            let text = content.get("data")?.get(key)?.as_str()?;
            Some(inputs.saturating_mul(weight_of_text(text).unwrap_or_default()))
        });
        trees.fold(weight(content), usize::saturating_add)
    }
}

/// The names of the outputs of a Runnable that lacks one of those that are asked for; else none are needed.
fn others(runnable: &Runnable, asked: &BTreeSet<&str>) -> Vec<String> {
    let status = runnable.status.as_ref();
    let outputs = status.and_then(|it| it.outputs.as_ref());
    let plain = || outputs.into_iter().flatten().map(|(name, _)| name);
    let sensitive = || {
        status
            .into_iter()
            .flat_map(|it| it.sensitive_outputs.keys())
    };
    let there = |name: &str| plain().chain(sensitive()).any(|it| it == name);
    if asked.iter().all(|name| there(name)) {
        return Vec::new();
    }
    kept(plain().chain(sensitive()))
}

/// Values with the uid of their object, by which equal ones are found and kept once.
fn content(uid: Option<&str>, values: &Map<String, Value>) -> Arc<Value> {
    Arc::new(json!({ "metadata": { "uid": uid.unwrap_or_default() }, "values": values }))
}

impl RunnableRead {
    /// An output.
    #[must_use]
    pub fn output(&self, name: &str) -> Option<&Value> {
        self.outputs.get("values")?.get(name)
    }
}

impl ObjectRead {
    /// The value at a path.
    #[must_use]
    pub fn field(&self, path: &str) -> Option<&Value> {
        self.fields.get("values")?.get(path)
    }
}

/// Whether an object does not say that it is not ready: by its condition `Ready`, if it has one, and by the generation that
/// its status speaks of (as kstatus does).
fn is_ready(object: &Value) -> bool {
    let generation = object
        .pointer("/metadata/generation")
        .and_then(Value::as_i64);
    let speaks_of = |of: &Value| of.get("observedGeneration").and_then(Value::as_i64);
    let is_present = |of: &Value| {
        speaks_of(of).is_none_or(|it| generation.is_none_or(|generation| it >= generation))
    };
    let Some(status) = object.get("status") else {
        return true;
    };
    let conditions = status.get("conditions").and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    let ready = conditions.find(|it| it.get("type").and_then(Value::as_str) == Some("Ready"));
    let says_so = ready.is_none_or(|it| {
        it.get("status").and_then(Value::as_str) == Some("True") && is_present(it)
    });
    is_present(status) && says_so
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::references::SourceKind;

    #[test]
    fn a_text_weighs_what_it_becomes_for_each_input_that_is_json() {
        let tree = (0..100).fold(json!({}), |inside, _| json!({ "a": inside }));
        let data = json!({ "data": { "tree": tree.to_string(), "wrong": "{" } });
        let read = SourceRead::ConfigMap(Arc::new(data.clone()));
        let object = SourceObject::known(SourceKind::ConfigMap, "m");
        let from = |name: &str, key: &str, read_as: &str| {
            let reference = json!({ "name": name, "key": key, "as": read_as });
            json!({ "name": "input", "configMapKeyRef": reference })
        };
        let weighs = |sources: Value| {
            let sources: Vec<InputSource> = serde_json::from_value(sources).unwrap();
            read.weight("ns", &sources, &object) - weight(&data)
        };
        assert_eq!(weighs(json!([from("m", "tree", "Text")])), 0);
        let json = from("m", "tree", "JSON");
        assert_eq!(weighs(json!([json])), weight(&tree));
        assert_eq!(weighs(json!([json, json])), 2 * weight(&tree));
        let others = ["other/m", "other"].map(|name| from(name, "tree", "JSON"));
        assert_eq!(weighs(json!(others)), 0);
        assert_eq!(
            weighs(json!([
                from("m", "wrong", "JSON"),
                from("m", "none", "JSON")
            ])),
            0
        );
        let none = SourceRead::Absent.weight("ns", &[], &object);
        assert_eq!(none, 0);
    }

    #[test]
    fn an_object_is_ready_unless_it_says_that_it_is_not() {
        let of = |status| json!({ "metadata": { "generation": 2 }, "status": status });
        let ready = |status: &str, generation: i64| {
            json!({
                "observedGeneration": generation, "conditions": [{ "type": "Ready", "status": status }],
            })
        };
        assert!(is_ready(&json!({ "metadata": { "generation": 2 } })));
        assert!(is_ready(&of(json!({ "phase": "Bound" }))));
        assert!(is_ready(&of(ready("True", 2))));
        assert!(!is_ready(&of(ready("False", 2))));
        assert!(!is_ready(&of(ready("Unknown", 2))));
        assert!(!is_ready(&of(ready("True", 1))));
        assert!(!is_ready(&of(
            json!({ "conditions": [{ "type": "Ready", "status": "True", "observedGeneration": 1 }] })
        )));
        assert!(is_ready(&of(json!({ "conditions": "none" }))));
    }
}
