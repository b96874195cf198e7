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
mod contains;
mod context;
mod document;
mod failure_outputs;
mod health;
pub mod kinds;
mod maker;
mod meant;
mod merge;
mod output_paths;
mod outputs;
mod pods;
mod profile;
mod rendered;
mod requires;
mod run_reason;
mod runner;
mod sensitive;
mod source;
mod stamp;
mod suspect;
mod template;
mod termination_message;
mod verdict;

pub use contains::{contains, contains_document, may_be_left_out};
pub use context::Context;
pub use document::{StampError, is_own_kind};
pub use health::{Judged, built_in_health, ended_at};
pub use maker::Maker;
pub use meant::list_of_argo;
pub use merge::{CONTAINERS as CONTAINER_LISTS, EACH as EACH_CONTAINER, merge_keys};
pub use outputs::{OutputError, OutputPathError};
pub use pods::{
    OBJECTS_OF_VOLUMES, PodsTell, PodsWords, Said, cure_of_event, had_failed_pods, is_late,
    is_of_memory_limit, masked, no_pod_because, no_pod_yet, remedy, remedy_at_work, why_no_pod,
};
pub use profile::Profile;
pub use rendered::Rendered;
pub use requires::Needed;
pub use run_reason::RunReason;
pub use runner::{FileOfRun, Mounted, VOLUME as RUNNER_VOLUME, files_of_run, mounted};
pub use sensitive::Sensitive;
pub use source::{
    Fields, NoValue, Room, Sourced, UnreadableText, given_twice, read_text, secret_mark, wrong_path,
};
pub use stamp::{Stamp, stamp};
pub use template::{Attempt, Doubt, DoubtfulValue, Draft, Template};
pub use termination_message::{
    EndedPods, add_message_of, add_message_of_failed, add_own_message, has_message_in_pods, is_job,
    is_message_gone, strangers_among,
};
pub use verdict::{Health, Verdict};
