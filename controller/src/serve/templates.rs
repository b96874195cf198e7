//! Serves templates: keeps them compiled, writes their status, and enqueues their Runnables.

use std::{collections::HashMap, sync::Arc};

use cartouche_crds::ClusterRunTemplate;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use kube::{
    Api, ResourceExt,
    runtime::{
        Controller, WatchStreamExt, controller,
        reflector::{self, Store},
        watcher,
    },
};

use super::{
    TEMPLATES,
    guarded::{Guarded, guarded},
    references::enqueue_where,
    unreadable::Untold,
};
use crate::{
    cached_runnable::CachedRunnable,
    memory::lock,
    reconcile::Context,
    runnable_key::RunnableKey,
    template_status::{Acceptance, Refusals},
    watch::own::OwnWatches,
};

/// The uid and generation of each template whose Runnables were enqueued for it: a write of its status
/// alone concerns none of them.
#[derive(Default)]
struct Generations(HashMap<String, (Option<String>, Option<i64>)>);

impl Generations {
    fn is_news(&mut self, template: &ClusterRunTemplate) -> bool {
        let now = (template.uid(), template.metadata.generation);
        let before = self.0.insert(template.name_any(), now.clone());
        before != Some(now)
    }
}

/// The templates that events ask to be reconciled: those of a list when all of it is in the store.
fn to_reconcile<E>(
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

/// Watches templates: keeps them compiled, writes their status, enqueues their Runnables.
pub(super) async fn serve_templates(
    ctx: Arc<Context>,
    store: Store<ClusterRunTemplate>,
    writer: reflector::store::Writer<ClusterRunTemplate>,
    runnables: Store<CachedRunnable>,
    watches: OwnWatches,
    untold: Untold,
) {
    let api: Api<Guarded<ClusterRunTemplate>> = Api::all(ctx.identity.own().client());
    let events = guarded(api, &watches, TEMPLATES, untold);
    let mut waking = {
        let (ctx, store) = (ctx.clone(), store.clone());
        let mut enqueued = Generations::default();
        move |event: &watcher::Event<ClusterRunTemplate>| match event {
            watcher::Event::Apply(template) if !enqueued.is_news(template) => {}
            watcher::Event::Apply(template) | watcher::Event::Delete(template) => {
                let name = template.name_any();
                if let watcher::Event::Delete(_) = event {
                    enqueued.0.remove(&name);
                }
                enqueue_where(&ctx, &runnables, |runnable| {
                    let concerned = runnable.spec.run_template_ref.name == name;
                    if concerned
                        && let Some(memory) = ctx.memories.known(&RunnableKey::of(runnable))
                    {
                        lock(&memory).of_edited_template = true;
                    }
                    concerned
                });
            }
            watcher::Event::InitDone => {
                watches.readiness.reached(TEMPLATES);
                enqueued.0.clear();
                for template in store.state() {
                    enqueued.is_news(&template);
                }
                enqueue_where(&ctx, &runnables, |_| true);
            }
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
        }
    };
    // Runnables are enqueued when the store has the event already.
    let trigger = events
        .reflect(writer)
        .inspect(move |event| event.iter().for_each(&mut waking));
    let trigger = to_reconcile(trigger, store.clone());
    let acceptance = Arc::new(Acceptance {
        templates: ctx.templates.clone(),
        requests: ctx.identity.own().clone(),
        connection: ctx.identity.connection().clone(),
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
