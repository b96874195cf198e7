//! What Runnables refer to: their accounts, the rights of these, and definitions of kinds.

use std::{collections::HashSet, sync::Arc};

use cartouche_crds::Runnable;
use kube::runtime::reflector::Store;
use tokio::sync::watch;

use super::requeues::Requeues;
use crate::{
    cached_runnable::CachedRunnable,
    reconcile::Reconciler,
    runnable_key::RunnableKey,
    watch::{
        references::{
            ACCOUNTS, Reference, References, watch_accounts, watch_definitions, watch_rights,
        },
        supervised,
    },
};

/// Watches what Runnables refer to. The receiver turns true when the accounts are known.
pub(super) fn watch_references(
    references: References,
    reconciler: &Arc<Reconciler>,
    runnables: &Store<CachedRunnable>,
) -> watch::Receiver<bool> {
    let (synced, receiver) = watch::channel(false);
    let wake = {
        let (reconciler, runnables) = (reconciler.clone(), runnables.clone());
        let requeues = Arc::new(Requeues::default());
        move |reference| match reference {
            Reference::Accounts(accounts) => refer(&reconciler, &runnables, &accounts),
            reference => requeues.tell(&reconciler, reference),
        }
    };
    let metrics = || reconciler.metrics.clone();
    let accounts = {
        let (references, accounts) = (references.clone(), reconciler.accounts.clone());
        let wake = wake.clone();
        move || {
            let (accounts, synced) = (accounts.clone(), synced.clone());
            watch_accounts(references.clone(), accounts, synced, wake.clone())
        }
    };
    let rights = {
        let (references, wake) = (references.clone(), wake.clone());
        move || watch_rights(references.clone(), wake.clone())
    };
    let definitions = move || watch_definitions(references.clone(), wake.clone());
    tokio::spawn(supervised(ACCOUNTS.to_owned(), metrics(), accounts, || {}));
    tokio::spawn(supervised("rights".to_owned(), metrics(), rights, || {}));
    let what = "definitions".to_owned();
    tokio::spawn(supervised(what, metrics(), definitions, || {}));
    receiver
}

/// Accounts that came, changed or went concern the Runnables that name them.
fn refer(
    reconciler: &Reconciler,
    runnables: &Store<CachedRunnable>,
    accounts: &[(String, String)],
) {
    for (namespace, name) in accounts {
        reconciler.identity.forget(namespace, name);
    }
    let accounts: HashSet<(&str, &str)> = accounts
        .iter()
        .map(|(namespace, name)| (namespace.as_str(), name.as_str()))
        .collect();
    wake_where(reconciler, runnables, |runnable| {
        let namespace = runnable.metadata.namespace.as_deref().unwrap_or_default();
        accounts.contains(&(namespace, runnable.spec.service_account()))
    });
}

pub(super) fn wake_where(
    reconciler: &Reconciler,
    runnables: &Store<CachedRunnable>,
    concerned: impl Fn(&Runnable) -> bool,
) {
    for runnable in runnables
        .state()
        .iter()
        .filter(|runnable| concerned(runnable))
    {
        let key = RunnableKey::of(runnable);
        if let Some(memory) = reconciler.memories.known(&key) {
            crate::memory::lock(&memory).retry_now();
        }
        reconciler.wakes.wake(&key);
    }
}
