//! Rights of the account of a stage.

use anyhow::Result;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::DeleteParams;

use super::stage::{PATIENCE, Stage};
use crate::cluster::{Rights, Seen, eventually};

impl Stage {
    /// Gives the account the rights that the original needed, or all of them without the right to create.
    pub async fn grant(&self, create: bool) -> Result<()> {
        let verbs: &[&str] = if create {
            &["list", "create", "delete"]
        } else {
            &["list", "delete"]
        };
        self.allow(verbs).await
    }

    /// Gives the account these rights on the kind of the runs, and no others.
    pub async fn allow(&self, verbs: &[&str]) -> Result<()> {
        let rights = Rights {
            group: &self.kind.group,
            resource: &self.kind.plural,
            verbs,
        };
        eventually("rights to be given", PATIENCE, || async {
            self.cluster.grant(&self.account, &[rights]).await?;
            Ok(Seen::Done(()))
        })
        .await
    }

    /// Removes all rights of the account and returns when the API server refuses it a create.
    pub async fn revoke(&self) -> Result<()> {
        let bindings = self.cluster.api::<RoleBinding>(&self.namespace);
        let name = &self.account.name;
        eventually("rights to be taken away", PATIENCE, || async {
            match bindings.delete(name, &DeleteParams::default()).await {
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                other => drop(other?),
            }
            let (cluster, user) = (&self.cluster, self.account.user());
            let may = cluster.may(&user, "create", &self.kind, &self.namespace);
            Ok(if may.await? {
                Seen::NotYet("it may create still".to_owned())
            } else {
                Seen::Done(())
            })
        })
        .await
    }
}
