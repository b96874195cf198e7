//! Events of a Runnable, of its run and of the run's pods.

use cartouche_engines::cure_of_event;
use k8s_openapi::{api::core::v1::Event, apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use kube::{Api, api::ListParams};

use crate::{
    cluster::{Cluster, within},
    live::{age, runs::LedgerRun},
};

/// Most events that are looked through.
const MOST: u32 = 500;
/// Reasons of events of a Runnable that no condition reports. Within one second, later ones in this list win.
const OF_RUNNABLE: [&str; 3] = ["DoubtfulValue", "RunWarning", "RetentionFailed"];

/// Warning event, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WarningEvent {
    /// Reason of the event.
    pub(crate) reason: String,
    /// Reason, message and age.
    pub(crate) text: String,
    /// Cure, if it is known.
    pub(crate) cure: Option<&'static str>,
    /// Time at which the event was published last.
    pub(crate) at: Option<Time>,
}

impl WarningEvent {
    fn from_event(event: Event) -> Self {
        let at = last_seen(&event);
        let reason = event.reason.unwrap_or_default();
        let message = event.message.unwrap_or_default();
        let ago = age::ago(at.as_ref());
        Self {
            cure: cure_of_event(&reason, &message),
            text: format!("{reason}: {message} ({ago} ago)"),
            reason,
            at,
        }
    }

    /// Returns true if the event is at most this many seconds old.
    pub(crate) fn is_fresh(&self, seconds: i64) -> bool {
        let age = |at: &Time| Timestamp::now().as_second() - at.0.as_second();
        self.at.as_ref().is_some_and(|at| age(at) <= seconds)
    }
}

/// Returns the last Warning of a run's object. For a Job that makes no pod, only events say why. Returns `None` if
/// events may not be listed, or are gone.
pub(crate) async fn last_warning(run: &LedgerRun, cluster: &Cluster) -> Option<WarningEvent> {
    let uid = run.uid.as_deref()?;
    last(&warnings_of(uid), cluster, |_| true).await
}

/// Returns the last Warning of a run that is a pod itself.
pub(crate) async fn last_warning_of_pod(
    run: &LedgerRun,
    cluster: &Cluster,
) -> Option<WarningEvent> {
    let uid = run.uid.as_deref()?;
    last(&warnings_of(uid), cluster, says_a_cause).await
}

/// Returns true if there is a cure for the event. Other events of a pod say no more than its status.
fn says_a_cause(event: &Event) -> bool {
    let reason = event.reason.as_deref().unwrap_or_default();
    let message = event.message.as_deref().unwrap_or_default();
    cure_of_event(reason, message).is_some()
}

/// Returns the last Warning of a pod that a Job made. Pods are matched by name, since they may be gone.
pub(crate) async fn last_warning_of_pods(
    run: &LedgerRun,
    cluster: &Cluster,
) -> Option<WarningEvent> {
    let selector = "involvedObject.kind=Pod,type=Warning";
    let is_of_run = |event: &Event| {
        let pod = event.involved_object.name.as_deref().unwrap_or_default();
        says_a_cause(event) && is_pod_of(&run.name, pod)
    };
    last(selector, cluster, is_of_run).await
}

/// Returns the last Warning of a Runnable that none of its conditions reports.
pub(crate) async fn last_warning_of_runnable(uid: &str, cluster: &Cluster) -> Option<WarningEvent> {
    last(&warnings_of(uid), cluster, |event| rank(event).is_some()).await
}

fn rank(event: &Event) -> Option<usize> {
    let reason = event.reason.as_deref().unwrap_or_default();
    OF_RUNNABLE.iter().position(|it| *it == reason)
}

/// Returns a field selector for the Warning events of the object with this uid.
fn warnings_of(uid: &str) -> String {
    format!("involvedObject.uid={uid},type=Warning")
}

async fn last(
    selector: &str,
    cluster: &Cluster,
    is_meant: impl Fn(&Event) -> bool,
) -> Option<WarningEvent> {
    let api: Api<Event> = cluster.api();
    let parameters = ListParams::default().fields(selector).limit(MOST);
    let listed = within("listing the events", api.list(&parameters)).await;
    let all = listed.ok()?.items.into_iter().filter(is_meant);
    all.max_by_key(|event| (last_seen(event), rank(event)))
        .map(WarningEvent::from_event)
}

/// Returns true if a pod has the name of a Job's pod: the Job's name, the index if any, and five letters or digits.
fn is_pod_of(job: &str, pod: &str) -> bool {
    let rest = pod.strip_prefix(job).and_then(|it| it.strip_prefix('-'));
    let Some(rest) = rest else {
        return false;
    };
    let (index, end) = rest.rsplit_once('-').unwrap_or(("", rest));
    end.len() == 5
        && end.bytes().all(|it| it.is_ascii_alphanumeric())
        && index.bytes().all(|it| it.is_ascii_digit())
}

fn last_seen(event: &Event) -> Option<Time> {
    let made = &event.metadata.creation_timestamp;
    event.last_timestamp.clone().or_else(|| made.clone())
}

#[cfg(test)]
mod tests {
    use super::is_pod_of;

    #[test]
    fn a_pod_is_of_the_job_whose_name_it_begins_with() {
        assert!(is_pod_of("it-a1", "it-a1-x7k2p"));
        assert!(is_pod_of("it-a1", "it-a1-12-x7k2p"));
        for other in [
            "it-a1",
            "it-a1-b-x7k2p",
            "it-a1x7k2p",
            "it-a1-x7k2",
            "at-a1-x7k2p",
        ] {
            assert!(!is_pod_of("it-a1", other), "{other}");
        }
    }
}
