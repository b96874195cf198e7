//! Facts about engines and their runs: the table of kinds, health, the pods of a run, outputs, termination messages, and
//! the merge of documents by the keys of Kubernetes.
//!
//! Nothing here knows the body of a template or renders one; parts of its spec (outputs, health rule, stop) are arguments.
//! Everything is pure: no clock, no network, no Kubernetes client.

mod failure_outputs;
pub mod health;
pub mod kinds;
mod maker;
pub mod merge;
pub mod output_paths;
mod outputs;
mod pods;
mod run_reason;
mod sensitive;
mod termination_message;
mod verdict;

pub use failure_outputs::FailureOutputs;
pub use health::{Judged, built_in_health, ended_at};
pub use maker::Maker;
pub use merge::{CONTAINERS as CONTAINER_LISTS, EACH as EACH_CONTAINER, merge_keys};
pub use outputs::{OutputError, OutputPathError, Outputs};
pub use pods::{
    OBJECTS_OF_VOLUMES, PodsTell, PodsWords, Said, cure_of_event, had_failed_pods, is_late,
    is_of_memory_limit, mask, no_pod_because, no_pod_yet, remedy, remedy_at_work, why_no_pod,
};
pub use run_reason::RunReason;
pub use sensitive::Sensitive;
pub use termination_message::{
    EndedPods, add_message_of, add_message_of_failed, add_own_message, has_message_in_pods, is_job,
    is_message_gone, strangers_among,
};
pub use verdict::{Health, Verdict};
