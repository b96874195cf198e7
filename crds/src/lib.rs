//! The resources of the API group `carto.run`, which users of Cartouche write and read.
//!
//! The types are the source of everything generated from them: the `CustomResourceDefinition`s in `config/crd` and
//! the API reference in `docs/reference/api.md` (`cargo generate`). A manifest written for Cartographer's Runnable is
//! valid here unchanged.

mod approval;
mod breaker;
mod cancellation;
mod concurrency;
pub mod conditions;
mod definition;
mod duration;
mod health_rule;
mod history;
mod keys;
mod line;
mod names;
mod needs;
mod pending_run;
mod plain_json;
mod profile;
mod reason_set;
mod rejection;
mod required_permission;
mod rerun;
mod retry;
mod run;
mod run_template;
mod runnable;
mod runner;
mod schema;
mod selector;
mod sink;
mod source;
mod start;
mod status;
mod status_bytes;
mod stop;
mod strict;
mod unknown_fields;

pub use approval::{Approval, ApprovalPolicy};
pub use breaker::{Breaker, NoBreaker};
pub use cancellation::Cancellation;
pub use concurrency::ConcurrencyPolicy;
pub use definition::{SCHEMA, cluster_run_profile, cluster_run_template, runnable, schema_of};
pub use duration::{LONGEST_DURATION, SHORTEST_DURATION, duration};
pub use health_rule::{
    AlwaysHealthy, ConditionMatch, FieldMatch, FieldOperator, HealthMatchRule, HealthRule,
    MultiMatch,
};
pub use history::{HistoryEntry, UnreadableLine};
pub use keys::{
    AGGREGATE_LABEL, APPROVED_ANNOTATION, CANCEL_REQUEST_ANNOTATION, DELETE_DEFINITION_ANNOTATION,
    INCOMPLETE_ANNOTATION, INPUT_HASH_ANNOTATION, KEYS, Key, KeyField, KeyHolder,
    PROFILE_ANNOTATION, PROFILE_REFRESH_ANNOTATION, REJECTED_ANNOTATION, RERUN_REQUEST_ANNOTATION,
    RERUN_TOKEN_ANNOTATION, RETRY_NOW_ANNOTATION, RUN_SEQUENCE_LABEL, RUN_TEMPLATE_NAME_LABEL,
    RUNNABLE_NAME_LABEL, RUNNABLE_UID_LABEL, RUNNER_ARGS_ANNOTATION, RUNNER_CONTEXT_ANNOTATION,
    RUNNER_FILE_ANNOTATION, SCHEMA_ANNOTATION, SINK_OF_ANNOTATION, SINK_SEQUENCE_ANNOTATION,
    SOURCES_ANNOTATION,
};
pub use line::{MESSAGE_BYTES, short_message};
pub use names::{
    API_VERSION, FIELD_MANAGER, GROUP, VERSION, is_config_map_key, is_dns_label, is_dns_subdomain,
};
pub use needs::needs_of_status;
pub use pending_run::PendingRun;
pub use plain_json::{plain_json, plain_json_map};
pub use profile::{
    ClusterRunProfile, ClusterRunProfileSpec, ClusterRunProfileStatus, MAX_PATCHES,
    MAX_RULE_TEMPLATES, MAX_RULES, MAX_VALUES, PinnedProfile, ProfilePatch, ProfileRequirement,
    ProfileRule, ProfileVersion,
};
pub use rejection::{MAX_REASON, Rejection};
pub use required_permission::{MAX_REQUIRED, RequiredPermission};
pub use rerun::RerunRequest;
pub use retry::{Backoff, MAX_FACTOR, MAX_RETRIES, Retry, RetryOn};
pub use run::{MAX_SEQUENCE, RunResult};
pub use run_template::{
    BESIDE_TEMPLATE, ClusterRunTemplate, ClusterRunTemplateSpec, ClusterRunTemplateStatus,
    TO_BESIDE_TEMPLATE,
};
pub use runnable::{
    DEFAULT_SERVICE_ACCOUNT, ResourceRef, RetentionPolicy, RunTemplateRef, Runnable, RunnableSpec,
    Selector,
};
pub use runner::{MAX_FILES, Runner, RunnerFile};
pub use selector::selects;
pub use sink::{MAX_SINKS, OutputSink, RunFailure, SensitiveOutput, SinkKind, SinkStatus};
pub use source::{
    Coherence, ConfigMapKeyRef, InputSource, MAX_LABELS, MAX_SOURCES, ObjectRef, ReadAs,
    RunnableRef, SecretKeyRef, WaitFor, WaitForObject,
};
pub use start::Start;
pub use status::{
    CurrentRun, MAX_LINE, MAX_LINES, MAX_UNREADABLE, OutputsFrom, RunPhase, RunnableStatus,
    last_answered,
};
pub use status_bytes::{MAX_STATUS_BYTES, StatusBytes, stored_bytes};
pub use stop::{DeleteRun, Stop, StopMethod, StopReason};
pub use unknown_fields::{MAX_UNKNOWN_BYTES, UnknownFields};
