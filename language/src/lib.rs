//! The language of Cartouche's templates: paths, tags, schemas of inputs, and their diagnostics. Beside it stand the names,
//! digests and limits that all readers and writers of its objects share.
//!
//! Nothing here compiles a template or reads a run. Everything is pure: no clock, no network, no Kubernetes client. Every
//! limit that keeps one template from harming the process is in [`bounds`].

pub mod bounds;
mod clocks;
pub mod diagnostic;
pub mod digest;
pub mod explained;
pub mod foreign_tag;
mod input_schema;
pub mod json_text;
pub mod name;
pub mod number;
pub mod object;
pub mod open;
pub mod own_metadata;
mod owner;
pub mod path;
pub mod readable;
pub mod roots;
pub mod suggestion;
pub mod syntax;
pub mod tag;
mod tag_error;
mod warning;
pub mod weight;

pub use bounds::Exhausted;
pub use clocks::CLOCKS;
pub use diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, Root, Segment, field_path};
pub use digest::{
    HashVersion, Hashes, Hashing, MADE_VERSION as MADE_HASH_VERSION, VERSION as HASH_VERSION,
    short_hash,
};
pub use input_schema::{
    InputSchema, NumberLimit, SchemaType, TypeCure, count_breach, fits_format, matches_pattern,
};
pub use name::{
    MAX_LABEL, MAX_RUN_NAME, is_label_key, is_label_value, label_value, name_suffix, wrong_label,
};
pub use open::{OpenJson, OpenPlace, RunFacts};
pub use own_metadata::remove_own_labels;
pub use owner::{Owner, controlling_runnable, is_run, owner_reference};
pub use path::{PathError, SearchError, SyntaxError};
pub use roots::TERMINATION_MESSAGE;
pub use tag_error::{OpenTagError, TagError, UnreadableField};
pub use warning::{Consequence, Unmet, Warning, WarningKind};
