//! The metadata that Cartouche adds to a rendered document: namespace, owner, name, labels and annotations.

use std::borrow::Cow;

use cartouche_crds::{
    INPUT_HASH_ANNOTATION, PROFILE_ANNOTATION, PROFILE_REFRESH_ANNOTATION,
    RERUN_REQUEST_ANNOTATION, RERUN_TOKEN_ANNOTATION, RUN_SEQUENCE_LABEL, RUN_TEMPLATE_NAME_LABEL,
    RUNNABLE_NAME_LABEL, RUNNABLE_UID_LABEL, SOURCES_ANNOTATION,
};
use cartouche_language::{Owner, label_value, owner_reference};
use serde_json::{Map, Value, json};

use crate::{document::StampError, rendered::Rendered};

/// The identity of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp<'a> {
    /// The Runnable.
    pub owner: Owner<'a>,
    /// The name of the `ClusterRunTemplate`.
    pub template_name: &'a str,
    /// The name of the run, from the ledger.
    pub name: &'a str,
    /// The number of the run in the Runnable's ledger.
    pub sequence: i64,
    /// The hash of the rendered document.
    pub input_hash: &'a str,
    /// The re-run request that the run answers.
    pub rerun_token: Option<&'a str>,
    /// The author and the reason of that request: the value of the annotation.
    pub rerun_request: Option<&'a str>,
    /// The sources of the run: the value of the annotation.
    pub sources: Option<&'a str>,
    /// The profile that the run is made with: the value of the annotation.
    pub profile: Option<&'a str>,
    /// The request that the choice of that profile answers.
    pub profile_refresh: Option<&'a str>,
}

/// Returns the object to create. Fails if the document asks for a namespace other than the Runnable's, or has tags
/// that are not [filled in](Rendered::fill).
///
/// The owner is not blocked from deletion: that needs permissions for finalizers, which an account that may create
/// runs need not have.
pub fn stamp(rendered: &Rendered, stamp: &Stamp<'_>) -> Result<Value, StampError> {
    rendered.check_namespace(stamp.owner.namespace)?;
    if !rendered.open().is_empty() {
        return Err(StampError::Open);
    }
    let mut object = rendered.document().clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("name".into(), stamp.name.into());
        metadata.insert("namespace".into(), stamp.owner.namespace.into());
        let owners = json!([owner_reference(&stamp.owner)]);
        metadata.insert("ownerReferences".into(), owners);
        merge(metadata, "labels", labels(stamp));
        merge(metadata, "annotations", annotations(stamp));
    }
    Ok(object)
}

fn labels<'a>(stamp: &Stamp<'a>) -> impl Iterator<Item = (&'static str, Cow<'a, str>)> {
    let labels = [
        (RUNNABLE_NAME_LABEL, label_value(stamp.owner.name)),
        (RUN_TEMPLATE_NAME_LABEL, label_value(stamp.template_name)),
        (RUNNABLE_UID_LABEL, label_value(stamp.owner.uid)),
        (RUN_SEQUENCE_LABEL, stamp.sequence.to_string().into()),
    ];
    labels.into_iter()
}

fn annotations<'a>(stamp: &Stamp<'a>) -> impl Iterator<Item = (&'static str, Cow<'a, str>)> {
    let annotations = [
        (INPUT_HASH_ANNOTATION, Some(stamp.input_hash)),
        (RERUN_TOKEN_ANNOTATION, stamp.rerun_token),
        (RERUN_REQUEST_ANNOTATION, stamp.rerun_request),
        (SOURCES_ANNOTATION, stamp.sources),
        (PROFILE_ANNOTATION, stamp.profile),
        (PROFILE_REFRESH_ANNOTATION, stamp.profile_refresh),
    ];
    let given = annotations.into_iter();
    given.filter_map(|(key, value)| Some((key, value?.into())))
}

fn merge<'a>(
    metadata: &mut Map<String, Value>,
    field: &str,
    ours: impl Iterator<Item = (&'static str, Cow<'a, str>)>,
) {
    let map = metadata.entry(field).or_insert_with(|| json!({}));
    if let Some(map) = map.as_object_mut() {
        map.extend(ours.map(|(key, value)| (key.to_owned(), value.into())));
    }
}

#[cfg(test)]
mod tests;
