//! Watches of what Runnables refer to without naming a kind: `ServiceAccounts`, permissions, definitions.
//!
//! Only metadata is watched, and of `ServiceAccounts` only the names are kept: the first list of a large cluster is
//! read and dropped.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use cartouche_crds::SCHEMA_ANNOTATION;
use futures::StreamExt;
use k8s_openapi::{
    api::{
        core::v1::ServiceAccount,
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Resource,
    api::{ObjectMeta, PartialObjectMeta},
    core::NamespaceResourceScope,
    runtime::watcher,
};
use tokio::sync::watch;

use super::{config, named_object::NamedObject, own::OwnWatches};
use crate::{
    definitions::{DEFINITIONS, Definitions},
    lock::lock,
};

/// Resource that must be listed before any Runnable is reconciled.
pub const ACCOUNTS: &str = "serviceaccounts";

/// Change of what Runnables refer to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReferenceChange {
    /// Accounts were created, changed or deleted: namespace and name of each.
    Accounts(Vec<(String, String)>),
    /// Permissions changed, in a namespace or everywhere.
    Permissions(Option<String>),
    /// A definition was created, changed or deleted: its name, or any of them.
    Definition(Option<String>),
}

/// Names by their namespaces.
type AccountNames = HashMap<String, HashSet<String>>;

/// The ServiceAccounts that exist.
#[derive(Default)]
pub struct Accounts {
    names: Mutex<AccountNames>,
}

impl Accounts {
    /// Returns true if the watch has shown that an account exists.
    #[must_use]
    pub fn exists(&self, namespace: &str, name: &str) -> bool {
        lock(&self.names)
            .get(namespace)
            .is_some_and(|names| names.contains(name))
    }

    pub(crate) fn put(&self, object: &ObjectMeta) {
        let (Some(namespace), Some(name)) = (&object.namespace, &object.name) else {
            return;
        };
        lock(&self.names)
            .entry(namespace.clone())
            .or_default()
            .insert(name.clone());
    }

    fn remove(&self, object: &ObjectMeta) {
        let (Some(namespace), Some(name)) = (&object.namespace, &object.name) else {
            return;
        };
        let mut all = lock(&self.names);
        if let Some(names) = all.get_mut(namespace) {
            names.remove(name);
            if names.is_empty() {
                all.remove(namespace);
            }
        }
    }
}

/// Parts that the watches of references need.
#[derive(Clone)]
pub struct References {
    /// Client with the controller's own identity.
    pub client: Client,
    /// The only namespace that is served, or `None` for all.
    pub namespace: Option<String>,
    /// The places where the state of their watches is reported.
    pub own: OwnWatches,
}

impl References {
    fn everywhere<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    fn here<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        match &self.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => self.everywhere(),
        }
    }
}

/// Watches the `ServiceAccounts` for ever. `synced` turns true with the first complete list.
pub async fn watch_accounts(
    references: References,
    accounts: Arc<Accounts>,
    synced: watch::Sender<bool>,
    enqueue: impl Fn(ReferenceChange),
) {
    let mut listed = AccountNames::new();
    let api = references.here::<NamedObject<ServiceAccount>>();
    let events = watcher(api, config());
    let mut events = references.own.follow_plainly(ACCOUNTS, events).boxed();
    let notify = |accounts: Vec<(String, String)>| {
        if !accounts.is_empty() {
            enqueue(ReferenceChange::Accounts(accounts));
        }
    };
    while let Some(event) = events.next().await {
        match event {
            watcher::Event::Init => listed.clear(),
            watcher::Event::InitApply(object) => {
                if let Some((namespace, name)) = key(&object.metadata) {
                    listed.entry(namespace).or_default().insert(name);
                }
            }
            watcher::Event::InitDone => {
                let changed = relist(&accounts, std::mem::take(&mut listed));
                // Nothing is reconciled before the first list.
                if synced.send_replace(true) {
                    notify(changed);
                }
            }
            watcher::Event::Apply(object) => {
                accounts.put(&object.metadata);
                notify(key(&object.metadata).into_iter().collect());
            }
            watcher::Event::Delete(object) => {
                accounts.remove(&object.metadata);
                notify(key(&object.metadata).into_iter().collect());
            }
        }
    }
}

fn key(object: &ObjectMeta) -> Option<(String, String)> {
    Some((object.namespace.clone()?, object.name.clone()?))
}

/// Replaces the names by a complete list. Returns those that were added or removed.
fn relist(accounts: &Accounts, listed: AccountNames) -> Vec<(String, String)> {
    let mut names = lock(&accounts.names);
    let mut changed = without(&listed, &names);
    changed.extend(without(&names, &listed));
    *names = listed;
    changed
}

/// Returns the names that `others` lacks.
fn without(names: &AccountNames, others: &AccountNames) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (namespace, names) in names {
        let known = others.get(namespace);
        let lacking = names
            .iter()
            .filter(|name| known.is_none_or(|known| !known.contains(*name)));
        found.extend(lacking.map(|name| (namespace.clone(), name.clone())));
    }
    found
}

/// Watches all objects that grant permissions, for ever.
pub async fn watch_permissions(references: References, enqueue: impl Fn(ReferenceChange) + Clone) {
    let there =
        |object: &ObjectMeta| enqueue(ReferenceChange::Permissions(object.namespace.clone()));
    let everywhere = |_: &ObjectMeta| enqueue(ReferenceChange::Permissions(None));
    tokio::join!(
        watch_all::<Role>(&references, references.here(), "roles", there),
        watch_all::<RoleBinding>(&references, references.here(), "rolebindings", there),
        watch_all::<ClusterRole>(
            &references,
            references.everywhere(),
            "clusterroles",
            everywhere
        ),
        watch_all::<ClusterRoleBinding>(
            &references,
            references.everywhere(),
            "clusterrolebindings",
            everywhere
        ),
    );
}

/// Watches the definitions of custom resources, for ever. Those of the project's own kinds are recorded before
/// `enqueue` is called for them.
pub async fn watch_definitions(
    references: References,
    definitions: Arc<Definitions>,
    enqueue: impl Fn(ReferenceChange),
) {
    let api = references.everywhere::<PartialObjectMeta<CustomResourceDefinition>>();
    let events = watcher(api, config());
    let mut events = references.own.follow_plainly(DEFINITIONS, events).boxed();
    let mut listed: Vec<ObjectMeta> = Vec::new();
    while let Some(event) = events.next().await {
        let changed = match event {
            watcher::Event::Init => {
                listed.clear();
                continue;
            }
            watcher::Event::InitApply(object) => {
                listed.push(numbered(object.metadata));
                continue;
            }
            watcher::Event::InitDone => {
                definitions.list(&std::mem::take(&mut listed));
                None
            }
            watcher::Event::Apply(object) => {
                definitions.put(&object.metadata);
                object.metadata.name
            }
            watcher::Event::Delete(object) => {
                definitions.remove(&object.metadata);
                object.metadata.name
            }
        };
        enqueue(ReferenceChange::Definition(changed));
    }
}

/// Returns the parts of a definition that are kept until its list is complete.
fn numbered(object: ObjectMeta) -> ObjectMeta {
    let mut annotations = object.annotations;
    if let Some(annotations) = &mut annotations {
        annotations.retain(|name, _| name == SCHEMA_ANNOTATION);
    }
    ObjectMeta {
        name: object.name,
        annotations,
        ..ObjectMeta::default()
    }
}

/// Calls `notify` for every event, but only once for a complete list, since what happened before it is unknown.
async fn watch_all<K>(
    references: &References,
    api: Api<NamedObject<K>>,
    what: &'static str,
    notify: impl Fn(&ObjectMeta),
) where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Send + 'static,
{
    let events = watcher(api, config());
    let mut events = references.own.follow_plainly(what, events).boxed();
    while let Some(event) = events.next().await {
        match event {
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
            watcher::Event::InitDone => notify(&ObjectMeta::default()),
            watcher::Event::Apply(object) | watcher::Event::Delete(object) => {
                notify(&object.metadata);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AccountNames, Accounts, relist};

    fn relisted(accounts: &Accounts, names: &[&str]) -> Vec<String> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let listed = AccountNames::from([("ns".to_owned(), names)]);
        let changed = relist(accounts, listed).into_iter();
        let mut changed: Vec<_> = changed
            .map(|(namespace, name)| namespace + "/" + &name)
            .collect();
        changed.sort();
        changed
    }

    #[test]
    fn a_list_tells_at_once_of_all_accounts_that_came_or_went() {
        let accounts = Accounts::default();
        assert_eq!(relisted(&accounts, &["a", "b"]), ["ns/a", "ns/b"]);
        assert_eq!(relisted(&accounts, &["b", "c"]), ["ns/a", "ns/c"]);
        assert!(relisted(&accounts, &["b", "c"]).is_empty());
        assert!(accounts.exists("ns", "c") && !accounts.exists("ns", "a"));
    }
}
