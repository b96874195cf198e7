//! Accounts with minimal rights, and clients that act as them.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    authorization::v1::SubjectAccessReview,
    core::v1::ServiceAccount,
    rbac::v1::{Role, RoleBinding},
};
use kube::{
    Client, ResourceExt,
    api::{ApiResource, Patch, PatchParams, PostParams},
    config::Kubeconfig,
};
use serde_json::{Value, json};

use super::{Cluster, Seen};
use crate::{
    control_plane::{self, random, with_token, write_kubeconfig},
    kind::Kind,
};

/// Longer than any test or demo runs.
const TOKEN_SECONDS: i64 = 24 * 3600;

/// A ServiceAccount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Namespace of the account.
    pub namespace: String,
    /// Name of the account.
    pub name: String,
}

impl Account {
    /// Returns the ServiceAccount of that name.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Returns the user name, as RBAC and the audit log have it.
    #[must_use]
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

/// Rights on one resource in one namespace.
#[derive(Clone, Copy, Debug)]
pub struct Rights<'a> {
    /// The API group, `""` for the core group.
    pub group: &'a str,
    /// The resource, in plural: `jobs`.
    pub resource: &'a str,
    /// The permitted verbs.
    pub verbs: &'a [&'a str],
}

impl<'a> Rights<'a> {
    /// Returns the rights that the original needed for a Runnable's ServiceAccount: to list, create and
    /// delete the runs.
    #[must_use]
    pub fn of_a_runnable(group: &'a str, resource: &'a str) -> Self {
        Self {
            group,
            resource,
            verbs: &["list", "create", "delete"],
        }
    }
}

impl Cluster {
    /// Makes a ServiceAccount (unless it exists) that has exactly these rights in its namespace.
    pub async fn service_account(
        &self,
        namespace: &str,
        name: &str,
        rights: &[Rights<'_>],
    ) -> Result<Account> {
        self.make_service_account(namespace, name).await?;
        let account = Account::new(namespace, name);
        self.grant(&account, rights).await?;
        Ok(account)
    }

    /// Gives a ServiceAccount exactly these rights in its namespace, instead of those that an earlier call
    /// gave. An empty list takes all of them away.
    pub async fn grant(&self, account: &Account, rights: &[Rights<'_>]) -> Result<()> {
        let Account { namespace, name } = account;
        let rules: Vec<Value> = rights
            .iter()
            .map(|r| json!({ "apiGroups": [r.group], "resources": [r.resource], "verbs": r.verbs }))
            .collect();
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": { "name": name },
            "rules": rules,
        });
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": namespace }],
        });
        let apply = PatchParams::apply("cartouche-tests").force();
        let granting = || format!("granting rights to {}", account.user());
        self.api::<Role>(namespace)
            .patch(name, &apply, &Patch::Apply(role))
            .await
            .with_context(granting)?;
        self.api::<RoleBinding>(namespace)
            .patch(name, &apply, &Patch::Apply(binding))
            .await
            .with_context(granting)?;
        Ok(())
    }

    /// Returns true if the API server lets a user, such as a ServiceAccount, use this verb on a kind in a
    /// namespace, or in all of them (`""`).
    pub async fn may(
        &self,
        user: &str,
        verb: &str,
        kind: &ApiResource,
        namespace: &str,
    ) -> Result<bool> {
        let whole = (kind.plural.as_str(), "");
        let (resource, subresource) = kind.plural.split_once('/').unwrap_or(whole);
        let review = serde_json::from_value(json!({ "spec": {
            "user": user, "groups": ["system:serviceaccounts"],
            "resourceAttributes": {
                "group": kind.group, "resource": resource, "subresource": subresource,
                "verb": verb, "namespace": namespace,
            },
        } }))?;
        let reviews = self.all::<SubjectAccessReview>();
        let answer = reviews.create(&PostParams::default(), &review).await?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }

    /// Waits until a user, such as a ServiceAccount, may use this verb on a kind everywhere.
    pub async fn allowed(
        &self,
        user: &str,
        verb: &str,
        kind: Kind,
        at_most: Duration,
    ) -> Result<()> {
        let what = format!("{user} to be allowed to {verb} {}", kind.plural);
        self.eventually(&what, at_most, || async {
            let may = self.may(user, verb, &kind.resource(), "").await?;
            Ok(if may {
                Seen::Done(())
            } else {
                Seen::NotYet("it may not".to_owned())
            })
        })
        .await
    }

    /// Returns a new token of a ServiceAccount, valid for a day.
    pub async fn token(&self, account: &Account) -> Result<String> {
        let request = TokenRequest {
            spec: TokenRequestSpec {
                expiration_seconds: Some(TOKEN_SECONDS),
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let answer = self
            .api::<ServiceAccount>(&account.namespace)
            .create_token_request(&account.name, &PostParams::default(), &request)
            .await
            .with_context(|| format!("asking for a token of {}", account.user()))?;
        let status = answer.status.context("the token request has no status")?;
        Ok(status.token)
    }

    /// Writes a kubeconfig, in a file of its own, with a new token of a ServiceAccount and no other
    /// credentials.
    pub async fn kubeconfig_of(&self, account: &Account) -> Result<PathBuf> {
        let token = self.token(account).await?;
        let own = Kubeconfig::read_from(&self.kubeconfig)?;
        let context = self.context.clone().or(own.current_context);
        let cluster = own
            .contexts
            .iter()
            .find(|named| Some(&named.name) == context.as_ref())
            .and_then(|named| named.context.as_ref())
            .and_then(|context| own.clusters.iter().find(|c| c.name == context.cluster))
            .and_then(|named| named.cluster.clone())
            .with_context(|| format!("{} names no cluster", self.kubeconfig.display()))?;
        let file = self.folder.join(format!(
            "{}-{}-{}.kubeconfig",
            account.namespace,
            account.name,
            random::word::<3>()?
        ));
        write_kubeconfig(&file, &with_token(cluster, &account.name, &token))?;
        Ok(file)
    }

    /// Returns a client with the rights of a ServiceAccount.
    pub async fn client_of(&self, account: &Account) -> Result<Client> {
        control_plane::client(&self.kubeconfig_of(account).await?, None).await
    }

    /// Deletes a ServiceAccount and makes another one of the same name.
    pub async fn recreate(&self, account: &Account) -> Result<()> {
        let accounts = self.api::<ServiceAccount>(&account.namespace);
        let old = accounts.get(&account.name).await?;
        accounts
            .delete(&account.name, &kube::api::DeleteParams::default())
            .await?;
        self.make_service_account(&account.namespace, &account.name)
            .await?;
        let new = accounts.get(&account.name).await?;
        anyhow::ensure!(
            old.uid() != new.uid(),
            "{} was not made again",
            account.user()
        );
        Ok(())
    }
}
