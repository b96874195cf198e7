//! Reads one object that inputs come from, as the Runnable's account. I/O.

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::Runnable;
use cartouche_protocol::{
    object::Object,
    references::{SourceKind, SourceObject},
    sourced_inputs::SourceRead,
};
use k8s_openapi::ByteString;
use kube::ResourceExt;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};

use super::Reconciliation;
use crate::{
    api::{ApiError, Requests, ResourcePath, label_query},
    cached_runnable::without_inputs,
    runnable_key::RunnableKey,
};

/// A source to read.
pub(super) struct WantedSource<'a> {
    /// Object to read.
    pub(super) object: &'a SourceObject,
    /// Keys, outputs or paths that are asked for.
    pub(super) keys: BTreeSet<&'a str>,
    /// Path of the objects of its kind.
    pub(super) path: ResourcePath,
}

/// A `ConfigMap`, reduced to what inputs come from.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigMap {
    metadata: Identified,
    #[serde(default)]
    data: BTreeMap<String, String>,
    #[serde(default)]
    binary_data: BTreeMap<String, String>,
}

/// A Secret, likewise. No value outlives the read.
#[derive(Deserialize)]
struct Secret {
    metadata: Value,
    #[serde(default)]
    data: BTreeMap<String, ByteString>,
}

/// A Runnable without its own inputs, which are no source.
struct WithoutInputs(Runnable);

impl<'de> Deserialize<'de> for WithoutInputs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let read = without_inputs(text.get()).and_then(|(rest, _)| serde_json::from_str(&rest));
        read.map(Self).map_err(serde::de::Error::custom)
    }
}

#[derive(Deserialize)]
struct Identified {
    uid: String,
}

impl Reconciliation<'_> {
    pub(super) async fn read_source(
        &self,
        account: &Requests,
        wanted: &WantedSource<'_>,
    ) -> Result<SourceRead, ApiError> {
        let WantedSource { object, keys, path } = wanted;
        let read = match object.kind {
            SourceKind::ConfigMap => {
                let found = account.get(path, &object.name).await;
                found.map(|map| config_map(map, keys))
            }
            SourceKind::Secret => {
                let found = account.get(path, &object.name).await;
                found.map(|read| secret(&read, keys))
            }
            SourceKind::Runnable => {
                let found = account.get(path, &object.name).await;
                found.map(|WithoutInputs(runnable)| self.runnable_read(&runnable, keys))
            }
            SourceKind::Any => match object.labels() {
                None => {
                    let found = account.get::<Object>(path, &object.name).await;
                    found.map(|object| SourceRead::object(&object.0, keys))
                }
                Some(labels) => {
                    let query = label_query(labels.iter().map(|(key, value)| (&**key, &**value)));
                    self.find_source(account, &query, wanted).await
                }
            },
        };
        match read {
            // Any other 404 may come from elsewhere, such as a proxy.
            Err(error) if error.is_absent() => Ok(SourceRead::Absent),
            read => read,
        }
    }

    /// Returns what was read of a Runnable. If the cache has the same version, its parsed state is shared.
    fn runnable_read(&self, runnable: &Runnable, keys: &BTreeSet<&str>) -> SourceRead {
        let mut read = SourceRead::runnable(runnable, keys);
        let cached = RunnableKey::from_runnable(runnable).find(&self.ctx.runnables);
        let same = cached.filter(|it| it.resource_version() == runnable.resource_version());
        if let (SourceRead::Runnable(read), Some(cached)) = (&mut read, same) {
            read.seen = cached.state();
        }
        read
    }

    /// Finds the object with the labels: exactly one must match, and two show that it does not.
    async fn find_source(
        &self,
        account: &Requests,
        query: &str,
        wanted: &WantedSource<'_>,
    ) -> Result<SourceRead, ApiError> {
        let (selections, source) = (&self.ctx.selections, wanted.object);
        let watched = self.watch_of(source);
        if let Some(watched) = &watched {
            selections.find(watched, &self.key, source);
        }
        let listed = account.list_some(&wanted.path, query, 2).await;
        if let Some(watched) = &watched {
            let uids = listed
                .iter()
                .flatten()
                .filter_map(|object| text(object, "/metadata/uid"));
            selections.end_read(watched, &self.key, source, uids.collect());
        }
        Ok(match listed?.as_slice() {
            [] => SourceRead::Absent,
            [object] => SourceRead::object(object, &wanted.keys),
            several => {
                let names = several
                    .iter()
                    .filter_map(|object| text(object, "/metadata/name"));
                SourceRead::Several(names.collect())
            }
        })
    }
}

fn text(object: &Value, pointer: &str) -> Option<String> {
    Some(object.pointer(pointer)?.as_str()?.to_owned())
}

fn config_map(map: ConfigMap, keys: &BTreeSet<&str>) -> SourceRead {
    SourceRead::config_map(&map.metadata.uid, map.data, map.binary_data, keys)
}

fn secret(secret: &Secret, keys: &BTreeSet<&str>) -> SourceRead {
    let values = secret.data.iter();
    let asked = values.filter(|(key, _)| keys.contains(key.as_str()));
    let asked = asked.map(|(key, value)| (key.as_str(), value.0.as_slice()));
    SourceRead::secret(&secret.metadata, asked)
}
