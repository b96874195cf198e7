//! Serves templates: keeps them compiled, writes their status, and enqueues their Runnables.

use std::{collections::HashMap, sync::Arc};

use cartouche_crds::ClusterRunTemplate;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use kube::{
    Api, Resource, ResourceExt,
    runtime::{
        Controller, WatchStreamExt, controller,
        reflector::{self, Store},
        watcher,
    },
};

use super::{
    guarded::Guarded, guarded_watch::watch, references::enqueue_where,
    unreadable::UnreadableReporter,
};
use crate::{
    cached_runnable::CachedRunnable, definitions::TEMPLATES, lock::lock,
    reconcile::ControllerContext, runnable_key::RunnableKey, status_writes::StatusWrites,
    template_status::Acceptance, watch::own::OwnWatches,
};

/// The uid and generation of each template as last enqueued for its Runnables: a write of its status alone concerns
/// none of them.
#[derive(Default)]
struct Generations(HashMap<String, (Option<String>, Option<i64>)>);

impl Generations {
    fn record_generation(&mut self, template: &ClusterRunTemplate) -> bool {
        let now = (template.uid(), template.metadata.generation);
        let before = self.0.insert(template.name_any(), now.clone());
        before != Some(now)
    }
}

/// Returns the templates or profiles that events ask to reconcile. Those of a list follow once all of it is in the
/// store.
pub(super) fn to_reconcile<K, E>(
    events: impl Stream<Item = Result<watcher::Event<K>, E>>,
    store: Store<K>,
) -> impl Stream<Item = Result<K, E>>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
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

/// State for serving templates.
pub(super) struct TemplateServer {
    pub(super) ctx: Arc<ControllerContext>,
    pub(super) store: Store<ClusterRunTemplate>,
    pub(super) runnables: Store<CachedRunnable>,
    pub(super) watches: OwnWatches,
    pub(super) reporter: UnreadableReporter,
}

impl TemplateServer {
    /// Watches templates: keeps them compiled, writes their status, and enqueues their Runnables.
    pub(super) async fn serve(self, writer: reflector::store::Writer<ClusterRunTemplate>) {
        let own = self.ctx.identity.own().clone();
        let api: Api<Guarded<ClusterRunTemplate>> = Api::all(own.client());
        let events = watch(api, &self.watches, TEMPLATES, self.reporter.clone());
        let acceptance = Arc::new(Acceptance {
            templates: self.ctx.templates.clone(),
            requests: own,
            connection: self.ctx.identity.connection().clone(),
            writes: StatusWrites::new(self.ctx.definitions.clone()),
        });
        let store = self.store.clone();
        let warned = self.ctx.templates.with_news();
        let warned = warned.map(|template| Ok((*template).clone()));
        let mut enqueued = Generations::default();
        // Runnables are enqueued after the store has the event.
        let trigger = events.reflect(writer).inspect(move |event| {
            if let Ok(event) = event {
                self.enqueue(event, &mut enqueued);
            }
        });
        let trigger = stream::select(to_reconcile(trigger, store.clone()), warned);
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

    /// Enqueues the Runnables that an event of a template concerns.
    fn enqueue(&self, event: &watcher::Event<ClusterRunTemplate>, enqueued: &mut Generations) {
        match event {
            watcher::Event::Apply(template) if !enqueued.record_generation(template) => {}
            watcher::Event::Apply(template) => self.edited(&template.name_any()),
            watcher::Event::Delete(template) => {
                let name = template.name_any();
                enqueued.0.remove(&name);
                self.edited(&name);
            }
            watcher::Event::InitDone => {
                self.watches.readiness.mark(TEMPLATES);
                enqueued.0.clear();
                for template in self.store.state() {
                    enqueued.record_generation(&template);
                }
                enqueue_where(&self.ctx, &self.runnables, |_| true);
            }
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
        }
    }

    /// Enqueues the Runnables of a template that has changed.
    fn edited(&self, name: &str) {
        enqueue_where(&self.ctx, &self.runnables, |runnable| {
            let concerned = runnable.spec.run_template_ref.name == name;
            if concerned
                && let Some(memory) = self.ctx.memories.get(&RunnableKey::from_runnable(runnable))
            {
                lock(&memory).of_edited_template = true;
            }
            concerned
        });
    }
}
