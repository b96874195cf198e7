//! Serves Runnables: their watch, the looks at them, and the end of it all.

use std::{sync::Arc, time::Duration};

use cartouche_crds::Runnable;
use futures::{
    StreamExt, TryStreamExt,
    future::{Ready, ready},
    stream,
};
use kube::{
    Api, ResourceExt,
    runtime::{
        Controller, WatchStreamExt,
        controller::{self, Action},
        reflector::{self, ObjectRef, Store},
        watcher,
    },
};
use tokio::sync::{mpsc::UnboundedReceiver, watch};

use super::{
    ACCOUNTS, RUNNABLES, TEMPLATES,
    fairness::{AGAIN, Fairness, Reason},
    guarded::{Guarded, guarded},
    key,
};
use crate::{
    flags::Flags, health::Readiness, memory::lock, metrics::Metrics, reconcile::Reconciler,
};

/// How long passes under way may take to end after a signal to stop.
const GRACE: Duration = Duration::from_secs(20);

/// What serving Runnables needs.
pub(super) struct Runnables {
    pub(super) reconciler: Arc<Reconciler>,
    pub(super) store: Store<Runnable>,
    pub(super) readiness: Readiness,
    pub(super) metrics: Metrics,
}

impl Runnables {
    /// Serves Runnables until `stop`, and then until the passes under way have ended.
    pub(super) async fn serve(
        self,
        flags: &Flags,
        writer: reflector::store::Writer<Runnable>,
        woken: UnboundedReceiver<ObjectRef<Runnable>>,
        accounts: watch::Receiver<bool>,
        stop: impl Future<Output = ()> + Send + Sync + 'static,
    ) {
        let client = self.reconciler.identity.own().client();
        let api: Api<Guarded<Runnable>> = match &flags.namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        };
        let noting = self.noting();
        let events = guarded(api, self.readiness.clone(), RUNNABLES, self.metrics.clone());
        let trigger = events
            .modify(slim)
            .reflect(writer)
            .inspect(move |event| event.iter().for_each(&noting))
            .try_filter_map(|event| ready(Ok(changed(event))))
            .try_filter(self.news());
        let woken = stream::unfold(woken, |mut woken| async move {
            woken.recv().await.map(|key| (key, woken))
        });
        let readiness = self.readiness.clone();
        let reconciler = self.reconciler.clone();

        let known = {
            let (readiness, mut accounts) = (self.readiness.clone(), accounts.clone());
            async move {
                let _ = accounts.wait_for(|synced| *synced).await;
                readiness.reached(ACCOUNTS);
            }
        };
        tokio::spawn(known);
        let (stopping, mut stopped) = watch::channel(false);
        let fairness = Fairness::new(flags.concurrency, self.reconciler.wakes.clone());
        let controller = Controller::for_stream(trigger, self.store)
            .with_config(controller::Config::default().concurrency(flags.concurrency))
            .reconcile_on(woken)
            .graceful_shutdown_on(async move {
                stop.await;
                tracing::info!("stopping: no new work is begun");
                stopping.send_replace(true);
            })
            .run(
                move |runnable, reconciler: Arc<Reconciler>| {
                    let mut accounts = accounts.clone();
                    let (readiness, fairness) = (readiness.clone(), fairness.clone());
                    async move {
                        let Some(turn) =
                            fairness.turn(&key(&runnable), reason(&reconciler, &runnable))
                        else {
                            return Ok(Action::requeue(AGAIN));
                        };
                        // Without the accounts and the templates every Runnable would look broken.
                        let _ = accounts.wait_for(|synced| *synced).await;
                        while readiness
                            .missing()
                            .iter()
                            .any(|missing| missing.contains(TEMPLATES))
                        {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                        }
                        let others_wait = || turn.others_wait();
                        let again = reconciler.reconcile(runnable, &others_wait).await;
                        Ok::<_, std::convert::Infallible>(again)
                    }
                },
                |_, error, _| match *error {},
                reconciler,
            )
            .for_each(|_| std::future::ready(()));
        tokio::select! {
            () = controller => {}
            () = async {
                let _ = stopped.wait_for(|stopping| *stopping).await;
                tokio::time::sleep(GRACE).await;
            } => tracing::warn!("some passes did not end in time"),
        }
    }

    /// Whether an event says more than that our own write has arrived.
    fn news(&self) -> impl Fn(&Runnable) -> Ready<bool> + Send + 'static {
        let memories = self.reconciler.memories.clone();
        move |runnable| {
            let echo = memories.known(&key(runnable)).is_some_and(|memory| {
                let (uid, version) = (runnable.uid(), runnable.resource_version());
                lock(&memory).is_echo(&uid.unwrap_or_default(), &version.unwrap_or_default())
            });
            ready(!echo)
        }
    }

    /// What events of Runnables mean beside a look at them.
    fn noting(&self) -> impl Fn(&watcher::Event<Runnable>) + Send + 'static {
        let (reconciler, store, readiness, metrics) = (
            self.reconciler.clone(),
            self.store.clone(),
            self.readiness.clone(),
            self.metrics.clone(),
        );
        move |event| {
            match event {
                watcher::Event::Delete(runnable) => reconciler.forget(&key(runnable)),
                watcher::Event::InitDone => {
                    readiness.reached(RUNNABLES);
                    reconciler.sweep(|key| {
                        store
                            .get(&ObjectRef::new(&key.name).within(&key.namespace))
                            .is_some()
                    });
                    for runnable in store.state() {
                        reconciler.wakes.wake(&key(&runnable));
                    }
                }
                watcher::Event::Init | watcher::Event::InitApply(_) | watcher::Event::Apply(_) => {}
            }
            metrics.runnables(store.len());
        }
    }
}

/// What is to be looked at because of one event. The objects of a list are not in the store before all of
/// it has come, and a look meanwhile would see what was there before and be the last one: they are looked
/// at when the list is complete.
fn changed(event: watcher::Event<Runnable>) -> Option<Runnable> {
    match event {
        watcher::Event::Apply(runnable) => Some(runnable),
        watcher::Event::Init
        | watcher::Event::InitApply(_)
        | watcher::Event::InitDone
        | watcher::Event::Delete(_) => None,
    }
}

/// Whether the spec is not what was looked at last, or the template.
fn reason(reconciler: &Reconciler, runnable: &Runnable) -> Reason {
    let observed = runnable
        .status
        .as_ref()
        .and_then(|status| status.observed_generation);
    if observed != runnable.metadata.generation {
        return Reason::Changed;
    }
    let memory = reconciler.memories.known(&key(runnable));
    if memory.is_some_and(|memory| lock(&memory).of_edited_template) {
        Reason::Template
    } else {
        Reason::Other
    }
}

/// Drops what no decision and no template reads, before it is kept.
fn slim(runnable: &mut Runnable) {
    if let Some(annotations) = &mut runnable.metadata.annotations {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}
