//! The fields of a Runnable and of its selected object that tags may read: none that a run or a write changes, and none that says
//! when to run.

use cartouche_crds::GROUP;

use crate::{
    path::{Path, PathError},
    roots::{RUNNABLE, SELECTED},
    tag_error::{TagError, UnreadableField},
};

/// Metadata that changes with every write.
const VOLATILE: [&str; 2] = ["resourceVersion", "managedFields"];
/// Fields of a Runnable's spec that say when, how often and how, and not what is run.
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
/// Where inputs come from is no input.
const INPUTS_FROM: &str = "inputsFrom";
/// Where outputs go is none either.
const OUTPUTS_TO: &str = "writeOutputsTo";
const STATUS: &str = "status";

/// What can be told of a tag's path before there is a Runnable.
pub(crate) fn check(path: &Path) -> Result<(), TagError> {
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
        // Without a key in front the path begins with `*`, `..` or a bracket.
        [] | [RUNNABLE | SELECTED, ..] => Ok(()),
        [unknown, ..] => Err(TagError::UnknownRoot {
            missing: PathError::Missing(path.raw().to_owned()),
            root: (*unknown).to_owned(),
        }),
    }
}

/// Whether an annotation is one of Cartouche's own, which say when and how to run.
pub(crate) fn is_own_annotation(key: &str) -> bool {
    key.strip_prefix(GROUP)
        .is_some_and(|rest| rest.starts_with('/'))
}
