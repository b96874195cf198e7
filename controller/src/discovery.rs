//! Mapping of `apiVersion` and kind to the resource that serves it. Kept until a request shows otherwise.

mod hint;
mod known;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use cartouche_crds::API_VERSION;
use cartouche_protocol::messages::reconcile_error::Requeue;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResourceList};

use crate::{
    api::{ApiError, Requests, ResourcePath, api_root},
    clock::boot_time,
    lock::lock,
};
use known::{KnownKinds, Lookup, ObjectsOf};

/// Maximum length of an `apiVersion`: a group is a DNS name and a version a DNS label.
const MAX_API_VERSION: usize = 253 + 1 + 63;

/// A resource of the API server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its plural, as in paths.
    pub plural: String,
    /// True if its objects live in namespaces.
    pub namespaced: bool,
}

impl Kind {
    /// Returns the kind of `ConfigMaps`, which every API server has at this path, as it has Secrets.
    #[must_use]
    pub fn config_maps() -> Self {
        Self::in_namespaces("v1", "ConfigMap", "configmaps")
    }

    /// Returns the kind of Secrets.
    #[must_use]
    pub fn secrets() -> Self {
        Self::in_namespaces("v1", "Secret", "secrets")
    }

    /// Returns the kind of Runnables, in the version of this release.
    #[must_use]
    pub fn runnables() -> Self {
        Self::in_namespaces(API_VERSION, "Runnable", "runnables")
    }

    fn in_namespaces(api_version: &str, kind: &str, plural: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            namespaced: true,
        }
    }

    /// Returns the path of its objects, in a namespace where it has them.
    #[must_use]
    pub fn path(&self, namespace: &str) -> ResourcePath {
        ResourcePath::new(
            &self.api_version,
            &self.plural,
            self.namespaced.then_some(namespace),
        )
    }

    /// Returns true if its objects are those of a kind: under the same or another version of its group.
    #[must_use]
    pub fn has_objects_of(&self, api_version: &str, kind: &str) -> bool {
        let group = |version: &str| {
            let (group, _) = version.split_once('/')?;
            Some(group.to_owned())
        };
        let same = self.api_version == api_version
            || group(api_version).is_some_and(|other| Some(other) == group(&self.api_version));
        same && self.kind == kind
    }

    /// Returns its API group; empty for that of Pods.
    #[must_use]
    pub fn group(&self) -> &str {
        let parts = self.api_version.split_once('/');
        parts.map_or("", |(group, _)| group)
    }

    /// Returns `plural[.group]`, as users write it.
    #[must_use]
    pub fn resource(&self) -> String {
        match self.group() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }
}

/// Reason why a kind was not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// The API server does not serve it.
    #[error("no matches for kind {kind:?} in version {api_version:?}")]
    Unknown {
        /// The requested `apiVersion`.
        api_version: String,
        /// The requested kind.
        kind: String,
        /// The suggestion of what was probably meant, if one was made.
        hint: Option<String>,
    },
    /// The request to the API server failed.
    #[error("{0}")]
    Api(#[from] ApiError),
}

impl DiscoveryError {
    /// Returns the error of a kind that the API server does not serve.
    pub(crate) fn unknown(api_version: &str, kind: &str) -> Self {
        Self::Unknown {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            hint: None,
        }
    }

    /// Returns what ends the error: that the kind is installed, or what ends the failure of the request.
    #[must_use]
    pub fn requeue(&self) -> Requeue {
        match self {
            Self::Unknown { .. } => Requeue::OnKind,
            Self::Api(error) => error.requeue(),
        }
    }
}

/// Kinds that the API server serves, as far as they were requested.
#[derive(Clone)]
pub struct Kinds {
    requests: Requests,
    known: Arc<Mutex<KnownKinds>>,
}

impl Kinds {
    /// Creates an empty cache. `requests` carry the controller's own identity: every user may read discovery.
    #[must_use]
    pub fn new(requests: Requests) -> Self {
        Self {
            requests,
            known: Arc::default(),
        }
    }

    /// Returns the resource that serves a kind.
    pub async fn find(&self, api_version: &str, kind: &str) -> Result<Arc<Kind>, DiscoveryError> {
        let unknown = || DiscoveryError::unknown(api_version, kind);
        if !is_api_version(api_version) {
            return Err(unknown());
        }
        let known = lock(&self.known).look_up(api_version, kind, boot_time());
        match known {
            Lookup::Found(kind) => Ok(kind),
            Lookup::Absent => Err(unknown()),
            Lookup::Unknown => {
                let kinds = self.read(api_version).await?;
                let found = kinds.get(kind).cloned();
                lock(&self.known).put(api_version, kinds, boot_time());
                found.ok_or_else(unknown)
            }
        }
    }

    /// Returns the resource that serves the objects of a kind, under another version of its group if the requested one
    /// is no longer served: they are the same objects.
    pub async fn find_objects(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Arc<Kind>, DiscoveryError> {
        let key = (api_version.to_owned(), kind.to_owned());
        let found = self.find_moved(&key).await;
        let mut known = lock(&self.known);
        match &found {
            Err(DiscoveryError::Api(error)) => known.put_failing(key, error.brief(), boot_time()),
            Ok(_) | Err(DiscoveryError::Unknown { .. }) => known.clear_failure(&key),
        }
        drop(known);
        found
    }

    /// Returns why discovery fails for the objects of a kind, or `None` if it has not failed for a while.
    #[must_use]
    pub fn failing(&self, api_version: &str, kind: &str) -> Option<String> {
        let key = (api_version.to_owned(), kind.to_owned());
        lock(&self.known).failing(&key).map(str::to_owned)
    }

    async fn find_moved(&self, key: &ObjectsOf) -> Result<Arc<Kind>, DiscoveryError> {
        let (api_version, kind) = key;
        let unknown = || DiscoveryError::unknown(api_version, kind);
        let known = lock(&self.known).look_up_moved(key, boot_time());
        match known {
            Lookup::Found(kind) => return Ok(kind),
            Lookup::Absent => return Err(unknown()),
            Lookup::Unknown => {}
        }
        match self.find(api_version, kind).await {
            Err(DiscoveryError::Unknown { .. }) => {}
            Ok(found) => {
                lock(&self.known).served_again(key);
                return Ok(found);
            }
            Err(error) => return Err(error),
        }
        let group = api_version.split_once('/').map(|(group, _)| group);
        let Some(group) = group.filter(|_| is_api_version(api_version)) else {
            return Err(unknown());
        };
        for version in self.versions(group).await? {
            if version == *api_version {
                continue;
            }
            match self.find(&version, kind).await {
                Err(DiscoveryError::Unknown { .. }) => {}
                Ok(found) => {
                    let moved = Some(found.clone());
                    lock(&self.known).put_moved(key.clone(), moved, boot_time());
                    return Ok(found);
                }
                Err(error) => return Err(error),
            }
        }
        lock(&self.known).put_moved(key.clone(), None, boot_time());
        Err(unknown())
    }

    /// Returns the resource that serves a kind, if that is known already.
    #[must_use]
    pub fn find_known(&self, api_version: &str, kind: &str) -> Option<Arc<Kind>> {
        lock(&self.known).find(api_version, kind, boot_time())
    }

    /// Returns the resource that serves the objects of a kind, if that is known already; see [`Self::find_objects`].
    #[must_use]
    pub fn known_objects(&self, api_version: &str, kind: &str) -> Option<Arc<Kind>> {
        if let Some(kind) = self.find_known(api_version, kind) {
            return Some(kind);
        }
        let key = (api_version.to_owned(), kind.to_owned());
        lock(&self.known).find_moved(&key)
    }

    /// Marks everything to be read again: definitions were created, deleted or changed.
    pub fn forget_all(&self) {
        lock(&self.known).doubt_all();
    }

    /// Marks one version to be read again, because a request for a kind of it was answered with 404.
    pub fn forget(&self, api_version: &str) {
        lock(&self.known).doubt(api_version);
    }

    /// Reads the kinds of a version; none if it is not served.
    async fn read(&self, api_version: &str) -> Result<HashMap<String, Arc<Kind>>, ApiError> {
        let uri = api_root(api_version);
        let list = match self.requests.read::<APIResourceList>(&uri).await {
            Ok(list) => list.resources,
            Err(error) if error.is_not_found() => Vec::new(),
            Err(error) => return Err(error),
        };
        let kinds = list
            .into_iter()
            .filter(|resource| !resource.name.contains('/'))
            .map(|resource| {
                let kind = Kind {
                    api_version: api_version.to_owned(),
                    kind: resource.kind.clone(),
                    plural: resource.name,
                    namespaced: resource.namespaced,
                };
                (resource.kind, Arc::new(kind))
            });
        Ok(kinds.collect())
    }

    /// Reads the versions of a group, the preferred one first; none if it is not served. That answer is kept as briefly
    /// as that a version is not served.
    async fn versions(&self, group: &str) -> Result<Vec<String>, ApiError> {
        let now = boot_time();
        // No version has such a name.
        let absent_as = format!("{group}/");
        if lock(&self.known).is_absent(&absent_as, now) {
            return Ok(Vec::new());
        }
        let uri = format!("/apis/{group}");
        match self.requests.read::<APIGroup>(&uri).await {
            Ok(group) => Ok(group
                .versions
                .into_iter()
                .map(|version| version.group_version)
                .collect()),
            Err(error) if error.is_not_found() => {
                lock(&self.known).put(&absent_as, HashMap::new(), now);
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns true for `version` or `group/version`, of characters that cannot leave the path.
fn is_api_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('/').collect();
    text.len() <= MAX_API_VERSION
        && parts.len() <= 2
        && parts.iter().all(|part| {
            !part.is_empty()
                && *part != ".."
                && *part != "."
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
        })
}

#[cfg(test)]
mod tests;
