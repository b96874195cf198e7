//! Serves profiles: keeps them known, writes their status, and enqueues the Runnables that a change may unblock.

use std::sync::Arc;

use cartouche_crds::{
    ClusterRunProfile, Runnable,
    conditions::{RUN_TEMPLATE_READY, TRUE, find},
};
use cartouche_protocol::category::Category;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, ResourceExt,
    api::PartialObjectMeta,
    runtime::{
        Controller, WatchStreamExt, controller,
        reflector::{self, Store},
        watcher,
    },
};

use super::{
    guarded::Guarded, guarded_watch::watch, templates::to_reconcile, unreadable::UnreadableReporter,
};
use crate::{
    cached_runnable::CachedRunnable,
    definitions::PROFILES,
    lock::lock,
    profile_status::ProfileAcceptance,
    profiles::NAMESPACES,
    reconcile::ControllerContext,
    runnable_key::RunnableKey,
    status_writes::StatusWrites,
    watch::{config, own::OwnWatches},
};

/// State for serving profiles.
#[derive(Clone)]
pub(super) struct ProfileServer {
    pub(super) ctx: Arc<ControllerContext>,
    pub(super) store: Store<ClusterRunProfile>,
    pub(super) runnables: Store<CachedRunnable>,
    pub(super) watches: OwnWatches,
    pub(super) reporter: UnreadableReporter,
}

impl ProfileServer {
    /// Watches profiles, and namespaces while they are needed. Never ends.
    pub(super) async fn serve(self, writer: reflector::store::Writer<ClusterRunProfile>) {
        let own = self.ctx.identity.own().clone();
        let api: Api<Guarded<ClusterRunProfile>> = Api::all(own.client());
        let events = watch(api, &self.watches, PROFILES, self.reporter.clone());
        let acceptance = Arc::new(ProfileAcceptance {
            profiles: self.ctx.profiles.clone(),
            requests: own,
            connection: self.ctx.identity.connection().clone(),
            writes: StatusWrites::new(self.ctx.definitions.clone()),
        });
        let store = self.store.clone();
        let namespaces = self.clone().watch_namespaces();
        let trigger = events.reflect(writer).inspect(move |event| {
            if let Ok(event) = event {
                self.take_in(event);
            }
        });
        let profiles = Controller::for_stream(to_reconcile(trigger, store.clone()), store)
            .with_config(controller::Config::default().concurrency(4))
            .run(
                |profile, acceptance: Arc<ProfileAcceptance>| async move {
                    Ok::<_, std::convert::Infallible>(acceptance.reconcile(profile).await)
                },
                |_, error, _| match *error {},
                acceptance,
            )
            .for_each(|_| std::future::ready(()));
        tokio::join!(profiles, namespaces);
    }

    fn take_in(&self, event: &watcher::Event<ClusterRunProfile>) {
        let has_changed = match event {
            watcher::Event::Apply(profile) => self.ctx.profiles.put(profile),
            watcher::Event::Delete(profile) => {
                self.ctx.profiles.remove(&profile.name_any());
                true
            }
            watcher::Event::InitDone => {
                self.ctx.profiles.relist(&self.store.state());
                self.watches.readiness.mark(PROFILES);
                true
            }
            watcher::Event::Init | watcher::Event::InitApply(_) => false,
        };
        if has_changed {
            self.wake(|_| true);
        }
    }

    /// Enqueues Runnables whose next run is held back or was refused: profiles concern no others.
    fn wake(&self, concerned: impl Fn(&Runnable) -> bool) {
        let waits = |runnable: &Runnable| {
            let known = self.ctx.memories.get(&RunnableKey::from_runnable(runnable));
            known.is_none_or(|memory| lock(&memory).is_unsettled) || !is_well(runnable)
        };
        for runnable in self.runnables.state() {
            if !concerned(&runnable) || !waits(&runnable) {
                continue;
            }
            let key = RunnableKey::from_runnable(&runnable);
            if let Some(memory) = self.ctx.memories.get(&key) {
                let status = runnable.status.as_ref();
                let is_pinned = status.is_some_and(|status| status.profile.is_some());
                lock(&memory).profiles_changed(is_pinned);
            }
            self.ctx.enqueuer.enqueue(&key);
        }
    }

    /// Watches namespaces while a rule selects them.
    async fn watch_namespaces(self) {
        let mut needed = self.ctx.profiles.needs_namespaces();
        loop {
            if needed.wait_for(|needed| *needed).await.is_err() {
                return;
            }
            let mut until = needed.clone();
            tokio::select! {
                () = self.follow_namespaces() => {}
                _ = until.wait_for(|needed| !*needed) => {}
            }
            self.ctx.profiles.forget_namespaces();
            self.watches.remove(NAMESPACES);
        }
    }

    async fn follow_namespaces(&self) {
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(self.ctx.identity.own().client());
        let config = match &self.ctx.namespace {
            Some(namespace) => config().fields(&format!("metadata.name={namespace}")),
            None => config(),
        };
        let events = watcher(api, config);
        let events = self.watches.follow_plainly(NAMESPACES, events);
        let mut events = events.boxed();
        let mut listed = Vec::new();
        let of = |namespace: &str| {
            self.wake(|runnable| runnable.metadata.namespace.as_deref() == Some(namespace));
        };
        while let Some(event) = events.next().await {
            match event {
                watcher::Event::Init => listed.clear(),
                watcher::Event::InitApply(object) => listed.push(object.metadata),
                watcher::Event::InitDone => {
                    self.ctx
                        .profiles
                        .put_namespaces(std::mem::take(&mut listed));
                    self.wake(|_| true);
                }
                watcher::Event::Apply(object) => {
                    if self.ctx.profiles.put_namespace(&object.metadata) {
                        of(&object.name_any());
                    }
                }
                watcher::Event::Delete(object) => {
                    self.ctx.profiles.remove_namespace(&object.name_any());
                }
            }
        }
    }
}

/// Returns true if, by its status, nothing holds back the next run of a Runnable, nor a request to refresh its profile.
fn is_well(runnable: &Runnable) -> bool {
    let status = runnable.status.as_ref();
    let said = status.and_then(|status| find(status, RUN_TEMPLATE_READY));
    said.is_some_and(|said| said.status == TRUE && Category::parse(&said.reason).is_none())
}
