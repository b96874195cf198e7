//! Wires the parts of the controller together, and runs them until a stop signal.

mod fair_queue;
mod guarded;
mod guarded_watch;
mod profiles;
mod queue;
mod references;
mod requeues;
mod runnables;
mod templates;
mod unreadable;

use std::sync::Arc;

use cartouche_crds::{ClusterRunProfile, ClusterRunTemplate};
use cartouche_protocol::ledger::BreakerLimits;
use kube::{
    Config,
    runtime::reflector::{self, Store},
};
use profiles::ProfileServer;
use references::watch_references;
use runnables::Runnables;
use templates::TemplateServer;
use tokio::net::TcpListener;
use unreadable::UnreadableReporter;

use crate::{
    api::Connection,
    cached_runnable::CachedRunnable,
    clock::boot_time,
    definitions::{Definitions, OF_THIS_RELEASE, PROFILES, RUNNABLES, TEMPLATES},
    discovery::Kinds,
    endpoints::{self, ProcessReadiness},
    events::Events,
    flags::Flags,
    identity::Identity,
    memory::EventPace,
    metrics::Metrics,
    mutants,
    picked::PickedObjects,
    reconcile::ControllerContext,
    reviews::Reviews,
    survey::{Survey, WaitingSince},
    templates::Templates,
    watch::{
        Enqueuer, Watches, named::SecretWatches, own::OwnWatches, references::ACCOUNTS, runs::Runs,
    },
};

/// Runs the controller until SIGTERM or SIGINT. The error is a sentence for the user.
pub async fn serve(flags: Flags) -> Result<(), String> {
    let config = Config::infer().await.map_err(|error| {
        format!("no API server is known: {error}\nhint: set KUBECONFIG to the path of a kubeconfig file, or run in a cluster")
    })?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        server = %config.cluster_url,
        identity = ?flags.identity,
        namespace = flags.namespace.as_deref().unwrap_or("all"),
        "starting"
    );
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

/// Returns a readiness that waits for everything Runnables need.
#[must_use]
pub fn unready() -> ProcessReadiness {
    ProcessReadiness::waiting_for(&[RUNNABLES, TEMPLATES, PROFILES, ACCOUNTS, OF_THIS_RELEASE])
}

/// Runs the controller over a connection until `stop`, and then until running reconciliations have ended. It uses no
/// file, signal or listener of this machine, so that a simulation can run it.
pub async fn serve_over(
    connection: Connection,
    flags: &Flags,
    metrics: Metrics,
    readiness: ProcessReadiness,
    stop: impl Future<Output = ()> + Send + Sync + 'static,
) {
    let (templates, templates_writer) = reflector::store::<ClusterRunTemplate>();
    let (profiles, profiles_writer) = reflector::store::<ClusterRunProfile>();
    let (store, runnables_writer) = reflector::store::<CachedRunnable>();
    let (all, clock) = (store.clone(), connection.clock().clone());
    let waiting = WaitingSince::default();
    metrics.surveyed_by(move || {
        let (all, moment, now) = (all.state(), boot_time(), clock.now());
        let runnables = all.iter().map(|cached| (&***cached, cached.arrival_time()));
        (Survey::count(runnables, &waiting, (moment, now)), now)
    });
    let (enqueuer, queued) = Enqueuer::new();
    let ctx = Arc::new(wire(
        flags,
        &connection,
        &metrics,
        templates.clone(),
        store.clone(),
        enqueuer,
        &readiness,
    ));
    let reporter = UnreadableReporter::start(&ctx);
    let watches = OwnWatches {
        readiness,
        metrics,
        deadline: connection.deadline(),
    };
    let namespace = flags.namespace.clone();
    let accounts_synced = watch_references(namespace, watches.clone(), &ctx, &store);
    let templates = TemplateServer {
        ctx: ctx.clone(),
        store: templates,
        runnables: store.clone(),
        watches: watches.clone(),
        reporter: reporter.clone(),
    };
    let mut template_task = tokio::spawn(templates.serve(templates_writer));
    let profiles = ProfileServer {
        ctx: ctx.clone(),
        store: profiles,
        runnables: store.clone(),
        watches: watches.clone(),
        reporter: reporter.clone(),
    };
    let mut profile_task = tokio::spawn(profiles.serve(profiles_writer));
    let runnables = Runnables {
        ctx,
        store,
        reporter,
        watches,
    };
    let serving = runnables.serve(flags, runnables_writer, queued, accounts_synced, stop);
    tokio::select! {
        () = serving => {
            template_task.abort();
            profile_task.abort();
        }
        // Edits of templates or profiles would go unnoticed, so the process ends and gets restarted.
        _ = &mut template_task => tracing::error!("a bug in the controller ended the watch of templates: stopping"),
        _ = &mut profile_task => tracing::error!("a bug in the controller ended the watch of profiles: stopping"),
    }
}

/// Waits for SIGTERM or SIGINT.
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
    enqueuer: Enqueuer,
    readiness: &ProcessReadiness,
) -> ControllerContext {
    let identity = Arc::new(Identity::new(connection.clone(), flags.identity));
    let own = identity.own();
    let watches = Watches::new(
        usize::try_from(flags.max_watched_kinds).unwrap_or(usize::MAX),
        flags.namespace.clone(),
        connection.deadline(),
        metrics.clone(),
        readiness.clone(),
    );
    let memories = Arc::default();
    let secrets = SecretWatches::new(
        usize::try_from(flags.max_watched_objects).unwrap_or(usize::MAX),
        identity.clone(),
        Arc::clone(&memories),
        enqueuer.clone(),
        metrics.clone(),
    );
    ControllerContext {
        kinds: Kinds::new(own.clone()),
        events: Events::start(own.clone(), metrics.clone(), flags.events_per_second),
        event_pace: EventPace::default(),
        accounts: Arc::default(),
        reviews: Reviews::default(),
        metrics: metrics.clone(),
        limits: BreakerLimits {
            max_runs: flags.runaway_runs,
        },
        hashing: mutants::hashing(flags.hashing),
        poll: flags.poll(),
        identity,
        runnables,
        templates: Arc::new(Templates::new(templates)),
        watches: Arc::new(watches),
        runs: Arc::new(Runs::counted_by(metrics.clone())),
        selections: Arc::default(),
        picked: PickedObjects::default(),
        dependents: Arc::default(),
        namespace: flags.namespace.clone(),
        no_cross_namespace_refs: flags.no_cross_namespace_refs,
        memories,
        secrets: Arc::new(secrets),
        profiles: Arc::default(),
        definitions: Arc::new(Definitions::new(readiness.clone())),
        enqueuer,
    }
}
