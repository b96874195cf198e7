//! A namespace where runs wait for approval, and users with different rights.

use std::path::PathBuf;

use anyhow::Result;
use cartouche_tests::{
    cluster::{Account, Cluster, Rights, Seen},
    fixture::Fixture,
    kind::{CONFIG_MAP, Kind, RUNNABLE},
    repository,
};
use serde_json::{Value, json};

use super::{APPROVED, EDIT, REFUSED};
use crate::ground::{self, echo, says};

/// A pseudo-resource that only rights refer to.
const APPROVAL: Kind = Kind::new("carto.run", "v1alpha1", "Runnable", "runnables/approval");

fn folder() -> PathBuf {
    repository().join("config/approval")
}

/// A namespace where runs wait, of a cluster with the policy, and two of its users.
pub(crate) struct Place {
    pub(crate) served: Fixture,
    pub(crate) editor: Account,
    pub(crate) approver: Account,
}

impl Place {
    pub(crate) async fn new(cluster: &Cluster) -> Result<Self> {
        let rights = [CONFIG_MAP.rights_of_a_runnable()];
        let served = ground::namespace(cluster, "approval", &rights).await?;
        let mut template = echo();
        template["approval"] = "Manual".into();
        served.template(template).await?;
        let status = Rights {
            group: "carto.run",
            resource: "runnables/status",
            verbs: &["get", "update", "patch"],
        };
        let editor = served.allow("editor", &[EDIT, status]).await?;
        let approver = served.allow("approver", &[]).await?;
        cluster.apply_kustomization(&folder()).await?;
        let place = Self {
            served,
            editor,
            approver,
        };
        place
            .bind(("ClusterRole", "cartouche-approver"), "approver")
            .await?;
        place.in_force().await?;
        Ok(place)
    }

    /// Gives an account a role in the namespace.
    pub(crate) async fn bind(&self, (kind, role): (&str, &str), account: &str) -> Result<()> {
        let group = "rbac.authorization.k8s.io";
        let bind = json!({
            "apiVersion": format!("{group}/v1"), "kind": "RoleBinding",
            "metadata": { "name": format!("{role}-{account}") },
            "roleRef": { "apiGroup": group, "kind": kind, "name": role },
            "subjects": [{ "kind": "ServiceAccount", "name": account }],
        });
        self.served.put(bind).await.map(drop)
    }

    /// Runs kubectl with nothing but the identity of this account.
    pub(crate) async fn kubectl(
        &self,
        who: &Account,
        arguments: &[&str],
        input: &str,
    ) -> Result<String> {
        let user = who.user();
        let own = ["-n", &self.served.namespace, "--as", &user];
        let all = [&own[..], arguments].concat();
        self.served.cluster.kubectl_with_input(&all, input).await
    }

    /// Returns the message to an account that must not do this.
    pub(crate) async fn refused(
        &self,
        who: &Account,
        arguments: &[&str],
        input: &str,
    ) -> Result<String> {
        match self.kubectl(who, arguments, input).await {
            Ok(done) => anyhow::bail!("{arguments:?} {input} was done: {done}"),
            Err(error) => Ok(format!("{error:#}")),
        }
    }

    /// Waits until the API server enforces the policy and knows the rights.
    async fn in_force(&self) -> Result<()> {
        let manifest = self.manifest("probe", Some("1:v1:00ff")).to_string();
        let tries = ["create", "--dry-run=server", "-f", "-"];
        let what = "the policy to be in force";
        self.served
            .eventually(what, || async {
                let said = match self.kubectl(&self.editor, &tries, &manifest).await {
                    Ok(done) => done,
                    Err(error) => format!("{error:#}"),
                };
                let cluster = &self.served.cluster;
                let right = APPROVAL.resource();
                let user = self.approver.user();
                let namespace = &self.served.namespace;
                let may = cluster.may(&user, "update", &right, namespace).await?;
                Ok(if said.contains(REFUSED) && may {
                    Seen::Done(())
                } else {
                    Seen::NotYet(format!("{may}: {said}"))
                })
            })
            .await
    }

    /// Returns the manifest of a Runnable, with an approval or without.
    pub(crate) fn manifest(&self, name: &str, approval: Option<&str>) -> Value {
        let mut manifest = self.served.manifest(name, says("hello"));
        if let Some(approval) = approval {
            manifest["metadata"]["annotations"] = json!({ APPROVED: approval });
        }
        manifest
    }

    pub(crate) async fn annotation(&self, name: &str) -> Result<Value> {
        let mut object = self.served.get(RUNNABLE, name).await?;
        Ok(object["metadata"]["annotations"][APPROVED].take())
    }

    /// Creates a Runnable without an approval, as the editor.
    pub(crate) async fn create(&self, name: &str) -> Result<()> {
        let manifest = self.manifest(name, None).to_string();
        let creates = ["create", "-f", "-"];
        self.kubectl(&self.editor, &creates, &manifest).await?;
        Ok(())
    }
}
