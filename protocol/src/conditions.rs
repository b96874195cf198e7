//! The conditions of a Runnable: their names, their states, and reasons of ours that are no category.

use cartouche_crds::RunnableStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// Whether the template could be rendered and its run be made.
pub const RUN_TEMPLATE_READY: &str = "RunTemplateReady";
/// How the run for the present rendering fares, in the words of its engine.
pub const STAMPED_OBJECT_CONDITION: &str = "StampedObjectCondition";
/// The reason of a run that vanished while nobody watched.
pub const RUN_LOST: &str = "RunLost";
/// The reason of Ready while a run works, or is on its way.
pub const RUN_IN_PROGRESS: &str = "RunInProgress";
/// The sum of both.
pub const READY: &str = "Ready";
/// Present and True while the controller works towards Ready.
pub const RECONCILING: &str = "Reconciling";
/// Present and True when only a change can help.
pub const STALLED: &str = "Stalled";

/// The reason of Reconciling while a run that failed is going to be tried again.
pub const RETRY_SCHEDULED: &str = "RetryScheduled";

/// Present and True while a watch that the Runnable needs fails.
pub const WATCH_UNAVAILABLE: &str = "WatchUnavailable";

/// The status of a condition that holds.
pub const TRUE: &str = "True";
/// The status of a condition that does not hold.
pub const FALSE: &str = "False";
/// The status of a condition of which nothing is known yet.
pub(crate) const UNKNOWN: &str = "Unknown";

/// Why a Runnable says `Reconciling` while its run has succeeded and none is pending. A reason of its own: the minute for which an
/// input that is not there is waited for begins when that is found.
pub(crate) const SOURCE_CHANGING: &str = "SourceChanging";

/// A condition of a Runnable.
#[must_use]
pub fn find<'a>(status: &'a RunnableStatus, name: &str) -> Option<&'a Condition> {
    status
        .conditions
        .iter()
        .find(|condition| condition.type_ == name)
}

/// True if a Runnable with a run that succeeded says that it follows a change upstream.
#[must_use]
pub fn follows_upstream(status: &RunnableStatus) -> bool {
    find(status, RECONCILING).is_some_and(|it| it.status == TRUE && it.reason == SOURCE_CHANGING)
}
