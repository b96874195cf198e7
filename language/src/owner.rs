//! The Runnable that owns an object, and the distinction of runs from other objects, by their metadata.

use cartouche_crds::{API_VERSION, RUNNABLE_NAME_LABEL, SINK_OF_ANNOTATION};
use serde_json::{Value, json};

use crate::object::text;

/// The Runnable that owns a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner<'a> {
    /// The name of the Runnable.
    pub name: &'a str,
    /// The namespace of the Runnable, which is that of its runs.
    pub namespace: &'a str,
    /// The uid of the Runnable.
    pub uid: &'a str,
}

/// Returns the owner reference of a Runnable. It does not block the deletion of the owner.
#[must_use]
pub fn owner_reference(owner: &Owner<'_>) -> Value {
    json!({
        "apiVersion": API_VERSION,
        "kind": "Runnable",
        "name": owner.name,
        "uid": owner.uid,
        "controller": true,
        "blockOwnerDeletion": false,
    })
}

/// Returns the owner reference in an object's metadata that makes a Runnable its controller.
#[must_use]
pub fn controlling_runnable(metadata: &Value) -> Option<&Value> {
    controllers(metadata).find(|owner| {
        text(owner, "kind") == "Runnable" && text(owner, "apiVersion").starts_with("carto.run/")
    })
}

/// Returns true if an object is a run of a Runnable, by its metadata: a Runnable controls it and has not marked it
/// as a target of its outputs, or it has no controller and the label of every run. Engines copy labels to their
/// objects, and control those.
#[must_use]
pub fn is_run(metadata: &Value) -> bool {
    let has = |group: &str, key: &str| metadata.get(group).and_then(|all| all.get(key));
    let is_sink_of = |owner: &Value| {
        let uid = owner.get("uid").filter(|uid| uid.is_string());
        uid.is_some() && has("annotations", SINK_OF_ANNOTATION) == uid
    };
    match controlling_runnable(metadata) {
        Some(owner) => !is_sink_of(owner),
        None => {
            controllers(metadata).next().is_none() && has("labels", RUNNABLE_NAME_LABEL).is_some()
        }
    }
}

/// Iterates over the controlling owner references in an object's metadata; Kubernetes permits one at most.
fn controllers(metadata: &Value) -> impl Iterator<Item = &Value> {
    let owners = metadata.get("ownerReferences").and_then(Value::as_array);
    let owners = owners.into_iter().flatten();
    owners.filter(|owner| owner.get("controller") == Some(&Value::Bool(true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_alone_makes_no_run_of_what_an_engine_controls() {
        let owner = |api_version: &str, kind: &str| json!([{ "apiVersion": api_version, "kind": kind, "uid": "u", "controller": true }]);
        let labels = json!({ "carto.run/runnable-name": "r" });
        let is = |metadata: Value| is_run(&metadata);
        assert!(is(json!({ "labels": labels })));
        assert!(is(
            json!({ "ownerReferences": owner("carto.run/v1alpha1", "Runnable") })
        ));
        assert!(!is(
            json!({ "labels": labels, "ownerReferences": owner("external-secrets.io/v1", "ExternalSecret") })
        ));
        assert!(!is(json!({ "ownerReferences": owner("batch/v1", "Job") })));
        let sink = json!({ "carto.run/outputs-of": "u" });
        assert!(!is(
            json!({ "annotations": sink, "ownerReferences": owner("carto.run/v1alpha1", "Runnable") })
        ));
    }
}
