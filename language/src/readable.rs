//! The fields of a Runnable and of its selected object that tags may read: no field that changes with a run or a
//! write, and none that controls when to run.

use cartouche_crds::GROUP;

use crate::{
    path::{Path, PathError},
    roots::{RUNNABLE, SELECTED},
    tag_error::{TagError, UnreadableField},
};

/// Metadata that changes with every write.
const VOLATILE: [&str; 2] = ["resourceVersion", "managedFields"];
/// Fields of a Runnable's spec that control when, how often and how it runs, but are no part of the run.
const WHEN_TO_RUN: [&str; 8] = [
    "suspend",
    "retry",
    "timeout",
    "concurrencyPolicy",
    "approval",
    "start",
    "coherence",
    "profileName",
];
/// The field for the sources of inputs, which is no input.
const INPUTS_FROM: &str = "inputsFrom";
/// The field for the targets of outputs, which is no input either.
const OUTPUTS_TO: &str = "writeOutputsTo";
const STATUS: &str = "status";

/// Checks a tag's path before there is a Runnable.
pub fn check(path: &Path) -> Result<(), TagError> {
    match path.leading_keys().as_slice() {
        [RUNNABLE, STATUS, ..] => Err(UnreadableField::Status.into()),
        [RUNNABLE, "spec", field, ..] if WHEN_TO_RUN.contains(field) => {
            Err(UnreadableField::WhenToRun((*field).to_owned()).into())
        }
        [RUNNABLE, "spec", INPUTS_FROM, ..] => Err(UnreadableField::InputsFrom.into()),
        [RUNNABLE, "spec", OUTPUTS_TO, ..] => Err(UnreadableField::OutputsTo.into()),
        [
            RUNNABLE | SELECTED,
            "metadata",
            "annotations",
            annotation,
            ..,
        ] if is_own_annotation(annotation) => {
            Err(UnreadableField::Annotation((*annotation).to_owned()).into())
        }
        [root @ (RUNNABLE | SELECTED), "metadata", field, ..] if VOLATILE.contains(field) => {
            Err(UnreadableField::Volatile {
                root: (*root).to_owned(),
                field: (*field).to_owned(),
            }
            .into())
        }
        // Without a leading key the path begins with `*`, `..` or a bracket.
        [] | [RUNNABLE | SELECTED, ..] => Ok(()),
        [unknown, ..] => Err(TagError::UnknownRoot {
            missing: PathError::Missing(path.raw().to_owned()),
            root: (*unknown).to_owned(),
        }),
    }
}

/// Returns true for an annotation of Cartouche's own, which controls when and how to run.
#[must_use]
pub fn is_own_annotation(key: &str) -> bool {
    key.strip_prefix(GROUP)
        .is_some_and(|rest| rest.starts_with('/'))
}
