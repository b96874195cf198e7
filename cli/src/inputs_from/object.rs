//! `ConfigMaps` and Secrets of files, as the API server would give them.

use std::{collections::BTreeSet, sync::Arc};

use cartouche_protocol::{
    diagnosis::Fault,
    sourced_inputs::{SourceKind, SourceObject, SourceRead},
};
use k8s_openapi::ByteString;
use serde_json::Value;

use crate::{render::PLACEHOLDER_UID, source::Document};

/// Why a value of a file cannot be one of such an object. It says nothing of what stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    NoText,
    NoBase64,
}

impl Unusable {
    /// That of an input, with what to do.
    pub(crate) fn fault(self, input: &str, key: &str, object: &SourceObject) -> Fault {
        let (what, cure) = self.said();
        let what = format!("input {input} comes from key {key} of {object}, {what}");
        Fault::new(what, Some(cure.to_owned()))
    }

    /// What is wrong with the value, and what to do.
    pub(crate) fn said(self) -> (&'static str, &'static str) {
        match self {
            Self::NoText => ("which is no text in its file", "put it in quotes"),
            Self::NoBase64 => (
                "which is no base64 in its file",
                "encode it, or give it as it is in stringData",
            ),
        }
    }
}

/// Those that are meant: one, if nothing is wrong.
pub(crate) fn find<'a>(
    objects: &'a [Document],
    namespace: &str,
    wanted: &SourceObject,
) -> Vec<&'a Document> {
    let ((_, kind), name) = (wanted.type_meta(), wanted.name.as_str());
    let is_it = |object: &&Document| {
        (object.api_version(), object.kind(), object.name()) == ("v1", kind, name)
            && (object.namespace().is_empty() || object.namespace() == namespace)
    };
    objects.iter().filter(is_it).collect()
}

/// What a read of these keys would say.
pub(crate) fn read(
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
        SourceKind::Runnable | SourceKind::Any => Ok(SourceRead::Absent),
    }
}

/// What a read of a Secret would say that has this uid. Without one nothing follows from what it holds: everybody knows the
/// uid that stands for it, and could find a short value by trying which one gives the hash.
pub(crate) fn secret(
    object: &Document,
    uid: Option<&str>,
    keys: &BTreeSet<&str>,
) -> Result<SourceRead, Unusable> {
    let mut values: Vec<(&str, Vec<u8>)> = Vec::new();
    for key in keys {
        // The API server writes what is in stringData over what is in data.
        if let Some(text) = text(object, "stringData", key)? {
            values.push((key, text.as_bytes().to_vec()));
        } else if let Some(encoded) = text(object, "data", key)? {
            values.push((key, decoded(encoded)?));
        }
    }
    let shown = |value| uid.map_or(&[][..], |_| value);
    let values = values.iter();
    let values = values.map(|(key, value)| (*key, shown(value.as_slice())));
    Ok(SourceRead::secret(uid.unwrap_or(PLACEHOLDER_UID), values))
}

/// The keys that it has.
pub(crate) fn keys(object: &Document) -> impl Iterator<Item = &str> {
    let fields = ["data", "stringData"].into_iter();
    let values = fields.filter_map(|field| object.value.get(field)?.as_object());
    values.flatten().map(|(key, _)| key.as_str())
}

/// Whether the part of the hash that follows from its uid is another one on a cluster.
pub(crate) fn lacks_uid(object: &Document) -> bool {
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

/// Line breaks are nothing to the API server.
fn decoded(encoded: &str) -> Result<Vec<u8>, Unusable> {
    let encoded = Value::String(encoded.replace(['\n', '\r'], ""));
    let decoded: Result<ByteString, _> = serde_json::from_value(encoded);
    decoded.map(|it| it.0).map_err(|_| Unusable::NoBase64)
}
