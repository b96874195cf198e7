//! The parts of a Runnable, and of its selected object, that templates see.
//!
//! Of a Runnable, and of the metadata of a selected object, only listed fields are visible, and everything else is
//! absent: a field of a later release changes no document, and so makes no run. The same holds for fields that change
//! with every run or write (a Runnable's status, `resourceVersion`, `managedFields`), by which a run would cause the
//! next one. The other fields of a selected object are all visible.

use cartouche_crds::API_VERSION;
use cartouche_language::readable::is_own_annotation;
use serde_json::Value;

/// The copy of the manifest that kubectl keeps.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The visible part of a value.
#[derive(Clone, Copy)]
enum VisiblePart {
    /// The whole value.
    Whole,
    /// These fields.
    Fields(&'static [(&'static str, VisiblePart)]),
}

const METADATA: VisiblePart = VisiblePart::Fields(&[
    ("annotations", VisiblePart::Whole),
    ("creationTimestamp", VisiblePart::Whole),
    ("generation", VisiblePart::Whole),
    ("labels", VisiblePart::Whole),
    ("name", VisiblePart::Whole),
    ("namespace", VisiblePart::Whole),
    ("ownerReferences", VisiblePart::Whole),
    ("uid", VisiblePart::Whole),
]);

/// The fields of a Runnable's spec that define the run.
const SPEC: &[(&str, VisiblePart)] = &[
    ("inputs", VisiblePart::Whole),
    (
        "retentionPolicy",
        VisiblePart::Fields(&[
            ("maxFailedRuns", VisiblePart::Whole),
            ("maxSuccessfulRuns", VisiblePart::Whole),
        ]),
    ),
    (
        "runTemplateRef",
        VisiblePart::Fields(&[("name", VisiblePart::Whole)]),
    ),
    (
        "selector",
        VisiblePart::Fields(&[
            ("matchingLabels", VisiblePart::Whole),
            (
                "resource",
                VisiblePart::Fields(&[
                    ("apiVersion", VisiblePart::Whole),
                    ("kind", VisiblePart::Whole),
                ]),
            ),
        ]),
    ),
    ("serviceAccountName", VisiblePart::Whole),
];

const RUNNABLE: VisiblePart =
    VisiblePart::Fields(&[("metadata", METADATA), ("spec", VisiblePart::Fields(SPEC))]);

impl VisiblePart {
    /// Moves the visible part out of a value. Nothing is copied.
    fn take(self, value: &mut Value) -> Value {
        match (self, value) {
            (Self::Fields(fields), Value::Object(value)) => {
                let seen = fields.iter().filter_map(|(name, seen)| {
                    Some(((*name).to_owned(), seen.take(value.get_mut(*name)?)))
                });
                Value::Object(seen.collect())
            }
            (_, value) => value.take(),
        }
    }
}

/// Returns the visible part of a Runnable.
pub(super) fn runnable(mut runnable: Value) -> Value {
    let mut visible = RUNNABLE.take(&mut runnable);
    hide_annotations(&mut visible);
    if let Some(fields) = visible.as_object_mut() {
        // Lists and watches leave them out.
        fields.insert("apiVersion".into(), API_VERSION.into());
        fields.insert("kind".into(), "Runnable".into());
    }
    let reference = visible.pointer_mut("/spec/runTemplateRef");
    if let Some(reference) = reference.and_then(Value::as_object_mut) {
        // There is one kind of template, whatever the user wrote there.
        reference.insert("kind".into(), "ClusterRunTemplate".into());
    }
    visible
}

/// Returns the visible part of a selected object: metadata as of a Runnable, and all of its other fields.
pub(super) fn select_visible(object: &Value) -> Value {
    let Some(fields) = object.as_object() else {
        return object.clone();
    };
    let visible = fields.iter().map(|(name, value)| {
        let mut value = value.clone();
        if name == "metadata" {
            value = METADATA.take(&mut value);
        }
        (name.clone(), value)
    });
    let mut visible = Value::Object(visible.collect());
    hide_annotations(&mut visible);
    visible
}

/// Removes the copy of the manifest, and Cartouche's own annotations as if none of them had ever been set.
fn hide_annotations(object: &mut Value) {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let Some(metadata) = metadata else {
        return;
    };
    let annotations = metadata.get_mut("annotations");
    let Some(annotations) = annotations.and_then(Value::as_object_mut) else {
        return;
    };
    let before = annotations.len();
    annotations.retain(|key, _| !is_own_annotation(key));
    if annotations.len() < before && annotations.is_empty() {
        metadata.remove("annotations");
    } else {
        annotations.remove(LAST_APPLIED);
    }
}

/// Returns true if a field of a Runnable's spec is visible.
#[cfg(test)]
pub(super) fn is_seen(field: &str) -> bool {
    SPEC.iter().any(|(name, _)| *name == field)
}
