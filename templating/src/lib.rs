//! Templates of Cartouche: from a `ClusterRunTemplate` and a Runnable to the object to create, and with a profile to
//! the object that is sent.
//!
//! Everything here is pure: no clock, no network, no Kubernetes client; the same input gives the same output on
//! every machine. Every limit that keeps one template from harming the process is in [`cartouche_language::bounds`].
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
mod meant;
mod profile;
mod rendered;
mod requires;
mod runner;
mod source;
mod stamp;
mod suspect;
mod template;

pub use contains::{contains, contains_document, may_be_left_out};
pub use context::Context;
pub use document::{StampError, is_own_kind};
pub use meant::list_of_argo;
pub use profile::Profile;
pub use rendered::Rendered;
pub use requires::Needed;
pub use runner::{FileOfRun, Mounted, VOLUME as RUNNER_VOLUME, files_of_run, list_mounts};
pub use source::{
    Fields, NoValue, Room, Sourced, UnreadableText, given_twice, read_text, secret_mark, wrong_path,
};
pub use stamp::{Stamp, stamp};
pub use template::{Attempt, Doubt, DoubtfulValue, Draft, Template};
