//! Watches objects that Runnables depend on: their accounts, permissions of these, and definitions of kinds.

use std::{collections::HashSet, sync::Arc};

use cartouche_crds::Runnable;
use kube::runtime::reflector::Store;
use tokio::sync::watch;

use super::requeues::Requeues;
use crate::{
    cached_runnable::CachedRunnable,
    lock::lock,
    reconcile::ControllerContext,
    runnable_key::RunnableKey,
    watch::{
        own::OwnWatches,
        references::{
            ACCOUNTS, ReferenceChange, References, watch_accounts, watch_definitions,
            watch_permissions,
        },
        supervised,
    },
};

/// Watches accounts, permissions and definitions. The receiver turns true once the accounts are listed.
pub(super) fn watch_references(
    namespace: Option<String>,
    own: OwnWatches,
    ctx: &Arc<ControllerContext>,
    runnables: &Store<CachedRunnable>,
) -> watch::Receiver<bool> {
    let (synced, receiver) = watch::channel(false);
    let references = References {
        client: ctx.identity.own().client(),
        namespace,
        own,
    };
    let enqueue = {
        let (ctx, runnables) = (ctx.clone(), runnables.clone());
        let requeues = Arc::new(Requeues::default());
        move |reference| match reference {
            ReferenceChange::Accounts(accounts) => refer(&ctx, &runnables, &accounts),
            reference => {
                if ctx.definitions.take_recovery() {
                    enqueue_where(&ctx, &runnables, |_| true);
                }
                requeues.trigger(&ctx, reference);
            }
        }
    };
    let metrics = || ctx.metrics.clone();
    let accounts = {
        let (references, accounts) = (references.clone(), ctx.accounts.clone());
        let enqueue = enqueue.clone();
        move || {
            let (accounts, synced) = (accounts.clone(), synced.clone());
            watch_accounts(references.clone(), accounts, synced, enqueue.clone())
        }
    };
    let permissions = {
        let (references, enqueue) = (references.clone(), enqueue.clone());
        move || watch_permissions(references.clone(), enqueue.clone())
    };
    let definitions = {
        let definitions = ctx.definitions.clone();
        move || watch_definitions(references.clone(), definitions.clone(), enqueue.clone())
    };
    tokio::spawn(supervised(ACCOUNTS.to_owned(), metrics(), accounts, || {}));
    tokio::spawn(supervised(
        "permissions".to_owned(),
        metrics(),
        permissions,
        || {},
    ));
    let what = "definitions".to_owned();
    tokio::spawn(supervised(what, metrics(), definitions, || {}));
    receiver
}

/// Enqueues the Runnables that name accounts which came, changed or went.
fn refer(
    ctx: &ControllerContext,
    runnables: &Store<CachedRunnable>,
    accounts: &[(String, String)],
) {
    for (namespace, name) in accounts {
        ctx.identity.forget(namespace, name);
    }
    let accounts: HashSet<(&str, &str)> = accounts
        .iter()
        .map(|(namespace, name)| (namespace.as_str(), name.as_str()))
        .collect();
    enqueue_where(ctx, runnables, |runnable| {
        let namespace = runnable.metadata.namespace.as_deref().unwrap_or_default();
        accounts.contains(&(namespace, runnable.spec.service_account()))
    });
}

pub(super) fn enqueue_where(
    ctx: &ControllerContext,
    runnables: &Store<CachedRunnable>,
    concerned: impl Fn(&Runnable) -> bool,
) {
    for runnable in runnables
        .state()
        .iter()
        .filter(|runnable| concerned(runnable))
    {
        let key = RunnableKey::from_runnable(runnable);
        if let Some(memory) = ctx.memories.get(&key) {
            lock(&memory).retry_now();
        }
        ctx.enqueuer.enqueue(&key);
    }
}
