//! The profiles of a cluster.

use std::{collections::BTreeMap, fmt::Debug, sync::Arc};

use cartouche_crds::ClusterRunProfile;
use cartouche_protocol::profiles::{KnownProfile, Profiles};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;

use crate::cluster::{Cluster, within};

/// Reads the profiles, with the labels of the namespace if rules select namespaces. Returns `None` if the user may
/// not list them. A cluster with an older Cartouche has none.
pub(crate) async fn read(cluster: &Cluster) -> anyhow::Result<Option<Profiles>> {
    let api = cluster.cluster_api::<ClusterRunProfile>();
    let listed = async { unless_denied(api.list(&ListParams::default()).await) };
    let all = match within("listing ClusterRunProfiles", listed).await? {
        Answer::Denied => return Ok(None),
        Answer::Absent => Vec::new(),
        Answer::Given(listed) => listed.items,
    };
    let all: Vec<_> = all
        .iter()
        .map(|it| Arc::new(KnownProfile::new(it)))
        .collect();
    let needs_labels = all.iter().any(|profile| profile.selects_namespaces());
    let mut profiles = Profiles {
        all: Arc::new(all),
        namespace_labels: None,
    };
    if needs_labels {
        let name = &cluster.namespace;
        let api = cluster.cluster_api::<Namespace>();
        let read = async { unless_denied(api.get_metadata(name).await) };
        profiles.namespace_labels =
            match within(&format!("reading the namespace {name}"), read).await? {
                Answer::Denied => None,
                // Nothing runs in a namespace that does not exist.
                Answer::Absent => Some(Arc::new(BTreeMap::new())),
                Answer::Given(found) => Some(Arc::new(found.metadata.labels.unwrap_or_default())),
            };
    }
    Ok(Some(profiles))
}

#[derive(Debug)]
enum Answer<T> {
    Given(T),
    Absent,
    Denied,
}

fn unless_denied<T: Debug>(answer: Result<T, kube::Error>) -> Result<Answer<T>, kube::Error> {
    match answer {
        Ok(given) => Ok(Answer::Given(given)),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(Answer::Denied),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Answer::Absent),
        Err(error) => Err(error),
    }
}
