//! Conditions of a Runnable: their types, their states, and the reasons that are no category of
//! problems.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::status::RunnableStatus;

/// Condition type: the template was rendered and its run made.
pub const RUN_TEMPLATE_READY: &str = "RunTemplateReady";
/// Condition type: the state of the run for the present rendering, in the words of its engine.
pub const STAMPED_OBJECT_CONDITION: &str = "StampedObjectCondition";
/// Reason for a run that vanished unseen.
pub const RUN_LOST: &str = "RunLost";
/// Reason of Ready while a run is at work, or is about to be made.
pub const RUN_IN_PROGRESS: &str = "RunInProgress";
/// Condition type: the sum of both.
pub const READY: &str = "Ready";
/// Condition type: present and True while the controller works towards Ready.
pub const RECONCILING: &str = "Reconciling";
/// Condition type: present and True if only a change can help.
pub const STALLED: &str = "Stalled";

/// Reason of Reconciling while a failed run is going to be retried.
pub const RETRY_SCHEDULED: &str = "RetryScheduled";

/// Condition type: present and True while a watch that the Runnable needs fails.
pub const WATCH_UNAVAILABLE: &str = "WatchUnavailable";

/// Status of a condition that holds.
pub const TRUE: &str = "True";
/// Status of a condition that does not hold.
pub const FALSE: &str = "False";
/// Status of a condition that is not known yet.
pub const UNKNOWN: &str = "Unknown";

/// Reason of Reconciling while the run has succeeded and none is pending. It has a reason of its
/// own because the minute of patience for a missing input begins when that is found.
pub const SOURCE_CHANGING: &str = "SourceChanging";

/// Returns the condition of this type, or `None` if the status lacks it.
#[must_use]
pub fn find<'a>(status: &'a RunnableStatus, name: &str) -> Option<&'a Condition> {
    status
        .conditions
        .iter()
        .find(|condition| condition.type_ == name)
}

/// Returns true if a Runnable whose run succeeded reports that it follows a change upstream.
#[must_use]
pub fn follows_upstream(status: &RunnableStatus) -> bool {
    find(status, RECONCILING).is_some_and(|it| it.status == TRUE && it.reason == SOURCE_CHANGING)
}
