//! Wires everything together, and runs it until it is told to stop.

mod guarded;
mod looks;
mod runnables;
mod turns;
mod unreadable;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_crds::{ClusterRunTemplate, Runnable};
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
use runnables::Runnables;
use tokio::{net::TcpListener, sync::watch};
use unreadable::Untold;

use crate::{
    accept::Acceptance,
    api::Connection,
    discovery::Kinds,
    events::Events,
    flags::Flags,
    health::{self, Readiness},
    identity::Identity,
    ledger::BreakerLimits,
    memory::{Memories, RunnableKey},
    metrics::Metrics,
    problem::Cure,
    reconcile::Reconciler,
    templates::Templates,
    watch::{
        Wakes, Watches,
        references::{
            ACCOUNTS, Accounts, Reference, watch_accounts, watch_definitions, watch_rights,
        },
        runs::{RunWatch, Runs},
        selected::{SelectedWatch, Selections},
        supervised,
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
    tokio::spawn(health::serve(listener, readiness.clone(), metrics.clone()));
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
    let (runnables_store, runnables_writer) = reflector::store::<Runnable>();
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
    let accounts_synced = watch_references(&reconciler, &runnables_store, &readiness);
    let template_task = tokio::spawn(serve_templates(
        reconciler.clone(),
        templates_store,
        templates_writer,
        runnables_store.clone(),
        readiness.clone(),
        untold.clone(),
    ));
    let runnables = Runnables {
        reconciler,
        store: runnables_store,
        readiness,
        metrics,
        untold,
    };
    runnables
        .serve(flags, runnables_writer, woken, accounts_synced, stop)
        .await;
    template_task.abort();
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

fn wire(
    flags: &Flags,
    connection: &Connection,
    metrics: &Metrics,
    templates: Store<ClusterRunTemplate>,
    runnables: Store<Runnable>,
    wakes: Wakes,
    readiness: &Readiness,
) -> Reconciler {
    let identity = Identity::new(connection.clone(), flags.identity);
    let templates = Arc::new(Templates::new(templates));
    let runs = Arc::new(Runs::default());
    let memories = Arc::new(Memories::default());
    let selections = Arc::new(Selections::default());
    let most = usize::try_from(flags.max_watched_kinds).unwrap_or(usize::MAX);
    let watches = Arc::new(Watches::new(most, metrics.clone(), readiness.clone()));
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
        memories,
        wakes,
    }
}

/// Watches what Runnables refer to. The receiver turns true when the accounts are known.
fn watch_references(
    reconciler: &Arc<Reconciler>,
    runnables: &Store<Runnable>,
    readiness: &Readiness,
) -> watch::Receiver<bool> {
    let (synced, receiver) = watch::channel(false);
    let client = reconciler.identity.own().client();
    let wake = {
        let (reconciler, runnables) = (reconciler.clone(), runnables.clone());
        let echoes = Arc::new(Echoes::default());
        move |reference| {
            refer(&reconciler, &runnables, &reference);
            echoes.clone().echo(&reconciler, reference);
        }
    };
    let metrics = || reconciler.metrics.clone();
    let accounts = {
        let (client, accounts) = (client.clone(), reconciler.accounts.clone());
        let (readiness, wake) = (readiness.clone(), wake.clone());
        move || {
            let (client, accounts, synced) = (client.clone(), accounts.clone(), synced.clone());
            watch_accounts(client, accounts, synced, readiness.clone(), wake.clone())
        }
    };
    let rights = {
        let (client, wake) = (client.clone(), wake.clone());
        move || watch_rights(client.clone(), wake.clone())
    };
    let definitions = move || watch_definitions(client.clone(), wake.clone());
    tokio::spawn(supervised(ACCOUNTS.to_owned(), metrics(), accounts, || {}));
    tokio::spawn(supervised("rights".to_owned(), metrics(), rights, || {}));
    let what = "definitions".to_owned();
    tokio::spawn(supervised(what, metrics(), definitions, || {}));
    receiver
}

fn refer(reconciler: &Reconciler, runnables: &Store<Runnable>, reference: &Reference) {
    match reference {
        Reference::Account { namespace, name } => {
            reconciler.identity.forget(namespace, name);
            wake_where(reconciler, runnables, |runnable| {
                runnable.namespace().as_ref() == Some(namespace)
                    && runnable.spec.service_account() == name
            });
        }
        Reference::Rights(_) | Reference::Definition => cure(reconciler, reference),
    }
}

fn cure(reconciler: &Reconciler, reference: &Reference) {
    match reference {
        Reference::Account { .. } => {}
        Reference::Rights(namespace) => reconciler.cure(Cure::Right, namespace.as_deref()),
        Reference::Definition => {
            reconciler.kinds.forget_all();
            reconciler.cure(Cure::Kind, None);
        }
    }
}

/// The API server's discovery and authorizer may be behind the event that told of a change, so what
/// the event may cure is tried again a little later.
#[derive(Default)]
struct Echoes {
    under_way: Mutex<HashSet<Reference>>,
}

impl Echoes {
    fn echo(self: Arc<Self>, reconciler: &Arc<Reconciler>, reference: Reference) {
        let pauses: &[u64] = match &reference {
            Reference::Account { .. } => return,
            Reference::Rights(_) => &[2],
            Reference::Definition => &[1, 2, 5],
        };
        if !self.lock().insert(reference.clone()) {
            return;
        }
        let reconciler = reconciler.clone();
        tokio::spawn(async move {
            for pause in pauses {
                tokio::time::sleep(Duration::from_secs(*pause)).await;
                cure(&reconciler, &reference);
            }
            self.lock().remove(&reference);
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<Reference>> {
        self.under_way
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn wake_where(
    reconciler: &Reconciler,
    runnables: &Store<Runnable>,
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
    runnables: Store<Runnable>,
    readiness: Readiness,
    untold: Untold,
) {
    let api: Api<Guarded<ClusterRunTemplate>> = Api::all(reconciler.identity.own().client());
    let events = guarded(
        api,
        readiness.clone(),
        TEMPLATES,
        reconciler.metrics.clone(),
        untold,
    );
    let mut waking = {
        let reconciler = reconciler.clone();
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
                readiness.reached(TEMPLATES);
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
