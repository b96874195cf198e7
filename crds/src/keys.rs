//! Labels and annotations of `carto.run`.

/// A label or annotation of `carto.run` on one kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub key: &'static str,
    /// The field of the metadata that holds it.
    pub field: KeyField,
    /// The object that has it.
    pub on: KeyHolder,
    /// Writers of the key.
    pub set_by: &'static str,
    /// Meaning of its value, as Markdown.
    pub meaning: &'static str,
}

/// Field of the metadata that holds a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyField {
    /// A label.
    Label,
    /// An annotation.
    Annotation,
}

/// Kind of object that has a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHolder {
    /// A Runnable.
    Runnable,
    /// A run.
    Run,
    /// The pod of a run whose template has a `runner`.
    Pod,
    /// A Secret or `ConfigMap` that outputs are written to.
    OutputObject,
    /// A definition of a kind of `carto.run`.
    Definition,
    /// A `ClusterRole`.
    ClusterRole,
    /// A Role or `ClusterRole`.
    Role,
}

/// Defines all keys by a table of constant, field and key; and of holder, writers and meaning for each kind of object
/// that has the key.
macro_rules! keys {
    ($($name:ident = $field:ident $key:literal { $($on:ident, $set_by:literal, $meaning:literal;)+ })+) => {
        $(
            $(#[doc = concat!("On `", stringify!($on), "`: ", $meaning, ".\n")])+
            pub const $name: &str = $key;
        )+

        /// All keys, with an entry for each kind of object that has the key. `cargo generate` writes them into
        /// `docs/reference/labels-and-annotations.md`.
        pub const KEYS: &[Key] = &[$($(Key {
            key: $key,
            field: KeyField::$field,
            on: KeyHolder::$on,
            set_by: $set_by,
            meaning: $meaning,
        },)+)+];
    };
}

keys! {
    RUNNABLE_NAME_LABEL = Label "carto.run/runnable-name" {
        Run, "the controller", "the name of the Runnable";
    }
    RUN_TEMPLATE_NAME_LABEL = Label "carto.run/run-template-name" {
        Run, "the controller", "the name of the template";
    }
    RUNNABLE_UID_LABEL = Label "carto.run/runnable-uid" {
        Run, "the controller", "the uid of the Runnable, so that a re-created Runnable never takes over old runs";
    }
    RUN_SEQUENCE_LABEL = Label "carto.run/run-sequence" {
        Run, "the controller", "the number of the run: 1, 2, 3 and so on";
    }
    INPUT_HASH_ANNOTATION = Annotation "carto.run/input-hash" {
        Run, "the controller", "the hash of the rendered object";
    }
    RERUN_TOKEN_ANNOTATION = Annotation "carto.run/rerun-token" {
        Runnable, "you, `cartouche rerun`, `cartouche profile refresh --rerun`", "each new value asks for one more run";
        Run, "the controller", "the re-run request that this run answers";
    }
    RERUN_REQUEST_ANNOTATION = Annotation "carto.run/rerun-request" {
        Runnable, "`cartouche rerun`, `cartouche profile refresh --rerun`",
            "the author and the reason of that request, as JSON with `token`, `by` and `reason`. It counts only for its own token";
        Run, "the controller", "the author and the reason of that request";
    }
    RETRY_NOW_ANNOTATION = Annotation "carto.run/retry-now" {
        Runnable, "you, `cartouche rerun` if the current run is refused",
            "each new value immediately retries what failed. It makes no further run";
    }
    APPROVED_ANNOTATION = Annotation "carto.run/approved" {
        Runnable, "you, `cartouche approve`", "approves one run: the value of `status.pending.approval`";
    }
    REJECTED_ANNOTATION = Annotation "carto.run/rejected" {
        Runnable, "you, `cartouche approve --reject`", "rejects one run, as JSON with `approval`, `by` and `reason`";
    }
    SOURCES_ANNOTATION = Annotation "carto.run/sources" {
        Run, "the controller", "the sources of the run, as JSON. It is for people: the controller never reads it";
    }
    PROFILE_ANNOTATION = Annotation "carto.run/profile" {
        Run, "the controller", "the profile and its generation, for example `production@3`";
    }
    PROFILE_REFRESH_ANNOTATION = Annotation "carto.run/profile-refresh" {
        Runnable, "you, `cartouche profile refresh`", "each new value asks to choose the profile again";
        Run, "the controller", "the refresh request that the choice of this profile answered";
    }
    CANCEL_REQUEST_ANNOTATION = Annotation "carto.run/cancel-request" {
        Run, "`cartouche cancel`",
            "the author, the reason and the time of a cancellation, as JSON with `by`, `reason` and `at`. Any other text counts as a reason";
    }
    RUNNER_ARGS_ANNOTATION = Annotation "carto.run/runner-args" {
        Pod, "the controller", "the arguments, as JSON";
    }
    RUNNER_CONTEXT_ANNOTATION = Annotation "carto.run/runner-context" {
        Pod, "the controller", "the context of the run, as JSON";
    }
    RUNNER_FILE_ANNOTATION = Annotation "carto.run/runner-file-" {
        Pod, "the controller", "the content of another file. The key ends in its number, beginning with 0";
    }
    SINK_OF_ANNOTATION = Annotation "carto.run/outputs-of" {
        OutputObject, "the controller", "the uid of the Runnable that writes the object";
    }
    SINK_SEQUENCE_ANNOTATION = Annotation "carto.run/outputs-sequence" {
        OutputObject, "the controller", "the number of the run whose outputs the object has";
    }
    SCHEMA_ANNOTATION = Annotation "carto.run/schema" {
        Definition, "the release", "the number of its schema. A controller creates no runs under older definitions";
    }
    DELETE_DEFINITION_ANNOTATION = Annotation "carto.run/delete-definition" {
        Definition, "you", "`\"yes\"` permits its deletion, if `config/policies` is installed";
    }
    AGGREGATE_LABEL = Label "carto.run/aggregate-to-controller" {
        ClusterRole, "you, the release", "`\"true\"` lets the controller watch the kinds of that role";
    }
    INCOMPLETE_ANNOTATION = Annotation "carto.run/incomplete" {
        Role, "`cartouche rbac -o json`", "the reason why permissions may be missing in it";
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_key_is_of_the_group_and_has_one_meaning_on_an_object() {
        let mut seen = BTreeSet::new();
        for key in KEYS {
            assert!(key.key.starts_with("carto.run/"), "{key:?}");
            let on = format!("{:?} {:?} {}", key.on, key.field, key.key);
            assert!(seen.insert(on), "{key:?}");
        }
    }
}
