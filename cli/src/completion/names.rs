//! Names on the cluster that the typed words point to.

use std::{
    sync::mpsc::{self, Sender},
    thread,
    time::{Duration, Instant},
};

use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::{ClusterRunTemplate, Runnable};
use clap_complete::CompletionCandidate;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::{Api, Resource, ResourceExt, api::ListParams};
use serde::de::DeserializeOwned;

use crate::cluster::{self, Cluster, ClusterArgs};

/// Longest wait; after it no further names are taken.
const PATIENCE: Duration = Duration::from_secs(2);
/// Names in one page of a list; further pages follow while there is time.
const MANY: u32 = 500;

/// Kind of object that an argument names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Runnables,
    Templates,
    Namespaces,
    Accounts,
}

/// Returns the names that arrive in time. The work runs on a thread that is left behind: some of what may hang cannot
/// be cancelled, such as a program that gives credentials.
pub(super) fn complete(what: What, place: &ClusterArgs) -> Vec<CompletionCandidate> {
    let (give, take) = mpsc::channel();
    let place = place.clone();
    thread::spawn(move || {
        // An error ends the names silently.
        let _ = cluster::block_on(listed(what, &place, &give));
    });
    let end = Instant::now() + PATIENCE;
    let mut names: Vec<String> = Vec::new();
    while let Ok(more) = take.recv_timeout(end.saturating_duration_since(Instant::now())) {
        names.extend(more);
    }
    // A shell shows names unescaped.
    names.retain(|name| in_one_line(name) == *name);
    names.into_iter().map(CompletionCandidate::new).collect()
}

async fn listed(what: What, place: &ClusterArgs, give: &Sender<Vec<String>>) -> anyhow::Result<()> {
    let cluster = Cluster::connect(place).await?;
    match what {
        What::Runnables => names(cluster.api::<Runnable>(), give).await,
        What::Accounts => names(cluster.api::<ServiceAccount>(), give).await,
        What::Templates => names(Api::<ClusterRunTemplate>::all(cluster.client), give).await,
        What::Namespaces => names(Api::<Namespace>::all(cluster.client), give).await,
    }
}

/// Sends the names page by page, until the receiver is gone.
async fn names<K>(api: Api<K>, give: &Sender<Vec<String>>) -> anyhow::Result<()>
where
    K: Resource + Clone + std::fmt::Debug + DeserializeOwned,
{
    let mut page = ListParams::default().limit(MANY);
    loop {
        let list = api.list_metadata(&page).await?;
        give.send(list.items.iter().map(ResourceExt::name_any).collect())?;
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(()),
        }
    }
}

/// Reads the cluster and namespace from the typed words, which may be unfinished or wrong.
pub(super) fn place(words: &[String]) -> ClusterArgs {
    let value = |long: &str, short: Option<&str>| {
        let mut found = None;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == long || Some(word.as_str()) == short {
                found = words.next().cloned();
            } else if let Some(value) = word
                .strip_prefix(long)
                .and_then(|rest| rest.strip_prefix('='))
            {
                found = Some(value.to_owned());
            } else if let Some(value) = short.and_then(|short| word.strip_prefix(short)) {
                found = Some(value.trim_start_matches('=').to_owned());
            }
        }
        found.filter(|value| !value.is_empty())
    };
    ClusterArgs {
        context: value("--context", None),
        kubeconfig: value("--kubeconfig", None).map(Into::into),
        namespace: value("--namespace", Some("-n")),
    }
}
