//! Metadata of a run that its template cannot set: removed fields, and the labels and annotations of Cartouche.

use cartouche_crds::{
    CANCEL_REQUEST_ANNOTATION, INPUT_HASH_ANNOTATION, PROFILE_ANNOTATION,
    PROFILE_REFRESH_ANNOTATION, RERUN_REQUEST_ANNOTATION, RERUN_TOKEN_ANNOTATION,
    RUN_SEQUENCE_LABEL, RUN_TEMPLATE_NAME_LABEL, RUNNABLE_NAME_LABEL, RUNNABLE_UID_LABEL,
    SINK_OF_ANNOTATION, SINK_SEQUENCE_ANNOTATION, SOURCES_ANNOTATION,
};
use serde_json::{Map, Value};

/// The field of metadata that holds labels.
pub const LABELS: &str = "labels";
/// The field of annotations.
pub const ANNOTATIONS: &str = "annotations";

/// Metadata that only the API server, other controllers or Cartouche may set.
pub const STRIPPED_METADATA: [&str; 5] = [
    "finalizers",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "uid",
];
/// Labels that Cartouche sets on every run.
pub const OWN_LABELS: [&str; 4] = [
    RUNNABLE_NAME_LABEL,
    RUN_TEMPLATE_NAME_LABEL,
    RUNNABLE_UID_LABEL,
    RUN_SEQUENCE_LABEL,
];
/// Annotations that Cartouche sets on runs.
pub const OWN_ANNOTATIONS: [&str; 6] = [
    INPUT_HASH_ANNOTATION,
    PROFILE_ANNOTATION,
    PROFILE_REFRESH_ANNOTATION,
    RERUN_REQUEST_ANNOTATION,
    RERUN_TOKEN_ANNOTATION,
    SOURCES_ANNOTATION,
];
/// Labels and annotations that Cartouche sets when it makes a run, or later.
pub const OWN: [(&str, &[&str]); 3] = [
    (LABELS, &OWN_LABELS),
    (ANNOTATIONS, &OWN_ANNOTATIONS),
    (
        ANNOTATIONS,
        &[
            CANCEL_REQUEST_ANNOTATION,
            SINK_OF_ANNOTATION,
            SINK_SEQUENCE_ANNOTATION,
        ],
    ),
];

/// Removes the labels and annotations of Cartouche from the metadata of a run.
pub fn remove_own_labels(metadata: &mut Map<String, Value>) {
    for (field, own) in OWN {
        if let Some(map) = metadata.get_mut(field).and_then(Value::as_object_mut) {
            map.retain(|key, _| !own.contains(&key.as_str()));
        }
    }
}

/// Returns true if Cartouche sets this label or annotation.
#[must_use]
pub fn is_own_label(key: &str) -> bool {
    OWN.iter().any(|(_, own)| own.contains(&key))
}

#[cfg(test)]
mod tests {
    use cartouche_crds::{KEYS, KeyHolder};

    use super::is_own_label;

    #[test]
    fn the_own_keys_are_those_of_runs_and_output_objects() {
        for key in KEYS {
            let is_set_here = |on| KEYS.iter().any(|it| it.key == key.key && it.on == on);
            let expected = is_set_here(KeyHolder::Run) || is_set_here(KeyHolder::OutputObject);
            assert_eq!(is_own_label(key.key), expected, "{key:?}");
        }
    }
}
