//! Versions of objects, in the order of the API server: by their `resourceVersion`, which is one for all
//! kinds.

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use cartouche_tests::{
    cluster::{Cluster, Seen},
    fixture::objects::{condition, name_of, text},
    kind::{CONFIG_MAP, JOB, Kind, RUNNABLE},
};
use futures::StreamExt;
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams, WatchEvent, WatchParams},
};
use serde_json::Value;
use tokio::task::JoinSet;

pub(super) const KUSTOMIZATION: Kind = Kind::new(
    "kustomize.toolkit.fluxcd.io",
    "v1",
    "Kustomization",
    "kustomizations",
);
pub(super) const DEPLOYMENT: Kind = Kind::new("apps", "v1", "Deployment", "deployments");
const KINDS: [Kind; 5] = [KUSTOMIZATION, JOB, DEPLOYMENT, CONFIG_MAP, RUNNABLE];

/// Maximum time of a run, or of Flux: some 10 seconds on an idle machine.
const PATIENCE: Duration = Duration::from_mins(4);

/// An object as it was from a moment on.
#[derive(Clone)]
pub(super) struct Version {
    at: u64,
    kind: Kind,
    pub(super) object: Value,
}

impl Version {
    /// Returns true for an object of this kind, namespace and name.
    pub(super) fn is(&self, kind: Kind, namespace: &str, name: &str) -> bool {
        self.kind == kind
            && self.object["metadata"]["namespace"] == namespace
            && name_of(&self.object) == name
    }

    /// Returns true for a Job of this Runnable that was made for this version.
    fn is_run(&self, namespace: &str, runnable: &str, version: &str) -> bool {
        let metadata = &self.object["metadata"];
        self.kind == JOB
            && metadata["namespace"] == namespace
            && metadata["labels"]["carto.run/runnable-name"] == runnable
            && self.object["spec"].to_string().contains(version)
    }
}

/// All versions of objects of some kinds, from the beginning of the record on.
pub(super) struct Record {
    cluster: Cluster,
    versions: Arc<Mutex<Vec<Version>>>,
    _watches: JoinSet<()>,
}

impl Record {
    pub(super) async fn begin(cluster: &Cluster) -> Result<Self> {
        let versions = Arc::default();
        let mut watches = JoinSet::new();
        for kind in KINDS {
            let api: Api<DynamicObject> = Api::all_with(cluster.client(), &kind.resource());
            let now = api.list(&ListParams::default().limit(1)).await?;
            let at = now.metadata.resource_version.context("a list of no time")?;
            watches.spawn(follow(api, kind, at, Arc::clone(&versions)));
        }
        Ok(Self {
            cluster: cluster.clone(),
            versions,
            _watches: watches,
        })
    }

    /// Waits for the first wanted version, and returns its moment.
    pub(super) async fn first(&self, what: &str, wanted: impl Fn(&Version) -> bool) -> Result<u64> {
        let wanted = &wanted;
        let looking = || async move {
            let versions = all(&self.versions);
            let first = versions
                .iter()
                .filter(|it| wanted(it))
                .map(|it| it.at)
                .min();
            Ok(first.map_or_else(|| Seen::NotYet("it is not there".to_owned()), Seen::Done))
        };
        self.cluster.eventually(what, PATIENCE, looking).await
    }

    /// Waits until a Kustomization is ready for a revision, and returns the first such moment.
    pub(super) async fn ready(&self, namespace: &str, name: &str, revision: &str) -> Result<u64> {
        let what = format!("{name} to be ready for {revision}");
        self.first(&what, |it| {
            let status = &it.object["status"];
            it.is(KUSTOMIZATION, namespace, name)
                && status["lastAppliedRevision"] == revision
                && condition(&it.object, "Ready")["status"] == "True"
        })
        .await
    }

    /// Waits until a Kustomization has failed for a revision with this reason, and returns the moment.
    pub(super) async fn failed(
        &self,
        namespace: &str,
        name: &str,
        revision: &str,
        reason: &str,
    ) -> Result<u64> {
        let what = format!("{name} to have failed ({reason}) for {revision}");
        self.first(&what, |it| {
            it.is(KUSTOMIZATION, namespace, name) && failed(it, revision, reason)
        })
        .await
    }

    /// Returns true if a Kustomization has failed for a revision with this reason so far.
    pub(super) fn has_failed(
        &self,
        namespace: &str,
        name: &str,
        revision: &str,
        reason: &str,
    ) -> bool {
        let versions = all(&self.versions);
        versions
            .iter()
            .any(|it| it.is(KUSTOMIZATION, namespace, name) && failed(it, revision, reason))
    }

    /// Waits until a run for this version has succeeded, and returns the moment.
    pub(super) async fn ended(
        &self,
        namespace: &str,
        runnable: &str,
        version: &str,
    ) -> Result<u64> {
        let what = format!("the run of {runnable} for {version}");
        self.first(&what, |it| {
            it.is_run(namespace, runnable, version)
                && condition(&it.object, "Complete")["status"] == "True"
        })
        .await
    }

    /// Returns the number of runs of a Runnable for a version.
    pub(super) fn runs(&self, namespace: &str, runnable: &str, version: &str) -> usize {
        let versions = all(&self.versions);
        let runs = versions
            .iter()
            .filter(|it| it.is_run(namespace, runnable, version));
        let mut names: Vec<&str> = runs.map(|it| name_of(&it.object)).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    }

    /// Returns an object as it was at a moment.
    pub(super) fn at(&self, at: u64, kind: Kind, namespace: &str, name: &str) -> Result<Value> {
        let versions = all(&self.versions);
        let earlier = versions
            .iter()
            .filter(|it| it.at <= at && it.is(kind, namespace, name));
        let last = earlier.max_by_key(|it| it.at);
        let last = last.with_context(|| format!("there was no {} {name}", kind.name))?;
        Ok(last.object.clone())
    }

    /// Returns the last message of a Kustomization, for the message of a failure.
    pub(super) fn says(&self, namespace: &str, name: &str) -> String {
        let last = self.at(u64::MAX, KUSTOMIZATION, namespace, name);
        last.map_or_else(
            |error| error.to_string(),
            |it| text(&condition(&it, "Ready")["message"]).to_owned(),
        )
    }
}

/// Returns true for a Kustomization that has failed for a revision with this reason.
fn failed(it: &Version, revision: &str, reason: &str) -> bool {
    it.object["status"]["lastAttemptedRevision"] == revision
        && condition(&it.object, "Ready")["reason"] == reason
}

fn all(versions: &Mutex<Vec<Version>>) -> MutexGuard<'_, Vec<Version>> {
    versions.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records the versions of the objects of a kind, until it is aborted.
async fn follow(
    api: Api<DynamicObject>,
    kind: Kind,
    mut from: String,
    versions: Arc<Mutex<Vec<Version>>>,
) {
    loop {
        // Watches end, and continue where they were.
        if let Err(error) = watch(&api, kind, &mut from, &versions).await {
            eprintln!("a watch of {}: {error:#}", kind.plural);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn watch(
    api: &Api<DynamicObject>,
    kind: Kind,
    from: &mut String,
    versions: &Mutex<Vec<Version>>,
) -> Result<()> {
    let mut events = pin!(api.watch(&WatchParams::default(), from).await?);
    while let Some(event) = events.next().await {
        match event? {
            WatchEvent::Bookmark(bookmark) => *from = bookmark.metadata.resource_version,
            WatchEvent::Error(error) => bail!("{error:?}"),
            WatchEvent::Added(object)
            | WatchEvent::Modified(object)
            | WatchEvent::Deleted(object) => {
                *from = object.resource_version().context("an object of no time")?;
                let object = serde_json::to_value(object)?;
                let at = from.parse()?;
                all(versions).push(Version { at, kind, object });
            }
        }
    }
    Ok(())
}
