//! Serves Runnables: their watch, their reconciliation, and the shutdown.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::{
    StreamExt, TryStreamExt,
    future::{Ready, ready},
    stream,
};
use kube::{
    Api, ResourceExt,
    runtime::{
        WatchStreamExt,
        reflector::{self, Store},
        watcher,
    },
};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::{
    fair_queue::Priority, guarded::Guarded, guarded_watch::watch, queue::TurnQueue,
    unreadable::UnreadableReporter,
};
use crate::{
    cached_runnable::{CachedRunnable, WholeRunnable},
    clock::boot_time,
    definitions::{DEFINITIONS, Definitions, OF_THIS_RELEASE, PROFILES, RUNNABLES, TEMPLATES},
    endpoints::ProcessReadiness,
    flags::Flags,
    lock::lock,
    reconcile::ControllerContext,
    runnable_key::RunnableKey,
    watch::{Enqueued, own::OwnWatches, references::ACCOUNTS},
};

/// Time for running reconciliations to end after a stop signal.
const GRACE: Duration = Duration::from_secs(20);

/// State for serving Runnables.
pub(super) struct Runnables {
    pub(super) ctx: Arc<ControllerContext>,
    pub(super) store: Store<CachedRunnable>,
    pub(super) reporter: UnreadableReporter,
    pub(super) watches: OwnWatches,
}

impl Runnables {
    /// Serves Runnables until `stop`, and then until running reconciliations have ended.
    pub(super) async fn serve(
        self,
        flags: &Flags,
        writer: reflector::store::Writer<CachedRunnable>,
        enqueued: Enqueued,
        accounts: watch::Receiver<bool>,
        stop: impl Future<Output = ()> + Send + Sync + 'static,
    ) {
        let client = self.ctx.identity.own().client();
        let api: Api<Guarded<CachedRunnable>> = match &flags.namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        };
        let noting = self.noting();
        let events = watch(api, &self.watches, RUNNABLES, self.reporter.clone());
        let trigger = events
            .reflect(writer)
            .inspect(move |event| event.iter().for_each(&noting))
            .try_filter_map(|event| ready(Ok(changed(event))))
            .try_filter(self.news());
        let triggers = trigger.filter_map(|event| {
            let key = event
                .ok()
                .map(|runnable| RunnableKey::from_runnable(&runnable));
            ready(key.map(|key| BTreeSet::from([key])))
        });
        let enqueued = stream::unfold(enqueued, |enqueued| async move {
            Some((enqueued.next().await, enqueued))
        });

        let (stopping, mut stopped) = watch::channel(false);
        let stop = async move {
            stop.await;
            tracing::info!("stopping: no new reconcile begins");
            stopping.send_replace(true);
        };
        let heavy = self.ctx.identity.connection().heavy().clone();
        let queue = TurnQueue::new(flags.concurrency, heavy, self.ctx.metrics.clone());
        let serving = queue.serve(
            stream::select(triggers, enqueued).boxed(),
            prepared(
                self.watches.readiness.clone(),
                accounts,
                self.ctx.definitions.clone(),
            ),
            stop,
            |key| Some(priority(&self.ctx, &*key.find(&self.store)?)),
            |key| self.is_heavy(key),
            |key, place| self.reconcile_one(key, place),
        );
        tokio::select! {
            () = serving => {}
            () = async {
                let _ = stopped.wait_for(|stopping| *stopping).await;
                tokio::time::sleep(GRACE).await;
            } => tracing::warn!("some reconciliations did not end in time"),
        }
    }

    async fn reconcile_one(
        &self,
        key: RunnableKey,
        place: Option<OwnedSemaphorePermit>,
    ) -> Option<Duration> {
        let cached = key.find(&self.store)?;
        let whole = cached
            .whole()
            .inspect_err(
                |error| tracing::error!(%error, "inputs that were read cannot be read again"),
            )
            .ok()?;
        let whole = WholeRunnable { place, ..whole };
        self.ctx.reconcile(whole, cached.arrival_moment()).await
    }

    /// Returns true if a reconciliation holds much, by its inputs, or by anything else in the last one: these take
    /// turns.
    fn is_heavy(&self, key: &RunnableKey) -> bool {
        let is_large = || key.find(&self.store).is_some_and(|it| it.is_large());
        let memory = self.ctx.memories.get(key);
        memory.is_some_and(|memory| lock(&memory).was_heavy(boot_time())) || is_large()
    }

    /// Returns a filter for events that are more than echoes of the controller's own writes.
    fn news(&self) -> impl Fn(&CachedRunnable) -> Ready<bool> + Send + 'static {
        let memories = self.ctx.memories.clone();
        move |runnable| {
            let echo = memories
                .get(&RunnableKey::from_runnable(runnable))
                .is_some_and(|memory| {
                    let (uid, version) = (runnable.uid(), runnable.resource_version());
                    lock(&memory)
                        .consume_echo(&uid.unwrap_or_default(), &version.unwrap_or_default())
                });
            ready(!echo)
        }
    }

    /// Returns a handler of events of Runnables beside their reconciliation.
    fn noting(&self) -> impl Fn(&watcher::Event<CachedRunnable>) + Send + 'static {
        let (ctx, store) = (self.ctx.clone(), self.store.clone());
        let readiness = self.watches.readiness.clone();
        move |event| {
            match event {
                watcher::Event::Delete(runnable) => {
                    ctx.forget(runnable);
                    ctx.source_went(&RunnableKey::from_runnable(runnable));
                }
                watcher::Event::Apply(runnable) => {
                    ctx.source_changed(&RunnableKey::from_runnable(runnable));
                }
                watcher::Event::InitDone => {
                    readiness.mark(RUNNABLES);
                    ctx.sweep(|key| key.find(&store).is_some());
                    let all: Vec<RunnableKey> = store
                        .state()
                        .iter()
                        .map(|it| RunnableKey::from_runnable(it))
                        .collect();
                    // The first pass records which Runnables read which; the second passes on changes.
                    for key in all.iter().chain(&all) {
                        ctx.source_changed(key);
                    }
                    for key in &all {
                        ctx.enqueuer.enqueue(key);
                    }
                }
                watcher::Event::Init | watcher::Event::InitApply(_) => {}
            }
        }
    }
}

/// Waits for accounts, templates, profiles and definitions. Without them every Runnable would look broken, runs might
/// lack their profile, or might be made under older definitions.
async fn prepared(
    readiness: ProcessReadiness,
    mut accounts: watch::Receiver<bool>,
    definitions: Arc<Definitions>,
) {
    let _ = accounts.wait_for(|synced| *synced).await;
    readiness.mark(ACCOUNTS);
    let waits = || readiness.is_missing(&[TEMPLATES, PROFILES]);
    while waits() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    while definitions.are_awaited() {
        // Definitions cannot be listed, and may be older ones.
        if let Some(why) = readiness.why_lacking(DEFINITIONS) {
            readiness.because(OF_THIS_RELEASE, why);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    if !definitions.are_listed() {
        tracing::warn!(
            "the controller may not watch definitions: it notices outdated ones only when the API server drops fields of a status"
        );
        readiness.mark(OF_THIS_RELEASE);
    }
}

/// Returns the Runnable to reconcile for one event. The objects of a list are in the store only once it is complete,
/// and are reconciled then: an earlier reconciliation would see the old state and be the last one.
fn changed(event: watcher::Event<CachedRunnable>) -> Option<CachedRunnable> {
    match event {
        watcher::Event::Apply(runnable) => Some(runnable),
        watcher::Event::Init
        | watcher::Event::InitApply(_)
        | watcher::Event::InitDone
        | watcher::Event::Delete(_) => None,
    }
}

/// Returns the priority of a Runnable: by its spec or template, if either has changed since its last reconciliation.
fn priority(ctx: &ControllerContext, runnable: &CachedRunnable) -> Priority {
    let observed = runnable
        .status
        .as_ref()
        .and_then(|status| status.observed_generation);
    if observed != runnable.metadata.generation {
        return Priority::Changed;
    }
    let memory = ctx.memories.get(&RunnableKey::from_runnable(runnable));
    if memory.is_some_and(|memory| lock(&memory).of_edited_template) {
        Priority::Template
    } else {
        Priority::Other
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{sleep, timeout};

    use super::*;

    /// Returns whether `prepared` ends within a minute after the list of definitions failed, and what is missing.
    async fn waits_for(is_forbidden: bool) -> (bool, Vec<String>) {
        let readiness = ProcessReadiness::waiting_for(&[ACCOUNTS, OF_THIS_RELEASE]);
        let definitions = Arc::new(Definitions::new(readiness.clone()));
        let (_accounts, synced) = watch::channel(true);
        let why = "the API server answers 500".to_owned();
        readiness.lacks(DEFINITIONS, why, is_forbidden);
        let waiting = prepared(readiness.clone(), synced, definitions.clone());
        tokio::pin!(waiting);
        let minute = Duration::from_mins(1);
        let is_prepared = timeout(minute, &mut waiting).await.is_ok();
        let missing = readiness.missing();
        if !is_prepared {
            definitions.list(&[]);
            tokio::select! {
                () = waiting => {}
                () = sleep(minute) => return (true, vec!["it waits on".to_owned()]),
            }
        }
        (is_prepared, missing)
    }

    #[tokio::test(start_paused = true)]
    async fn definitions_whose_list_fails_are_waited_for_and_those_that_may_not_be_watched_are_not()
    {
        assert_eq!(waits_for(true).await, (true, vec![]));
        let line = format!("waiting for {OF_THIS_RELEASE}: the API server answers 500");
        assert_eq!(waits_for(false).await, (false, vec![line]));
    }
}
