//! Names on the wire: group, labels, annotations.

/// The API group of all kinds.
pub const GROUP: &str = "carto.run";
/// The only version of the group: served and stored.
pub const VERSION: &str = "v1alpha1";
/// `GROUP/VERSION`, as in a manifest.
pub const API_VERSION: &str = "carto.run/v1alpha1";

/// On every run: the name of its Runnable (shortened with a hash above 63 characters).
pub const RUNNABLE_NAME_LABEL: &str = "carto.run/runnable-name";
/// On every run: the name of the template that rendered it (shortened like the Runnable's).
pub const RUN_TEMPLATE_NAME_LABEL: &str = "carto.run/run-template-name";
/// On every run: the uid of its Runnable, so that a re-created Runnable never takes over old runs.
pub const RUNNABLE_UID_LABEL: &str = "carto.run/runnable-uid";
/// On every run: its number in the Runnable's ledger, a positive decimal.
pub const RUN_SEQUENCE_LABEL: &str = "carto.run/run-sequence";
/// On every run: the hash of the document that was rendered for it.
pub const INPUT_HASH_ANNOTATION: &str = "carto.run/input-hash";
/// On a Runnable: requests one more run each time its value changes. On a run: the value that the run answers.
pub const RERUN_TOKEN_ANNOTATION: &str = "carto.run/rerun-token";
/// On a Runnable and on a run: the author and the reason of that re-run; see [`crate::RerunRequest`].
pub const RERUN_REQUEST_ANNOTATION: &str = "carto.run/rerun-request";
/// On a Runnable: retries at once what failed and is scheduled for a later retry, each time its value changes. It
/// makes no further run.
pub const RETRY_NOW_ANNOTATION: &str = "carto.run/retry-now";
/// On a Runnable: the one run that a person approves; see [`crate::Approval`].
pub const APPROVED_ANNOTATION: &str = "carto.run/approved";
/// On a Runnable: the one run that a person refuses, with the reason; see [`crate::Rejection`].
pub const REJECTED_ANNOTATION: &str = "carto.run/rejected";
/// On a run: the profile that it was made with, and its generation; see [`crate::ProfileVersion`].
pub const PROFILE_ANNOTATION: &str = "carto.run/profile";
/// On a Runnable: requests a new choice of its profile each time its value changes. On a run: the value that the
/// choice of its profile answered.
pub const PROFILE_REFRESH_ANNOTATION: &str = "carto.run/profile-refresh";
/// On a run that was stopped on request: the author, the reason and the time; see [`crate::Cancellation`].
pub const CANCEL_REQUEST_ANNOTATION: &str = "carto.run/cancel-request";
/// On a run: its sources, as JSON, as `currentRun.sources` had them then. For people: the controller never reads
/// it.
pub const SOURCES_ANNOTATION: &str = "carto.run/sources";

/// On the pod of a run: the arguments of its containers, as JSON.
pub const RUNNER_ARGS_ANNOTATION: &str = "carto.run/runner-args";
/// On the pod of a run: the context of its containers, as JSON.
pub const RUNNER_CONTEXT_ANNOTATION: &str = "carto.run/runner-context";
/// On the pod of a run, with a number appended: the content of a file of its containers.
pub const RUNNER_FILE_ANNOTATION: &str = "carto.run/runner-file-";

/// On an object that outputs are written to: the uid of the Runnable that writes it.
pub const SINK_OF_ANNOTATION: &str = "carto.run/outputs-of";
/// On an object that outputs are written to: the number of the run whose outputs it contains.
pub const SINK_SEQUENCE_ANNOTATION: &str = "carto.run/outputs-sequence";

/// On each definition: the number of its schema, see [`crate::SCHEMA`].
pub const SCHEMA_ANNOTATION: &str = "carto.run/schema";

/// The field manager of every write that Cartouche makes.
pub const FIELD_MANAGER: &str = "cartouche";

/// Returns true if the API server accepts this name for most objects, `ServiceAccounts` among them: a DNS
/// subdomain (RFC 1123).
#[must_use]
pub fn is_dns_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_label)
}

/// Returns true if the API server accepts this name for a namespace: a DNS label (RFC 1123).
#[must_use]
pub fn is_dns_label(name: &str) -> bool {
    name.len() <= 63 && is_label(name)
}

/// Returns true if a `ConfigMap` or Secret can have this key, by the rule of Kubernetes (`IsConfigMapKey`): a
/// mounted key is the name of a file.
#[must_use]
pub fn is_config_map_key(key: &str) -> bool {
    let is_of_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_path = key == "." || key.starts_with("..");
    (1..=253).contains(&key.len()) && key.bytes().all(is_of_key) && !is_path
}

fn is_label(label: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_plain = !label.is_empty() && label.bytes().all(inner);
    is_plain && !label.starts_with('-') && !label.ends_with('-')
}
