//! Wires everything together, and runs it until it is told to stop.

mod fair_queue;
mod guarded;
mod queue;
mod references;
mod requeues;
mod runnables;
mod unreadable;

use std::{collections::HashMap, sync::Arc};

use cartouche_crds::ClusterRunTemplate;
use cartouche_protocol::ledger::BreakerLimits;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use guarded::{Guarded, guarded};
use kube::{
    Api, Config, ResourceExt,
    runtime::{
        Controller, WatchStreamExt, controller,
        reflector::{self, Store},
        watcher,
    },
};
use references::{wake_where, watch_references};
use runnables::Runnables;
use tokio::{net::TcpListener, sync::Semaphore};
use unreadable::Untold;

use crate::{
    api::Connection,
    cached_runnable::CachedRunnable,
    discovery::Kinds,
    endpoints::{self, Readiness},
    events::Events,
    flags::Flags,
    identity::Identity,
    memory::Memories,
    metrics::Metrics,
    picked::PickedObjects,
    reconcile::Reconciler,
    runnable_key::RunnableKey,
    template_status::{Acceptance, Refusals},
    templates::Templates,
    watch::{
        Wakes, Watches,
        own::OwnWatches,
        references::{ACCOUNTS, Accounts, References},
        runs::{RunWatch, Runs},
        selected::{SelectedWatch, Selections},
    },
};

const RUNNABLES: &str = "runnables.carto.run";
const TEMPLATES: &str = "clusterruntemplates.carto.run";

/// Runs the controller until SIGTERM or SIGINT. The error is a sentence for people.
pub async fn serve(flags: Flags) -> Result<(), String> {
    let config = Config::infer().await.map_err(|error| {
        format!("no API server is known: {error}\nhint: set KUBECONFIG to the path of a kubeconfig file, or run in a cluster")
    })?;
    let metrics = Metrics::default();
    let connection = Connection::new(config, flags.identity, metrics.clone())
        .map_err(|error| format!("the kubeconfig cannot be used: {error}"))?
        .with_deadline(flags.request_timeout());
    let listener = TcpListener::bind(flags.health_address)
        .await
        .map_err(|error| {
            format!(
                "cannot listen on {}: {error}\nhint: choose another address with --health-address",
                flags.health_address
            )
        })?;
    let readiness = unready();
    if let Ok(address) = listener.local_addr() {
        tracing::info!(%address, "serving /healthz, /readyz and /metrics");
    }
    tokio::spawn(endpoints::serve(
        listener,
        readiness.clone(),
        metrics.clone(),
    ));
    serve_over(connection, &flags, metrics, readiness, signalled()).await;
    tracing::info!("stopped");
    Ok(())
}

/// What must be there before Runnables are served.
#[must_use]
pub fn unready() -> Readiness {
    Readiness::waiting_for(&[RUNNABLES, TEMPLATES, ACCOUNTS])
}

/// Runs the controller over a connection until `stop`, and then until the passes under way have
/// ended. It needs no file, signal or listener of this machine, so that a simulation can run it.
pub async fn serve_over(
    connection: Connection,
    flags: &Flags,
    metrics: Metrics,
    readiness: Readiness,
    stop: impl Future<Output = ()> + Send + Sync + 'static,
) {
    let (templates_store, templates_writer) = reflector::store::<ClusterRunTemplate>();
    let (runnables_store, runnables_writer) = reflector::store::<CachedRunnable>();
    let (wakes, woken) = Wakes::new();
    let reconciler = Arc::new(wire(
        flags,
        &connection,
        &metrics,
        templates_store.clone(),
        runnables_store.clone(),
        wakes,
        &readiness,
    ));

    let untold = Untold::start(
        reconciler.identity.own().clone(),
        connection.clone(),
        reconciler.events.clone(),
        metrics.clone(),
    );
    let watches = OwnWatches {
        readiness: readiness.clone(),
        metrics: metrics.clone(),
        deadline: connection.deadline(),
    };
    let references = References {
        client: reconciler.identity.own().client(),
        namespace: flags.namespace.clone(),
        own: watches.clone(),
    };
    let accounts_synced = watch_references(references, &reconciler, &runnables_store);
    let mut template_task = tokio::spawn(serve_templates(
        reconciler.clone(),
        templates_store,
        templates_writer,
        runnables_store.clone(),
        watches.clone(),
        untold.clone(),
    ));
    let runnables = Runnables {
        reconciler,
        store: runnables_store,
        readiness,
        metrics,
        untold,
        watches,
        large: Semaphore::new(1),
    };
    let serving = runnables.serve(flags, runnables_writer, woken, accounts_synced, stop);
    tokio::select! {
        () = serving => template_task.abort(),
        // Nobody would notice an edited template any more: whoever started the process begins it anew.
        _ = &mut template_task => tracing::error!("the watch of templates ended by a mistake of the controller: stopping"),
    }
}

/// SIGTERM or SIGINT.
async fn signalled() {
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}

pub(crate) fn wire(
    flags: &Flags,
    connection: &Connection,
    metrics: &Metrics,
    templates: Store<ClusterRunTemplate>,
    runnables: Store<CachedRunnable>,
    wakes: Wakes,
    readiness: &Readiness,
) -> Reconciler {
    let identity = Identity::new(connection.clone(), flags.identity);
    let templates = Arc::new(Templates::new(templates));
    let runs = Arc::new(Runs::counted_by(metrics.clone()));
    let memories = Arc::new(Memories::default());
    let selections = Arc::new(Selections::default());
    let most = usize::try_from(flags.max_watched_kinds).unwrap_or(usize::MAX);
    let watches = Arc::new(Watches::new(
        most,
        flags.namespace.clone(),
        connection.deadline(),
        metrics.clone(),
        readiness.clone(),
    ));
    Reconciler {
        kinds: Kinds::new(identity.own().clone()),
        events: Events::start(
            identity.own().clone(),
            metrics.clone(),
            flags.events_per_second,
        ),
        run_watch: RunWatch {
            runs: runs.clone(),
            runnables,
            templates: templates.clone(),
            memories: memories.clone(),
            wakes: wakes.clone(),
            watches: watches.clone(),
            metrics: metrics.clone(),
        },
        selected_watch: SelectedWatch {
            selections: selections.clone(),
            memories: memories.clone(),
            wakes: wakes.clone(),
            watches: watches.clone(),
        },
        accounts: Arc::new(Accounts::default()),
        metrics: metrics.clone(),
        limits: BreakerLimits {
            max_runs: flags.runaway_runs,
        },
        poll: flags.poll(),
        identity,
        templates,
        watches,
        runs,
        selections,
        picked: PickedObjects::default(),
        memories,
        wakes,
    }
}

/// The uid and generation of each template whose Runnables were woken for it: a write of its status
/// alone concerns none of them.
#[derive(Default)]
struct Told(HashMap<String, (Option<String>, Option<i64>)>);

impl Told {
    fn is_news(&mut self, template: &ClusterRunTemplate) -> bool {
        let now = (template.uid(), template.metadata.generation);
        let before = self.0.insert(template.name_any(), now.clone());
        before != Some(now)
    }
}

/// The templates that events ask to be looked at: those of a list when all of it is in the store.
fn looked_at<E>(
    events: impl Stream<Item = Result<watcher::Event<ClusterRunTemplate>, E>>,
    store: Store<ClusterRunTemplate>,
) -> impl Stream<Item = Result<ClusterRunTemplate, E>> {
    let templates = move |event| {
        let templates = match event {
            watcher::Event::Apply(template) => vec![template],
            watcher::Event::InitDone => store.state().iter().map(|it| (**it).clone()).collect(),
            watcher::Event::Init | watcher::Event::InitApply(_) | watcher::Event::Delete(_) => {
                Vec::new()
            }
        };
        stream::iter(templates.into_iter().map(Ok))
    };
    events.map_ok(templates).try_flatten()
}

/// Watches templates: keeps them compiled, writes their status, wakes their Runnables.
async fn serve_templates(
    reconciler: Arc<Reconciler>,
    store: Store<ClusterRunTemplate>,
    writer: reflector::store::Writer<ClusterRunTemplate>,
    runnables: Store<CachedRunnable>,
    watches: OwnWatches,
    untold: Untold,
) {
    let api: Api<Guarded<ClusterRunTemplate>> = Api::all(reconciler.identity.own().client());
    let events = guarded(api, &watches, TEMPLATES, untold);
    let mut waking = {
        let (reconciler, store) = (reconciler.clone(), store.clone());
        let mut told = Told::default();
        move |event: &watcher::Event<ClusterRunTemplate>| match event {
            watcher::Event::Apply(template) if !told.is_news(template) => {}
            watcher::Event::Apply(template) | watcher::Event::Delete(template) => {
                let name = template.name_any();
                if let watcher::Event::Delete(_) = event {
                    told.0.remove(&name);
                }
                wake_where(&reconciler, &runnables, |runnable| {
                    let concerned = runnable.spec.run_template_ref.name == name;
                    if concerned
                        && let Some(memory) = reconciler.memories.known(&RunnableKey::of(runnable))
                    {
                        crate::memory::lock(&memory).of_edited_template = true;
                    }
                    concerned
                });
            }
            watcher::Event::InitDone => {
                watches.readiness.reached(TEMPLATES);
                told.0.clear();
                for template in store.state() {
                    told.is_news(&template);
                }
                wake_where(&reconciler, &runnables, |_| true);
            }
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
        }
    };
    // Runnables are woken when the store has the event already.
    let trigger = events
        .reflect(writer)
        .inspect(move |event| event.iter().for_each(&mut waking));
    let trigger = looked_at(trigger, store.clone());
    let acceptance = Arc::new(Acceptance {
        templates: reconciler.templates.clone(),
        requests: reconciler.identity.own().clone(),
        connection: reconciler.identity.connection().clone(),
        refusals: Refusals::default(),
    });
    Controller::for_stream(trigger, store)
        .with_config(controller::Config::default().concurrency(4))
        .run(
            |template, acceptance: Arc<Acceptance>| async move {
                Ok::<_, std::convert::Infallible>(acceptance.reconcile(template).await)
            },
            |_, error, _| match *error {},
            acceptance,
        )
        .for_each(|_| std::future::ready(()))
        .await;
}
