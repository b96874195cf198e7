//! Templates of Cartouche: from a `ClusterRunTemplate` and a Runnable to the object to create, and from a run back
//! to success and outputs.
//!
//! Everything here is pure: no clock, no network, no Kubernetes client; the same input gives the same output on
//! every machine. Every limit that keeps one template from harming the process is in [`bounds`].
//!
//! ```
//! use cartouche_templating::{Context, Template};
//! use serde_json::json;
//!
//! let spec = serde_json::from_value(json!({
//!     "template": {
//!         "apiVersion": "v1",
//!         "kind": "ConfigMap",
//!         "metadata": { "generateName": "greeting-" },
//!         "data": { "text": "hello $(runnable.spec.inputs.name)$" },
//!     },
//! }))?;
//! let template = Template::compile(&spec)?;
//! let runnable = json!({
//!     "metadata": { "name": "hello", "namespace": "default" },
//!     "spec": { "runTemplateRef": { "name": "greeting" }, "inputs": { "name": "world" } },
//! });
//! let rendered = template.render(&Context::new(&runnable, None)?)?;
//! assert_eq!(rendered.document()["data"]["text"], "hello world");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod body;
pub mod bounds;
mod clocks;
mod contains;
mod context;
mod diagnostic;
mod digest;
mod document;
pub mod explained;
mod failure_outputs;
pub mod foreign_tag;
mod health;
mod input_schema;
mod json_text;
pub mod kinds;
mod maker;
mod meant;
mod merge;
mod name;
mod number;
mod object;
mod open;
mod output_paths;
mod outputs;
mod own_metadata;
mod owner;
mod path;
mod pods;
mod profile;
mod readable;
mod rendered;
mod requires;
mod roots;
mod run_reason;
mod runner;
mod sensitive;
mod source;
mod stamp;
pub mod suggestion;
mod suspect;
pub mod syntax;
mod tag;
mod tag_error;
mod template;
mod termination_message;
mod verdict;
mod warning;
pub mod weight;

pub use bounds::Exhausted;
pub use clocks::CLOCKS;
pub use contains::{contains, contains_document, may_be_left_out};
pub use context::Context;
pub use diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, Root, Segment, field_path};
pub use digest::{
    HashVersion, Hashes, Hashing, MADE_VERSION as MADE_HASH_VERSION, VERSION as HASH_VERSION,
    short_hash,
};
pub use document::{StampError, is_own_kind};
pub use health::{Judged, built_in_health, ended_at};
pub use input_schema::{
    NumberLimit, SchemaType, TypeCure, count_breach, fits_format, matches_pattern,
};
pub use maker::Maker;
pub use meant::list_of_argo;
pub use merge::{CONTAINERS as CONTAINER_LISTS, EACH as EACH_CONTAINER, merge_keys};
pub use name::{
    MAX_LABEL, MAX_RUN_NAME, is_label_key, is_label_value, label_value, name_suffix, wrong_label,
};
pub use open::{OpenJson, OpenPlace, RunFacts};
pub use outputs::{OutputError, OutputPathError};
pub use own_metadata::remove_own_labels;
pub use owner::{Owner, controlling_runnable, is_run, owner_reference};
pub use path::{PathError, SearchError, SyntaxError};
pub use pods::{
    OBJECTS_OF_VOLUMES, PodsTell, PodsWords, Said, cure_of_event, had_failed_pods, is_late,
    is_of_memory_limit, masked, no_pod_because, no_pod_yet, remedy, remedy_at_work, why_no_pod,
};
pub use profile::Profile;
pub use rendered::Rendered;
pub use requires::Needed;
pub use roots::TERMINATION_MESSAGE;
pub use run_reason::RunReason;
pub use runner::{FileOfRun, Mounted, VOLUME as RUNNER_VOLUME, files_of_run, mounted};
pub use sensitive::Sensitive;
pub use source::{
    Fields, NoValue, Room, Sourced, UnreadableText, given_twice, read_text, secret_mark, wrong_path,
};
pub use stamp::{Stamp, stamp};
pub use tag_error::{OpenTagError, TagError, UnreadableField};
pub use template::{Attempt, Doubt, DoubtfulValue, Draft, Template};
pub use termination_message::{
    EndedPods, add_message_of, add_message_of_failed, add_own_message, has_message_in_pods, is_job,
    is_message_gone, strangers_among,
};
pub use verdict::{Health, Verdict};
pub use warning::{Consequence, Unmet, Warning, WarningKind};
