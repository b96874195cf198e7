//! From `apiVersion` and kind to the resource that serves it. Kept until a request says otherwise.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;

use crate::{
    api::{ApiError, Requests, ResourcePath},
    clock::boot_time,
};

/// A kind that was not there is asked for again after this time at the earliest, so that thousands
/// of Runnables of a missing kind cost one request.
const ABSENT_FOR: Duration = Duration::from_secs(2);

/// A resource of the API server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its plural, as in paths.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl Kind {
    /// The path of its objects, in a namespace where it has them.
    #[must_use]
    pub fn path(&self, namespace: &str) -> ResourcePath {
        ResourcePath::new(
            &self.api_version,
            &self.plural,
            self.namespaced.then_some(namespace),
        )
    }

    /// The path of its objects in the whole cluster.
    #[must_use]
    pub fn everywhere(&self) -> ResourcePath {
        ResourcePath::new(&self.api_version, &self.plural, None)
    }

    /// `plural[.group]`, as people write it.
    #[must_use]
    pub fn resource(&self) -> String {
        match self.api_version.split_once('/') {
            Some((group, _)) => format!("{}.{group}", self.plural),
            None => self.plural.clone(),
        }
    }
}

/// Why a kind could not be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// The API server does not serve it.
    #[error("no matches for kind {kind:?} in version {api_version:?}")]
    Unknown {
        /// The `apiVersion` asked for.
        api_version: String,
        /// The kind asked for.
        kind: String,
    },
    /// The API server could not be asked.
    #[error("{0}")]
    Api(#[from] ApiError),
}

/// The kinds that the API server serves, as far as anybody asked.
#[derive(Clone)]
pub struct Kinds {
    requests: Requests,
    known: Arc<Mutex<HashMap<String, Version>>>,
}

#[derive(Clone)]
struct Version {
    kinds: Arc<HashMap<String, Arc<Kind>>>,
    /// When it was read, by the clock that counts sleep.
    read: Duration,
    /// It is read again before it is next relied on; until then it is what is known.
    stale: bool,
}

impl Kinds {
    /// Asks with the controller's own identity: every user may read discovery.
    #[must_use]
    pub fn new(requests: Requests) -> Self {
        Self {
            requests,
            known: Arc::default(),
        }
    }

    /// The resource that serves a kind.
    pub async fn find(&self, api_version: &str, kind: &str) -> Result<Arc<Kind>, DiscoveryError> {
        let unknown = || DiscoveryError::Unknown {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        };
        if !is_api_version(api_version) {
            return Err(unknown());
        }
        let known = self.lock().get(api_version).cloned();
        if let Some(version) = known.filter(|version| !version.stale) {
            match version.kinds.get(kind) {
                Some(kind) => return Ok(kind.clone()),
                None if boot_time().saturating_sub(version.read) < ABSENT_FOR => {
                    return Err(unknown());
                }
                None => {}
            }
        }
        let version = self.read(api_version).await?;
        let found = version.kinds.get(kind).cloned();
        self.lock().insert(api_version.to_owned(), version);
        found.ok_or_else(unknown)
    }

    /// The resource that serves a kind, if that is known already.
    #[must_use]
    pub fn known(&self, api_version: &str, kind: &str) -> Option<Arc<Kind>> {
        self.lock().get(api_version)?.kinds.get(kind).cloned()
    }

    /// Forgets everything: definitions came, went or changed.
    pub fn forget_all(&self) {
        for version in self.lock().values_mut() {
            version.stale = true;
        }
    }

    /// Forgets one version, because a request for a kind of it was answered with 404.
    pub fn forget(&self, api_version: &str) {
        if let Some(version) = self.lock().get_mut(api_version) {
            version.stale = true;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Version>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read(&self, api_version: &str) -> Result<Version, ApiError> {
        let root = if api_version.contains('/') {
            "/apis"
        } else {
            "/api"
        };
        let list = match self
            .requests
            .read::<APIResourceList>(&format!("{root}/{api_version}"))
            .await
        {
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
        Ok(Version {
            kinds: Arc::new(kinds.collect()),
            read: boot_time(),
            stale: false,
        })
    }
}

/// `version` or `group/version`, of characters that cannot leave the path.
fn is_api_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('/').collect();
    parts.len() <= 2
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
mod tests {
    use super::is_api_version;

    #[test]
    fn an_api_version_cannot_leave_its_path() {
        assert!(is_api_version("v1"));
        assert!(is_api_version("batch/v1"));
        for bad in ["", "/", "a/b/c", "../x", "v1?x", "v1/..", "a b/v1"] {
            assert!(!is_api_version(bad), "{bad}");
        }
    }
}
