//! Kinds of the API server, as tests name them.

use kube::api::ApiResource;

use crate::cluster::Rights;

/// A kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its API group, `""` for the core group.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its name in manifests: `Job`.
    pub name: &'static str,
    /// Its name in roles: `jobs`.
    pub plural: &'static str,
}

impl Kind {
    /// Returns the kind of that group, version, name and plural.
    #[must_use]
    pub const fn new(
        group: &'static str,
        version: &'static str,
        name: &'static str,
        plural: &'static str,
    ) -> Self {
        Self {
            group,
            version,
            name,
            plural,
        }
    }

    /// Returns its group and version, as manifests name them.
    #[must_use]
    pub fn api_version(self) -> String {
        let text = format!("{}/{}", self.group, self.version);
        text.trim_start_matches('/').to_owned()
    }

    /// Returns its resource for a client.
    #[must_use]
    pub fn resource(self) -> ApiResource {
        ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: self.api_version(),
            kind: self.name.to_owned(),
            plural: self.plural.to_owned(),
        }
    }

    /// Returns its name in the audit log.
    #[must_use]
    pub fn audited(self) -> String {
        let text = format!("{}.{}", self.plural, self.group);
        text.trim_end_matches('.').to_owned()
    }

    /// Returns the right to use these verbs on its objects.
    #[must_use]
    pub const fn rights<'a>(self, verbs: &'a [&'a str]) -> Rights<'a> {
        Rights {
            group: self.group,
            resource: self.plural,
            verbs,
        }
    }

    /// Returns the rights that the original needed for a Runnable's ServiceAccount on runs of this kind.
    #[must_use]
    pub fn rights_of_a_runnable(self) -> Rights<'static> {
        Rights::of_a_runnable(self.group, self.plural)
    }
}

/// A kind that runs may have and that templates select.
pub const CONFIG_MAP: Kind = Kind::new("", "v1", "ConfigMap", "configmaps");
/// A kind whose values must never be shown.
pub const SECRET: Kind = Kind::new("", "v1", "Secret", "secrets");
/// A kind of runs without an engine.
pub const POD: Kind = Kind::new("", "v1", "Pod", "pods");
/// The kind of accounts that make runs.
pub const SERVICE_ACCOUNT: Kind = Kind::new("", "v1", "ServiceAccount", "serviceaccounts");
/// The kind of events for users.
pub const EVENT: Kind = Kind::new("", "v1", "Event", "events");
/// The kind of runs of the Job controller.
pub const JOB: Kind = Kind::new("batch", "v1", "Job", "jobs");
/// The kind of Runnables.
pub const RUNNABLE: Kind = Kind::new("carto.run", "v1alpha1", "Runnable", "runnables");
/// The kind of profiles.
pub const PROFILE: Kind = Kind::new(
    "carto.run",
    "v1alpha1",
    "ClusterRunProfile",
    "clusterrunprofiles",
);
/// The kind of templates.
pub const TEMPLATE: Kind = Kind::new(
    "carto.run",
    "v1alpha1",
    "ClusterRunTemplate",
    "clusterruntemplates",
);
