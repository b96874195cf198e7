//! What Runnables refer to without naming a kind: ServiceAccounts, rights, definitions.
//!
//! Only metadata is watched, and of ServiceAccounts only the names are kept: the first list of a
//! large cluster is looked at and dropped.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

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
    runtime::watcher,
};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::{Failures, config, progress::reason};
use crate::health::Readiness;

/// The accounts, as their readiness is called.
pub const ACCOUNTS: &str = "serviceaccounts";

/// What an event of a reference says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reference {
    /// An account came, changed or went.
    Account {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Rights changed: in a namespace, or everywhere.
    Rights(Option<String>),
    /// A definition came, changed or went.
    Definition,
}

/// The ServiceAccounts that exist.
#[derive(Default)]
pub struct Accounts {
    names: Mutex<HashMap<String, HashSet<String>>>,
}

impl Accounts {
    /// Whether an account exists, as far as the watch has shown.
    #[must_use]
    pub fn exists(&self, namespace: &str, name: &str) -> bool {
        self.lock()
            .get(namespace)
            .is_some_and(|names| names.contains(name))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, HashSet<String>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, object: &ObjectMeta) {
        let (Some(namespace), Some(name)) = (&object.namespace, &object.name) else {
            return;
        };
        self.lock()
            .entry(namespace.clone())
            .or_default()
            .insert(name.clone());
    }

    fn remove(&self, object: &ObjectMeta) {
        let (Some(namespace), Some(name)) = (&object.namespace, &object.name) else {
            return;
        };
        let mut all = self.lock();
        if let Some(names) = all.get_mut(namespace) {
            names.remove(name);
            if names.is_empty() {
                all.remove(namespace);
            }
        }
    }
}

/// Watches the ServiceAccounts for ever. `synced` turns true with the first complete list.
pub async fn watch_accounts(
    client: Client,
    accounts: Arc<Accounts>,
    synced: watch::Sender<bool>,
    readiness: Readiness,
    wake: impl Fn(Reference),
) {
    let mut listed: Vec<ObjectMeta> = Vec::new();
    let mut events = watcher(
        Api::<PartialObjectMeta<ServiceAccount>>::all(client),
        config(),
    )
    .boxed();
    let mut failures = Failures::new();
    let tell = |object: &ObjectMeta| {
        if let (Some(namespace), Some(name)) = (object.namespace.clone(), object.name.clone()) {
            wake(Reference::Account { namespace, name });
        }
    };
    while let Some(event) = events.next().await {
        if let Ok(event) = &event {
            failures.came(event);
        }
        match event {
            Ok(watcher::Event::Init) => listed.clear(),
            Ok(watcher::Event::InitApply(object)) => listed.push(named(&object.metadata)),
            Ok(watcher::Event::InitDone) => {
                relist(&accounts, &listed, &tell);
                listed = Vec::new();
                synced.send_replace(true);
            }
            Ok(watcher::Event::Apply(object)) => {
                accounts.put(&object.metadata);
                tell(&object.metadata);
            }
            Ok(watcher::Event::Delete(object)) => {
                accounts.remove(&object.metadata);
                tell(&object.metadata);
            }
            Err(error) => {
                readiness.because(ACCOUNTS, reason(&error));
                pause(ACCOUNTS, &error, &mut failures).await;
            }
        }
    }
}

fn named(object: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        name: object.name.clone(),
        namespace: object.namespace.clone(),
        ..ObjectMeta::default()
    }
}

/// Replaces the names by a complete list, and tells of those that came or went.
fn relist(accounts: &Accounts, listed: &[ObjectMeta], tell: &impl Fn(&ObjectMeta)) {
    let before = std::mem::take(&mut *accounts.lock());
    for object in listed {
        accounts.put(object);
    }
    let was = |object: &ObjectMeta| {
        object
            .namespace
            .as_ref()
            .zip(object.name.as_ref())
            .is_some_and(|(namespace, name)| {
                before
                    .get(namespace)
                    .is_some_and(|names| names.contains(name))
            })
    };
    listed.iter().filter(|object| !was(object)).for_each(tell);
    for (namespace, names) in &before {
        for name in names
            .iter()
            .filter(|name| !accounts.exists(namespace, name))
        {
            tell(&ObjectMeta {
                name: Some(name.clone()),
                namespace: Some(namespace.clone()),
                ..ObjectMeta::default()
            });
        }
    }
}

/// Watches everything that grants rights, for ever.
pub async fn watch_rights(client: Client, wake: impl Fn(Reference) + Clone) {
    tokio::join!(
        watch_all::<Role>(client.clone(), "roles", |object| wake(Reference::Rights(
            object.namespace.clone()
        ))),
        watch_all::<RoleBinding>(client.clone(), "rolebindings", |object| wake(
            Reference::Rights(object.namespace.clone())
        )),
        watch_all::<ClusterRole>(client.clone(), "clusterroles", |_| wake(Reference::Rights(
            None
        ))),
        watch_all::<ClusterRoleBinding>(client, "clusterrolebindings", |_| wake(
            Reference::Rights(None)
        )),
    );
}

/// Watches the definitions of custom resources, for ever.
pub async fn watch_definitions(client: Client, wake: impl Fn(Reference)) {
    watch_all::<CustomResourceDefinition>(client, "customresourcedefinitions", |_| {
        wake(Reference::Definition);
    })
    .await;
}

/// Tells of every event; of a complete list once, since what happened before it is not known.
async fn watch_all<K>(client: Client, what: &'static str, tell: impl Fn(&ObjectMeta))
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let mut events = watcher(Api::<PartialObjectMeta<K>>::all(client), config()).boxed();
    let mut failures = Failures::new();
    while let Some(event) = events.next().await {
        if let Ok(event) = &event {
            failures.came(event);
        }
        match event {
            Ok(watcher::Event::Init | watcher::Event::InitApply(_)) => {}
            Ok(watcher::Event::InitDone) => tell(&ObjectMeta::default()),
            Ok(watcher::Event::Apply(object) | watcher::Event::Delete(object)) => {
                tell(&object.metadata);
            }
            Err(error) => pause(what, &error, &mut failures).await,
        }
    }
}

async fn pause(what: &'static str, error: &watcher::Error, failures: &mut Failures) {
    let (forbidden, pause) = failures.after(error);
    tracing::warn!(what, %error, forbidden, "a watch failed");
    tokio::time::sleep(pause).await;
}
