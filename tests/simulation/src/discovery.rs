//! The kinds of the simulated API server, and its discovery of them.

use serde_json::{Value, json};

/// A resource of the simulated API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    /// `v1` ServiceAccounts.
    Accounts,
    /// `v1` Events.
    Events,
    /// Roles.
    Roles,
    /// Bindings of roles.
    RoleBindings,
    /// Cluster roles.
    ClusterRoles,
    /// Bindings of cluster roles.
    ClusterRoleBindings,
    /// Definitions of custom resources.
    Definitions,
    /// Runnables.
    Runnables,
    /// Their templates.
    Templates,
    /// Their profiles. There are none.
    Profiles,
    /// One kind of runs.
    Tasks,
    /// Another kind of runs.
    Builds,
    /// Objects that selectors select.
    Sources,
    /// Objects that inputs come from.
    ConfigMaps,
}

struct Row {
    resource: Resource,
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
}

const fn row(
    resource: Resource,
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
) -> Row {
    Row {
        resource,
        api_version,
        kind,
        plural,
        namespaced,
    }
}

const RBAC: &str = "rbac.authorization.k8s.io/v1";
/// The version of the simulation's own kinds.
pub const EXAMPLE: &str = "example.dev/v1";

/// In the order of [`Resource`].
#[rustfmt::skip]
const TABLE: [Row; 14] = [
    row(Resource::Accounts, "v1", "ServiceAccount", "serviceaccounts", true),
    row(Resource::Events, "v1", "Event", "events", true),
    row(Resource::Roles, RBAC, "Role", "roles", true),
    row(Resource::RoleBindings, RBAC, "RoleBinding", "rolebindings", true),
    row(Resource::ClusterRoles, RBAC, "ClusterRole", "clusterroles", false),
    row(Resource::ClusterRoleBindings, RBAC, "ClusterRoleBinding", "clusterrolebindings", false),
    row(Resource::Definitions, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false),
    row(Resource::Runnables, cartouche_crds::API_VERSION, "Runnable", "runnables", true),
    row(Resource::Templates, cartouche_crds::API_VERSION, "ClusterRunTemplate", "clusterruntemplates", false),
    row(Resource::Profiles, cartouche_crds::API_VERSION, "ClusterRunProfile", "clusterrunprofiles", false),
    row(Resource::Tasks, EXAMPLE, "Task", "tasks", true),
    row(Resource::Builds, EXAMPLE, "Build", "builds", true),
    row(Resource::Sources, EXAMPLE, "Source", "sources", true),
    row(Resource::ConfigMaps, "v1", "ConfigMap", "configmaps", true),
];

impl Resource {
    /// Returns the resource that a path names.
    #[must_use]
    pub fn find(api_version: &str, plural: &str) -> Option<Self> {
        TABLE
            .iter()
            .find(|row| row.api_version == api_version && row.plural == plural)
            .map(|row| row.resource)
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Returns its `apiVersion`.
    #[must_use]
    pub fn api_version(self) -> &'static str {
        self.row().api_version
    }

    /// Returns its kind.
    #[must_use]
    pub fn kind(self) -> &'static str {
        self.row().kind
    }

    /// Returns true if its objects live in namespaces.
    #[must_use]
    pub fn is_namespaced(self) -> bool {
        self.row().namespaced
    }

    /// Returns true if its objects are runs.
    #[must_use]
    pub fn is_run(self) -> bool {
        matches!(self, Self::Tasks | Self::Builds)
    }

    /// Returns true if it is one of Cartouche's own kinds.
    #[must_use]
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Runnables | Self::Templates)
    }

    /// Returns true if the status is a subresource.
    #[must_use]
    pub fn has_status(self) -> bool {
        self.is_ours() || self.is_run()
    }
}

/// Returns the server's list of the kinds of one version, or `None` for a version that it does not serve.
#[must_use]
pub fn resource_list(api_version: &str) -> Option<Value> {
    let rows = TABLE.iter().filter(|row| row.api_version == api_version);
    let resources: Vec<Value> = rows
        .map(|row| {
            json!({
                "name": row.plural, "singularName": "", "kind": row.kind, "namespaced": row.namespaced,
                "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
            })
        })
        .collect();
    (!resources.is_empty()).then(|| {
        json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources,
        })
    })
}
