//! What the events of a run's object say.

use k8s_openapi::{api::core::v1::Event, apimachinery::pkg::apis::meta::v1::Time};
use kube::{Api, api::ListParams};

use crate::{
    cluster::{Cluster, within},
    live::runs::LedgerRun,
};

/// The last Warning of a run's object: of a Job that makes no pod nothing else says why. Nothing where events may not be
/// listed, or are gone.
pub(crate) async fn last_warning(run: &LedgerRun, cluster: &Cluster) -> Option<String> {
    let uid = run.uid.as_deref()?;
    let api: Api<Event> = cluster.api();
    let parameters =
        ListParams::default().fields(&format!("involvedObject.uid={uid},type=Warning"));
    let listed = within("listing the events of the run", api.list(&parameters)).await;
    let last = listed.ok()?.items.into_iter().max_by_key(last_seen)?;
    Some(format!(
        "{}: {}",
        last.reason.unwrap_or_default(),
        last.message.unwrap_or_default()
    ))
}

fn last_seen(event: &Event) -> Option<Time> {
    let made = &event.metadata.creation_timestamp;
    event.last_timestamp.clone().or_else(|| made.clone())
}
