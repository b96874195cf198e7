//! The profiles of a cluster, as far as decisions need them.

use std::{collections::BTreeMap, sync::Arc};

use cartouche_crds::{ClusterRunProfile, ClusterRunProfileSpec, ProfileVersion};
use cartouche_templating::{Diagnostics, Profile};
use k8s_openapi::jiff::Timestamp;

use super::Candidate;

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// A profile as it was at one generation: writes of its status do not count.
#[derive(Clone, Debug)]
pub struct KnownProfile {
    /// Its name and generation.
    pub version: ProfileVersion,
    /// Its uid.
    pub uid: String,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// What it says.
    pub spec: ClusterRunProfileSpec,
    /// The same, ready to be applied; or all that is wrong with it.
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

    /// Whether one of its rules selects namespaces.
    #[must_use]
    pub fn selects_namespaces(&self) -> bool {
        let mut rules = self.spec.rules.iter().flatten();
        rules.any(|rule| rule.namespace_selector.is_some())
    }
}

/// What is known of profiles where it is decided about one Runnable.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    /// Every profile of the cluster.
    pub all: Arc<Vec<Arc<KnownProfile>>>,
    /// The labels of the Runnable's namespace. `None` as long as nobody knows, or needs, them.
    pub namespace_labels: Option<Arc<Labels>>,
}

impl Profiles {
    /// The one of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Arc<KnownProfile>> {
        self.all.iter().find(|profile| profile.version.name == name)
    }

    /// Those that may be chosen.
    #[must_use]
    pub fn candidates(&self) -> Vec<Candidate<'_>> {
        let candidates = self.all.iter().map(|profile| Candidate {
            name: &profile.version.name,
            spec: &profile.spec,
        });
        candidates.collect()
    }

    /// Whether a choice needs the labels of the namespace, and nobody knows them yet.
    #[must_use]
    pub fn lacks_namespace(&self) -> bool {
        self.namespace_labels.is_none() && self.all.iter().any(|it| it.selects_namespaces())
    }
}
