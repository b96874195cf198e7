//! Objects of an account that may create objects of the kinds of runs, and nothing else: in the namespace of
//! the Runnables and in another one. They claim to be runs, or hardly any client can read them.

use cartouche_crds::{
    INPUT_HASH_ANNOTATION, RUN_SEQUENCE_LABEL, RUNNABLE_NAME_LABEL, RUNNABLE_UID_LABEL,
};
use cartouche_language::name_suffix;
use serde_json::{Value, json};

use crate::{
    discovery::Resource,
    flood::{FLOOD, QUIET},
    people::{self, NAMESPACE},
    store::{Key, Store},
};

/// The actor that makes them.
pub const STRANGER: &str = "a stranger";
/// The namespace of other tenants.
pub(crate) const TENANTS: &str = "tenants";
/// Returns true for a namespace of other tenants.
pub(crate) fn is_of_others(namespace: &str) -> bool {
    [TENANTS, FLOOD, QUIET].contains(&namespace)
}

/// A namespace without Runnables.
const ELSEWHERE: &str = "elsewhere";

/// Deeper than JSON parsers follow.
const TOO_DEEP: usize = 140;

/// The defect of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// It nests too deep to be read.
    TooDeep,
    /// Its number is this much above that of the present run, and owner, name and hash are right.
    Forged(i64),
    /// Its number is invalid or too high, and it has no controller.
    Numbered(usize),
    /// It has the label of a Runnable, and another object controls it.
    Foreign,
    /// It is controlled by a Runnable that does not exist.
    Orphan,
    /// Its hash is a hundred thousand characters long.
    LongHash,
    /// Its metadata has fields that are null.
    Nulls,
}

/// Numbers that are invalid or too high.
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
    /// Draws any of them.
    pub fn draw(random: &mut fastrand::Rng) -> Self {
        match random.usize(..8) {
            0 => Self::TooDeep,
            6 | 7 => Self::Forged(random.i64(1..=3)),
            1 => Self::Numbered(random.usize(..NUMBERS.len())),
            2 => Self::Foreign,
            3 => Self::Orphan,
            4 => Self::LongHash,
            _ => Self::Nulls,
        }
    }
}

/// Makes an object of this sort, beside the runs of the Runnable with this number or elsewhere.
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
    if let Sort::Forged(ahead) = sort {
        forge(store, number, ahead);
        return;
    }
    let owner = |kind: &str| json!([{ "apiVersion": "carto.run/v1alpha1", "kind": kind, "controller": true, "name": "r0", "uid": "nobody" }]);
    let metadata = &mut object["metadata"];
    match sort {
        Sort::Forged(_) => {}
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

/// Makes an object with all public properties of a future run. While one is pending its create may be
/// overtaken, which `docs/concepts/exactly-once.md` names as an exception.
fn forge(store: &mut Store, number: usize, ahead: i64) {
    let Some(owner) = store.get(&people::runnable(number)) else {
        return;
    };
    let text = |pointer: &str| owner.pointer(pointer).and_then(Value::as_str);
    let current = |field: &str| text(&format!("/status/currentRun/{field}"));
    let (Some("Created"), Some(uid)) = (current("phase"), text("/metadata/uid")) else {
        return;
    };
    let (kind, hash) = (current("kind"), current("inputHash").unwrap_or_default());
    let sequence = owner.pointer("/status/currentRun/sequence");
    let sequence = sequence.and_then(Value::as_i64).unwrap_or_default() + ahead;
    let resource = if kind == Some(Resource::Builds.kind()) {
        Resource::Builds
    } else {
        Resource::Tasks
    };
    let name = format!("run-{}", name_suffix(uid, sequence));
    let key = Key {
        resource,
        namespace: NAMESPACE.to_owned(),
        name: name.clone(),
    };
    if store.get(&key).is_some() {
        return;
    }
    let object = json!({
        "metadata": {
            "name": name, "namespace": NAMESPACE,
            "labels": {
                RUNNABLE_NAME_LABEL: format!("r{number}"), RUNNABLE_UID_LABEL: uid,
                RUN_SEQUENCE_LABEL: sequence.to_string(),
            },
            "annotations": { INPUT_HASH_ANNOTATION: hash },
            "ownerReferences": [{
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "controller": true,
                "name": format!("r{number}"), "uid": uid,
            }],
        },
        "spec": { "value": "forged" },
    });
    people::make_as(store, resource, &object, STRANGER);
}
