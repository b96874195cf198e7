//! Reads of the objects that inputs come from. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cartouche_crds::{InputSource, ReadAs, Runnable, SensitiveOutput};
use cartouche_language::{
    bounds::{MAX_WEIGHT, takes},
    is_run,
    weight::{weight, weight_of_text},
};
use cartouche_templating::{Fields, NoValue, secret_mark};
use serde_json::{Map, Value, json};

use super::there::bound_names;
use crate::{object::too_heavy, references::SourceObject, sources::Seen};

/// The result of a read of such an object.
#[derive(Clone, Debug)]
pub enum SourceRead {
    /// The object does not exist.
    Absent,
    /// A `ConfigMap`: its `data` and `binaryData`, at least the keys that are read.
    ConfigMap(Arc<Value>),
    /// A Secret: its keys, at least those that are read, each with the mark that replaces its value
    /// in hashes.
    Secret(BTreeMap<String, String>),
    /// A Secret that is a run. A status shows its uid, which is the key of the marks.
    SecretRun,
    /// A Runnable.
    Runnable(RunnableRead),
    /// An object of any kind.
    Object(ObjectRead),
    /// Several objects have the labels: the names of two.
    Several(Vec<String>),
}

/// The result of a read of a Runnable.
#[derive(Clone, Debug)]
pub struct RunnableRead {
    /// Its outputs, at least those that are read.
    outputs: Arc<Value>,
    /// The names of its outputs, up to a bound, if it lacks one that is read.
    pub(super) others: Vec<String>,
    /// The outputs among those read that are stored in Secrets only.
    pub sensitive: BTreeMap<String, SensitiveOutput>,
    /// All else of it that bears on Runnables that derive from it.
    pub seen: Arc<Seen>,
    /// The same from a newer state, if one is known. It explains why an output is missing, and if
    /// one is to come; no run is made or held back by it.
    pub(super) newest: Arc<Seen>,
}

/// The result of a read of an object of any kind.
#[derive(Clone, Debug)]
pub struct ObjectRead {
    /// The values at the paths that are read.
    fields: Arc<Value>,
    /// The reason for each path without a value.
    pub without: BTreeMap<String, NoValue>,
    /// False if it says that it is not ready.
    pub is_ready: bool,
    /// Its name.
    pub name: String,
    /// Its namespace; empty if it is cluster-scoped.
    pub namespace: String,
}

impl SourceRead {
    /// Returns the result for a `ConfigMap` with this uid and the keys that are read. If it lacks
    /// one of these, the names of the others are included, up to a bound.
    #[must_use]
    pub fn config_map(
        uid: &str,
        mut data: BTreeMap<String, String>,
        mut binary: BTreeMap<String, String>,
        asked: &BTreeSet<&str>,
    ) -> Self {
        let is_there = |key: &&str| data.contains_key(*key) || binary.contains_key(*key);
        let others = (!asked.iter().all(is_there)).then(|| bound_names(data.keys()));
        data.retain(|key, _| asked.contains(key.as_str()));
        binary.retain(|key, _| asked.contains(key.as_str()));
        // Only its existence matters.
        binary.values_mut().for_each(String::clear);
        let mut map = json!({
            "metadata": { "uid": uid }, "data": data, "binaryData": binary,
        });
        if let Some(others) = others {
            map["keys"] = others.into();
        }
        Self::ConfigMap(Arc::new(map))
    }

    /// Returns the result for a Secret with this metadata and these values.
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

    /// Returns the result for a Runnable, with the outputs that are read.
    #[must_use]
    pub fn runnable(runnable: &Runnable, asked: &BTreeSet<&str>) -> Self {
        let outputs = runnable.status.iter().filter_map(|it| it.outputs.as_ref());
        let others = others(runnable, asked);
        let outputs = outputs.flatten();
        let given = outputs.filter(|(name, _)| asked.contains(name.as_str()));
        let given: Map<String, Value> = given
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let seen = Seen::from_runnable(runnable);
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

    /// Sets the newer state of the same Runnable. Its outputs stay those that were read.
    pub fn set_newest(&mut self, seen: Arc<Seen>) {
        if let Self::Runnable(of) = self {
            of.newest = seen;
        }
    }

    /// Returns the result for any object, with the values at these paths.
    #[must_use]
    pub fn object(object: &Value, paths: &BTreeSet<&str>) -> Self {
        let (mut fields, mut without) = (Map::new(), BTreeMap::new());
        let mut read = Fields::new(object);
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

    /// Returns true if it is an object of which a value takes too much memory, by itself or because
    /// the whole object does.
    #[must_use]
    pub fn is_too_heavy(&self) -> bool {
        let Self::Object(read) = self else {
            return false;
        };
        let mut without = read.without.values();
        without.any(|why| matches!(why, NoValue::TooMuch(_)))
    }

    /// Returns the part that may be large, if any.
    #[must_use]
    pub fn content(&self) -> Option<&Value> {
        match self {
            Self::ConfigMap(value) => Some(value),
            Self::Runnable(read) => Some(&read.outputs),
            Self::Object(read) => Some(&read.fields),
            Self::Absent | Self::Secret(_) | Self::SecretRun | Self::Several(_) => None,
        }
    }

    /// Returns the same, to share it with equal ones.
    pub fn content_mut(&mut self) -> Option<&mut Arc<Value>> {
        match self {
            Self::ConfigMap(value) => Some(value),
            Self::Runnable(read) => Some(&mut read.outputs),
            Self::Object(read) => Some(&mut read.fields),
            Self::Absent | Self::Secret(_) | Self::SecretRun | Self::Several(_) => None,
        }
    }

    /// Returns the weight of what is held for inputs of a Runnable in this namespace: what was
    /// read, and the tree of each text that is an input as JSON. No tree is built.
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
        // Each text is scanned once, however many inputs it becomes. Text that is not JSON becomes
        // no tree.
        let trees = inputs_of.into_iter().filter_map(|(key, inputs)| {
            let text = content.get("data")?.get(key)?.as_str()?;
            Some(inputs.saturating_mul(weight_of_text(text).unwrap_or_default()))
        });
        trees.fold(weight(content), usize::saturating_add)
    }
}

/// Returns the names of the outputs of a Runnable if it lacks one that is read; otherwise none are
/// needed.
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
    bound_names(plain().chain(sensitive()))
}

/// Values with the uid of their object, by which equal ones are found and kept once.
fn content(uid: Option<&str>, values: &Map<String, Value>) -> Arc<Value> {
    Arc::new(json!({ "metadata": { "uid": uid.unwrap_or_default() }, "values": values }))
}

impl RunnableRead {
    /// Returns an output, if it was read.
    #[must_use]
    pub fn output(&self, name: &str) -> Option<&Value> {
        self.outputs.get("values")?.get(name)
    }
}

impl ObjectRead {
    /// Returns the value at a path, if any.
    #[must_use]
    pub fn field(&self, path: &str) -> Option<&Value> {
        self.fields.get("values")?.get(path)
    }
}

/// Returns false if an object says that it is not ready: by its condition `Ready`, if it has one,
/// or by an older `observedGeneration` (as kstatus does).
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
        let object = SourceObject::in_own_namespace(SourceKind::ConfigMap, "m");
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
