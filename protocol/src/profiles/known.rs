//! The profiles of a cluster, as decisions need them.

use std::{collections::BTreeMap, sync::Arc};

use cartouche_crds::{ClusterRunProfile, ClusterRunProfileSpec, ProfileVersion};
use cartouche_language::Diagnostics;
use cartouche_templating::Profile;
use k8s_openapi::jiff::Timestamp;

use super::Candidate;

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// A profile at one generation: writes of its status do not count.
#[derive(Clone, Debug)]
pub struct KnownProfile {
    /// Its name and generation.
    pub version: ProfileVersion,
    /// Its uid.
    pub uid: String,
    /// Its creation time.
    pub created: Option<Timestamp>,
    /// Its spec.
    pub spec: ClusterRunProfileSpec,
    /// The compiled profile, or its faults.
    pub compiled: Result<Profile, Diagnostics>,
}

impl KnownProfile {
    /// Reads a profile.
    #[must_use]
    pub fn new(object: &ClusterRunProfile) -> Self {
        Self {
            version: ProfileVersion {
                name: object.metadata.name.clone().unwrap_or_default(),
                generation: object.metadata.generation.unwrap_or_default(),
            },
            uid: object.metadata.uid.clone().unwrap_or_default(),
            created: object.metadata.creation_timestamp.as_ref().map(|at| at.0),
            compiled: Profile::compile(&object.spec),
            spec: object.spec.clone(),
        }
    }

    /// Returns true if one of its rules selects namespaces.
    #[must_use]
    pub fn selects_namespaces(&self) -> bool {
        let mut rules = self.spec.rules.iter().flatten();
        rules.any(|rule| rule.namespace_selector.is_some())
    }
}

/// The profiles for a decision about one Runnable.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    /// Every profile of the cluster.
    pub all: Arc<Vec<Arc<KnownProfile>>>,
    /// The labels of the Runnable's namespace. `None` while they are unknown or not needed.
    pub namespace_labels: Option<Arc<Labels>>,
}

impl Profiles {
    /// Returns the profile of this name, or `None` if there is none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<KnownProfile>> {
        self.all.iter().find(|profile| profile.version.name == name)
    }

    /// Returns the profiles that may be chosen.
    #[must_use]
    pub fn candidates(&self) -> Vec<Candidate<'_>> {
        let candidates = self.all.iter().map(|profile| Candidate {
            name: &profile.version.name,
            spec: &profile.spec,
        });
        candidates.collect()
    }

    /// Returns true if a choice needs the labels of the namespace, and they are unknown.
    #[must_use]
    pub fn lacks_namespace(&self) -> bool {
        self.namespace_labels.is_none() && self.all.iter().any(|it| it.selects_namespaces())
    }
}
