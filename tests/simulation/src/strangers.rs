//! Somebody who may create objects of the kinds of runs, and nothing else: in the namespace of the
//! Runnables and in another one, objects that claim to be runs, or that hardly anybody can read.

use cartouche_crds::{INPUT_HASH_ANNOTATION, RUN_SEQUENCE_LABEL, RUNNABLE_NAME_LABEL};
use serde_json::{Value, json};

use crate::{
    discovery::Resource,
    people::{self, NAMESPACE},
    store::Store,
};

/// Who makes them.
pub const STRANGER: &str = "a stranger";
/// Whose Runnables nobody has.
const ELSEWHERE: &str = "elsewhere";

/// Whether some nest deeper than JSON parsers follow, so that a controller that reads lists in one piece
/// reads none of them.
pub const UNREADABLE: bool = false;
/// Deeper than that.
const TOO_DEEP: usize = 140;

/// What is wrong with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// It nests too deep to be read.
    TooDeep,
    /// Its number is none, or one that nobody counts to, and nobody controls it.
    Numbered(usize),
    /// It says that a Runnable's name is its own, and somebody else controls it.
    Foreign,
    /// It is controlled by a Runnable that there is not.
    Orphan,
    /// Its hash is a hundred thousand characters long.
    LongHash,
    /// Its metadata has fields that are null.
    Nulls,
}

/// Numbers that are none, or that nobody counts to.
const NUMBERS: [&str; 7] = [
    "",
    "0",
    "-1",
    "one",
    "9007199254740992",
    "9223372036854775807",
    "99999999999999999999",
];

impl Sort {
    /// Any of them.
    pub fn draw(random: &mut fastrand::Rng) -> Self {
        match random.usize(usize::from(!UNREADABLE)..6) {
            0 => Self::TooDeep,
            1 => Self::Numbered(random.usize(..NUMBERS.len())),
            2 => Self::Foreign,
            3 => Self::Orphan,
            4 => Self::LongHash,
            _ => Self::Nulls,
        }
    }
}

/// An object of this sort comes, beside the runs of the Runnable with this number or elsewhere.
pub(crate) fn arrive(store: &mut Store, number: usize, sort: Sort) {
    let name = format!("stranger-{}", store.version());
    let namespace = if store.version().is_multiple_of(2) {
        NAMESPACE
    } else {
        ELSEWHERE
    };
    let resource = if store.version().is_multiple_of(3) {
        Resource::Builds
    } else {
        Resource::Tasks
    };
    let mut object = json!({
        "metadata": {
            "name": name, "namespace": namespace,
            "labels": { RUNNABLE_NAME_LABEL: format!("r{number}") }, "annotations": {},
        },
        "spec": {},
    });
    let owner = |kind: &str| json!([{ "apiVersion": "carto.run/v1alpha1", "kind": kind, "controller": true, "name": "r0", "uid": "nobody" }]);
    let metadata = &mut object["metadata"];
    match sort {
        Sort::TooDeep => {
            object["spec"] = (0..TOO_DEEP).fold(json!({}), |inner, _| json!({ "a": inner }));
        }
        Sort::Numbered(which) => metadata["labels"][RUN_SEQUENCE_LABEL] = json!(NUMBERS[which]),
        Sort::Foreign => metadata["ownerReferences"] = owner("Deployment"),
        Sort::Orphan => metadata["ownerReferences"] = owner("Runnable"),
        Sort::LongHash => {
            metadata["annotations"][INPUT_HASH_ANNOTATION] = json!("f".repeat(100_000));
        }
        Sort::Nulls => {
            for field in [
                "annotations",
                "ownerReferences",
                "finalizers",
                "generateName",
            ] {
                metadata[field] = Value::Null;
            }
        }
    }
    people::make_as(store, resource, &object, STRANGER);
}
