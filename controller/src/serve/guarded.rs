//! Watches of our own kinds that no single malformed object stops.

use std::{borrow::Cow, collections::BTreeMap};

use cartouche_crds::{
    ClusterRunTemplate, ClusterRunTemplateSpec, ClusterRunTemplateStatus, Runnable, RunnableSpec,
    RunnableStatus,
};
use futures::{Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::{
    Api, Resource,
    runtime::{WatchStreamExt, watcher},
};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::{health::Readiness, metrics::Metrics};

/// The server ends every watch after this time, and a silent connection is noticed.
const WATCH_SECONDS: u32 = 50;

/// An object, or why it is none. Unlike [`kube::core::DeserializeGuard`] it reads the text once: that
/// one makes a tree of it first, at four times the cost.
#[derive(Clone, Debug)]
pub(super) struct Guarded<K> {
    object: Result<K, String>,
    /// Of an object that cannot be read.
    metadata: ObjectMeta,
}

/// A kind of our own that is watched.
pub(super) trait Served: Resource<DynamicType = ()> + Sized {
    /// What users write.
    type Spec: DeserializeOwned;
    /// What we write.
    type Status: DeserializeOwned;

    /// Puts an object together.
    fn of(metadata: ObjectMeta, spec: Self::Spec, status: Option<Self::Status>) -> Self;
}

impl Served for Runnable {
    type Spec = RunnableSpec;
    type Status = RunnableStatus;

    fn of(metadata: ObjectMeta, spec: RunnableSpec, status: Option<RunnableStatus>) -> Self {
        Self {
            metadata,
            spec,
            status,
        }
    }
}

impl Served for ClusterRunTemplate {
    type Spec = ClusterRunTemplateSpec;
    type Status = ClusterRunTemplateStatus;

    fn of(
        metadata: ObjectMeta,
        spec: ClusterRunTemplateSpec,
        status: Option<ClusterRunTemplateStatus>,
    ) -> Self {
        Self {
            metadata,
            spec,
            status,
        }
    }
}

#[derive(Deserialize)]
#[serde(bound = "")]
struct Parts<K: Served> {
    metadata: ReadMeta,
    spec: K::Spec,
    status: Option<K::Status>,
}

impl<K: Served> Parts<K> {
    fn whole(self) -> K {
        K::of(self.metadata.into(), self.spec, self.status)
    }
}

#[derive(Deserialize)]
struct OnlyMetadata {
    metadata: ReadMeta,
}

/// Metadata without `managedFields`, which nobody reads here and which cost more to read than all
/// the rest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadMeta {
    annotations: Option<BTreeMap<String, String>>,
    creation_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
    deletion_timestamp: Option<Time>,
    finalizers: Option<Vec<String>>,
    generate_name: Option<String>,
    generation: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    name: Option<String>,
    namespace: Option<String>,
    owner_references: Option<Vec<OwnerReference>>,
    resource_version: Option<String>,
    self_link: Option<String>,
    uid: Option<String>,
}

impl From<ReadMeta> for ObjectMeta {
    fn from(read: ReadMeta) -> Self {
        Self {
            annotations: read.annotations,
            creation_timestamp: read.creation_timestamp,
            deletion_grace_period_seconds: read.deletion_grace_period_seconds,
            deletion_timestamp: read.deletion_timestamp,
            finalizers: read.finalizers,
            generate_name: read.generate_name,
            generation: read.generation,
            labels: read.labels,
            managed_fields: None,
            name: read.name,
            namespace: read.namespace,
            owner_references: read.owner_references,
            resource_version: read.resource_version,
            self_link: read.self_link,
            uid: read.uid,
        }
    }
}

impl<'de, K: Served> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let object = serde_json::from_str::<Parts<K>>(text.get())
            .map(Parts::whole)
            .map_err(|error| error.to_string());
        let metadata = match &object {
            Ok(_) => ObjectMeta::default(),
            Err(_) => serde_json::from_str::<OnlyMetadata>(text.get())
                .map_err(serde::de::Error::custom)?
                .metadata
                .into(),
        };
        Ok(Self { object, metadata })
    }
}

impl<K: Resource<DynamicType = ()>> Resource for Guarded<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        match &self.object {
            Ok(object) => object.meta(),
            Err(_) => &self.metadata,
        }
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.object {
            Ok(object) => object.meta_mut(),
            Err(_) => &mut self.metadata,
        }
    }
}

/// A watch that no single malformed object stops, and that says what it waits for.
pub(super) fn guarded<K>(
    api: Api<Guarded<K>>,
    readiness: Readiness,
    what: &'static str,
    metrics: Metrics,
) -> impl Stream<Item = watcher::Result<watcher::Event<K>>> + Send + 'static
where
    K: Served + Clone + std::fmt::Debug + Send + 'static,
{
    watcher(
        api,
        watcher::Config::default()
            .timeout(WATCH_SECONDS)
            .page_size(100),
    )
    .default_backoff()
    .filter_map(move |event| {
        let event = match event {
            Ok(event) => opened(event, &metrics).map(Ok),
            Err(error) => {
                tracing::warn!(what, %error, "a watch failed");
                readiness.because(what, why(&error));
                Some(Err(error))
            }
        };
        std::future::ready(event)
    })
}

/// Why a watch failed, in few words; a missing definition is the usual reason on a new cluster.
fn why(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404 => {
            "the API server does not serve it: install the CustomResourceDefinitions (kubectl apply -f config/crd)".to_owned()
        }
        other => other.to_string(),
    }
}

fn opened<K: kube::Resource<DynamicType = ()>>(
    event: watcher::Event<Guarded<K>>,
    metrics: &Metrics,
) -> Option<watcher::Event<K>> {
    let open = |guarded: Guarded<K>| match guarded.object {
        Ok(object) => Some(object),
        Err(error) => {
            tracing::warn!(kind = %K::kind(&()), %error, "an object cannot be read and is left alone");
            metrics.undecodable();
            None
        }
    };
    Some(match event {
        watcher::Event::Apply(object) => watcher::Event::Apply(open(object)?),
        watcher::Event::Delete(object) => watcher::Event::Delete(open(object)?),
        watcher::Event::InitApply(object) => watcher::Event::InitApply(open(object)?),
        watcher::Event::Init => watcher::Event::Init,
        watcher::Event::InitDone => watcher::Event::InitDone,
    })
}

#[cfg(test)]
mod tests {
    use cartouche_crds::Runnable;
    use kube::core::WatchEvent;

    use super::{Guarded, Resource};

    fn event(text: &str) -> Guarded<Runnable> {
        match serde_json::from_str(text).unwrap() {
            WatchEvent::Modified(object) => object,
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn an_object_that_cannot_be_read_keeps_its_place_in_the_watch() {
        let broken = event(
            r#"{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"7"},"spec":{"runTemplateRef":5}}}"#,
        );
        assert!(broken.object.is_err());
        assert_eq!(broken.meta().resource_version.as_deref(), Some("7"));

        let whole = event(
            r#"{"type":"MODIFIED","object":{"metadata":{"name":"a"},"spec":{"runTemplateRef":{"name":"t"}}}}"#,
        );
        assert_eq!(whole.object.unwrap().spec.run_template_ref.name, "t");
    }
}
