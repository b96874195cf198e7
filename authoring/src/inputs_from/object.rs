//! `ConfigMaps`, Secrets and Runnables of files, as the API server would give them.

use std::{collections::BTreeSet, sync::Arc};

use cartouche_crds::{API_VERSION, Runnable};
use cartouche_protocol::{
    messages::diagnosis::Fault,
    references::{SourceKind, SourceObject},
    sourced_inputs::SourceRead,
};
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::{objects::RUNNABLE, render::PLACEHOLDER_UID, source::Document};

/// Reason why a value of a file cannot be one of such an object. It reveals nothing of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Value that is no text.
    NoText,
    /// Value of a Secret that is no base64.
    NoBase64,
    /// Runnable whose status cannot be read.
    NoRunnable,
}

impl Unusable {
    /// Returns the fault of an input, with its cure.
    pub(crate) fn fault(self, input: &str, key: &str, object: &SourceObject) -> Fault {
        let (what, cure) = self.explain();
        let part = object.kind.part();
        let what = format!("input {input} comes from {part} {key} of {object}, {what}");
        Fault::new(what, Some(cure.to_owned()))
    }

    /// Returns the fault of the value, and its cure.
    #[must_use]
    pub fn explain(self) -> (&'static str, &'static str) {
        match self {
            Self::NoText => ("which is not a string in its file", "put it in quotes"),
            Self::NoBase64 => (
                "which is not base64 in its file",
                "encode it, or give it as it is in stringData",
            ),
            Self::NoRunnable => (
                "which cannot be read in its file",
                "`cartouche validate` of that file says why; give the object as it is on a cluster: kubectl get -o yaml",
            ),
        }
    }
}

/// Finds the objects that a Runnable of this namespace refers to: exactly one, if nothing is wrong. An object without a
/// namespace is in the same one.
#[must_use]
pub fn find<'a>(
    objects: impl IntoIterator<Item = &'a Document>,
    own: &str,
    wanted: &SourceObject,
) -> Vec<&'a Document> {
    let (api_version, kind) = wanted.type_meta();
    let identity = (api_version, kind);
    let namespace = wanted.namespace_in(own);
    let is_it = |object: &&Document| {
        (object.api_version(), object.kind()) == identity
            && is_meant(object, wanted)
            && (object.namespace() == namespace
                || object.namespace().is_empty() && namespace == own)
    };
    objects.into_iter().filter(is_it).collect()
}

/// Returns true if the object has the wanted name or labels.
fn is_meant(object: &Document, wanted: &SourceObject) -> bool {
    let Some(labels) = wanted.labels() else {
        return object.name() == wanted.name;
    };
    let has = object.value.pointer("/metadata/labels");
    let has = |key: &str| has.and_then(|all| all.get(key)).and_then(Value::as_str);
    labels
        .iter()
        .all(|(key, value)| has(key) == Some(value.as_str()))
}

/// Returns true if inputs may come from the object.
pub(crate) fn is_source(object: &Document) -> bool {
    match object.kind() {
        "ConfigMap" | "Secret" => object.api_version() == "v1",
        RUNNABLE => object.api_version() == API_VERSION,
        _ => false,
    }
}

/// Returns true for a Runnable whose outputs only a cluster knows.
pub(crate) fn lacks_outputs(object: &Document) -> bool {
    let outputs = object.value.pointer("/status/outputs");
    object.kind() == RUNNABLE && outputs.is_none_or(Value::is_null)
}

/// Returns the result of reading these keys.
pub fn read(
    object: &Document,
    kind: SourceKind,
    keys: &BTreeSet<&str>,
) -> Result<SourceRead, Unusable> {
    match kind {
        SourceKind::ConfigMap => {
            for key in keys {
                text(object, "data", key)?;
            }
            Ok(SourceRead::ConfigMap(Arc::new(object.value.clone())))
        }
        SourceKind::Secret => secret(object, uid(object), keys),
        SourceKind::Runnable => {
            // A case may hold only its outputs.
            let given = object
                .value
                .pointer("/status/outputs")
                .unwrap_or(&Value::Null);
            let runnable = json!({
                "apiVersion": API_VERSION, "kind": RUNNABLE, "metadata": object.value.get("metadata"),
                "spec": { "runTemplateRef": { "name": "" } }, "status": { "outputs": given },
            });
            let runnable: Runnable =
                serde_json::from_value(runnable).map_err(|_| Unusable::NoRunnable)?;
            Ok(SourceRead::runnable(&runnable, keys))
        }
        SourceKind::Any => Ok(SourceRead::object(&object.value, keys)),
    }
}

/// Returns the result of reading a Secret with this uid. Without a uid the values do not enter the hash: the
/// placeholder for it is public, so a short value could be found by trying which one gives the hash.
pub fn secret(
    object: &Document,
    uid: Option<&str>,
    keys: &BTreeSet<&str>,
) -> Result<SourceRead, Unusable> {
    let mut values: Vec<(&str, Vec<u8>)> = Vec::new();
    for key in keys {
        // The API server writes stringData over data.
        if let Some(text) = text(object, "stringData", key)? {
            values.push((key, text.as_bytes().to_vec()));
        } else if let Some(encoded) = text(object, "data", key)? {
            values.push((key, decoded(encoded)?));
        }
    }
    let shown = |value| uid.map_or(&[][..], |_| value);
    let values = values.iter();
    let values = values.map(|(key, value)| (*key, shown(value.as_slice())));
    let mut metadata = object.value.get("metadata").cloned().unwrap_or_default();
    if metadata.is_object() {
        metadata["uid"] = uid.unwrap_or(PLACEHOLDER_UID).into();
    }
    Ok(SourceRead::secret(&metadata, values))
}

/// Returns the keys, or the outputs, that it has.
pub(crate) fn keys(object: &Document) -> impl Iterator<Item = &str> {
    let fields = ["/data", "/stringData", "/status/outputs"].into_iter();
    let values = fields.filter_map(|field| object.value.pointer(field)?.as_object());
    values.flatten().map(|(key, _)| key.as_str())
}

/// Returns true if the object has no uid: its part of the hash is another one on a cluster.
#[must_use]
pub fn lacks_uid(object: &Document) -> bool {
    uid(object).is_none()
}

fn uid(object: &Document) -> Option<&str> {
    let uid = object.value.pointer("/metadata/uid")?.as_str()?;
    Some(uid).filter(|uid| !uid.is_empty())
}

fn text<'a>(object: &'a Document, field: &str, key: &str) -> Result<Option<&'a str>, Unusable> {
    match object.value.get(field).and_then(|values| values.get(key)) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Unusable::NoText),
    }
}

/// Decodes base64. Like the API server, it ignores line breaks.
fn decoded(encoded: &str) -> Result<Vec<u8>, Unusable> {
    let encoded = Value::String(encoded.replace(['\n', '\r'], ""));
    let decoded: Result<ByteString, _> = serde_json::from_value(encoded);
    decoded.map(|it| it.0).map_err(|_| Unusable::NoBase64)
}
