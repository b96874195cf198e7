//! A sink as the API server stores it.

use std::collections::BTreeMap;

use cartouche_crds::{SINK_OF_ANNOTATION, SINK_SEQUENCE_ANNOTATION};
use cartouche_language::{Owner, owner_reference, weight::weight};
use k8s_openapi::ByteString;
use serde_json::{Map, Value, json};

use super::{SinkContent, SinkOwner};
use crate::{
    ledger::{Ledger, RunIdentity},
    messages::diagnosis::controller,
    references::{SourceKind, SourceObject},
};

/// The object that has the name of a sink.
#[derive(Clone)]
pub struct FoundSink {
    /// Its uid.
    pub uid: String,
    /// The `resourceVersion` in which it was read.
    pub version: String,
    /// Its owner.
    pub holder: SinkOwner,
    /// Its owner in words, if it is not ours.
    pub whose: String,
    /// Its content.
    pub content: SinkContent,
    /// All else of it, which stays.
    rest: Value,
    weight: usize,
}

impl FoundSink {
    /// Parses the answer to a read, or returns `None` if it is no object.
    #[must_use]
    pub fn from_object(
        kind: SourceKind,
        mut object: Value,
        runnable: &Owner<'_>,
        ledger: &Ledger,
    ) -> Option<Self> {
        let run = RunIdentity::from_object(&object)?;
        let metadata = object.get("metadata")?;
        let text = |field: &str| metadata.get(field).and_then(Value::as_str);
        let annotation = |key: &str| metadata.get("annotations")?.get(key)?.as_str();
        let is_marked = annotation(SINK_OF_ANNOTATION) == Some(runnable.uid);
        // A client that may write the object may write any annotation; but a run never passes for a
        // sink.
        let is_run = ledger.knows(&run.uid) || run.genuine_sequence(runnable.uid).is_some();
        let holder = if is_owned_by(metadata, runnable.uid) && is_marked && !is_run {
            let has = annotation(SINK_SEQUENCE_ANNOTATION).and_then(|it| it.parse().ok());
            SinkOwner::Ours(has.unwrap_or_default())
        } else {
            SinkOwner::Another
        };
        let whose = if is_run {
            "is a run of this Runnable".to_owned()
        } else {
            match controller(&object) {
                Some(owner) => format!("belongs to {owner}"),
                None => "was not made by this Runnable".to_owned(),
            }
        };
        let version = text("resourceVersion")?.to_owned();
        let content = content(kind, &object);
        let weight = leave_rest(&mut object);
        Some(Self {
            uid: run.uid,
            version,
            holder,
            whose,
            content,
            rest: object,
            weight,
        })
    }

    /// Returns the weight of what is held of it, as a tree.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Returns the same without its content: enough to delete it.
    #[must_use]
    pub fn without_content(self) -> Self {
        Self {
            content: SinkContent::default(),
            rest: Value::Null,
            weight: 0,
            ..self
        }
    }
}

/// Removes from an object the fields that are rewritten, and returns the weight of its data and the rest.
fn leave_rest(object: &mut Value) -> usize {
    let mut data = None;
    if let Some(fields) = object.as_object_mut() {
        data = fields.remove("data");
        for gone in ["binaryData", "stringData"] {
            fields.remove(gone);
        }
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    // Its content weighs no more than the tree.
    weight(object) + data.as_ref().map_or(0, weight)
}

fn is_owned_by(metadata: &Value, uid: &str) -> bool {
    let owners = metadata.get("ownerReferences").and_then(Value::as_array);
    let mut owners = owners.into_iter().flatten();
    owners.any(|owner| owner.get("uid").and_then(Value::as_str) == Some(uid))
}

/// Returns the content of an object's `data`. Anything in `binaryData` counts as a key that no
/// output has, so that it is replaced.
fn content(kind: SourceKind, object: &Value) -> SinkContent {
    let data = object.get("data").and_then(Value::as_object);
    let data = data.into_iter().flatten();
    let value = |value: &Value| match kind {
        SourceKind::Secret => {
            let bytes: Option<ByteString> = serde_json::from_value(value.clone()).ok();
            bytes.map(|bytes| bytes.0)
        }
        _ => Some(value.as_str()?.as_bytes().to_vec()),
    };
    let mut content: BTreeMap<String, Vec<u8>> = data
        .filter_map(|(key, it)| Some((key.clone(), value(it)?)))
        .collect();
    let binary = object.get("binaryData").and_then(Value::as_object);
    if binary.is_some_and(|binary| !binary.is_empty()) {
        content.insert(String::new(), Vec::new());
    }
    SinkContent::new(content)
}

fn data(kind: SourceKind, content: &SinkContent) -> Value {
    let value = |bytes: &[u8]| match kind {
        SourceKind::Secret => json!(ByteString(bytes.to_vec())),
        _ => Value::from(String::from_utf8_lossy(bytes)),
    };
    let data = content.iter();
    let data: Map<String, Value> = data.map(|(key, it)| (key.to_owned(), value(it))).collect();
    Value::Object(data)
}

fn annotations(runnable: &Owner<'_>, sequence: i64) -> [(String, Value); 2] {
    [
        (SINK_OF_ANNOTATION.to_owned(), runnable.uid.into()),
        (
            SINK_SEQUENCE_ANNOTATION.to_owned(),
            sequence.to_string().into(),
        ),
    ]
}

/// Returns the object to create.
#[must_use]
pub fn build_object(
    object: &SourceObject,
    runnable: &Owner<'_>,
    sequence: i64,
    content: &SinkContent,
) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": object.type_meta().1,
        "metadata": {
            "name": object.name,
            "namespace": runnable.namespace,
            "annotations": Map::from_iter(annotations(runnable, sequence)),
            "ownerReferences": [owner_reference(runnable)],
        },
        "data": data(object.kind, content),
    })
}

/// Returns the object that replaces one of ours: its content is new, and all else, which others may
/// have set, stays. It carries the `resourceVersion` that was read.
#[must_use]
pub fn build_replacement(
    found: &FoundSink,
    object: &SourceObject,
    runnable: &Owner<'_>,
    sequence: i64,
    content: &SinkContent,
) -> Value {
    let mut next = found.rest.clone();
    if let Some(fields) = next.as_object_mut() {
        fields.insert("data".into(), data(object.kind, content));
        fields.insert("apiVersion".into(), "v1".into());
        fields.insert("kind".into(), object.type_meta().1.into());
    }
    if let Some(metadata) = next.get_mut("metadata").and_then(Value::as_object_mut) {
        let known = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(known) = known.as_object_mut() {
            known.extend(annotations(runnable, sequence));
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sink_has_is_held_once_and_of_one_to_delete_not_at_all() {
        let owner = Owner {
            name: "app",
            namespace: "ns",
            uid: "uid",
        };
        let keys = (0..100).map(|at| (format!("k{at}"), json!("")));
        let data = Value::Object(keys.collect());
        let rest = json!({ "metadata": {
            "name": "m", "uid": "m", "resourceVersion": "5", "labels": { "a": "b" },
        } });
        let mut object = rest.clone();
        object["metadata"]["managedFields"] = json!([data]);
        for part in ["data", "binaryData"] {
            object[part] = data.clone();
        }
        let (kind, ledger) = (SourceKind::ConfigMap, Ledger::default());
        let found = FoundSink::from_object(kind, object, &owner, &ledger).unwrap();
        assert_eq!(found.rest, rest);
        assert_eq!(found.content.iter().count(), 101);
        assert_eq!(found.weight(), weight(&rest) + weight(&data));
        let emptied = found.without_content();
        assert_eq!((&*emptied.uid, &*emptied.version), ("m", "5"));
        assert_eq!(emptied.rest, Value::Null);
        assert_eq!(emptied.content, SinkContent::default());
        assert_eq!(emptied.weight(), 0);
    }
}
