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
    /// As manifests name it: `Job`.
    pub name: &'static str,
    /// As roles name it: `jobs`.
    pub plural: &'static str,
}

impl Kind {
    /// The kind of that group, version, name and plural.
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

    /// As manifests name its group and version.
    #[must_use]
    pub fn api_version(self) -> String {
        let text = format!("{}/{}", self.group, self.version);
        text.trim_start_matches('/').to_owned()
    }

    /// As a client names it.
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

    /// As the audit log names it.
    #[must_use]
    pub fn audited(self) -> String {
        let text = format!("{}.{}", self.plural, self.group);
        text.trim_end_matches('.').to_owned()
    }

    /// The right to do this with its objects.
    #[must_use]
    pub const fn rights<'a>(self, verbs: &'a [&'a str]) -> Rights<'a> {
        Rights {
            group: self.group,
            resource: self.plural,
            verbs,
        }
    }

    /// What the original asked of a Runnable's ServiceAccount for runs of this kind.
    #[must_use]
    pub fn rights_of_a_runnable(self) -> Rights<'static> {
        Rights::of_a_runnable(self.group, self.plural)
    }
}

/// What runs may be, and what templates select.
pub const CONFIG_MAP: Kind = Kind::new("", "v1", "ConfigMap", "configmaps");
/// Whose values nobody may show.
pub const SECRET: Kind = Kind::new("", "v1", "Secret", "secrets");
/// A run without an engine.
pub const POD: Kind = Kind::new("", "v1", "Pod", "pods");
/// As whom runs are made.
pub const SERVICE_ACCOUNT: Kind = Kind::new("", "v1", "ServiceAccount", "serviceaccounts");
/// What people are told.
pub const EVENT: Kind = Kind::new("", "v1", "Event", "events");
/// A run of the Job controller.
pub const JOB: Kind = Kind::new("batch", "v1", "Job", "jobs");
/// One of our own.
pub const RUNNABLE: Kind = Kind::new("carto.run", "v1alpha1", "Runnable", "runnables");
/// Another one of our own.
pub const PROFILE: Kind = Kind::new(
    "carto.run",
    "v1alpha1",
    "ClusterRunProfile",
    "clusterrunprofiles",
);
/// The third one of our own.
pub const TEMPLATE: Kind = Kind::new(
    "carto.run",
    "v1alpha1",
    "ClusterRunTemplate",
    "clusterruntemplates",
);
