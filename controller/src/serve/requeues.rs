//! Requeues Runnables that wait for permissions or definitions.
//!
//! Events come in bursts, and the API server's authorizer and discovery may lag behind them. So the Runnables that an
//! event may help are enqueued a moment later, once for all events in between, and again after some pauses.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_protocol::messages::reconcile_error::Requeue;

use crate::{
    discovery::DiscoveryError, lock::lock, reconcile::ControllerContext, runnable_key::RunnableKey,
    watch::references::ReferenceChange, watched_kind::Watched,
};

/// Time for which events are gathered.
const GATHERED: Duration = Duration::from_millis(100);
/// Pauses between further requeues, in seconds.
const AFTER_PERMISSIONS: &[u64] = &[2];
const AFTER_DEFINITIONS: &[u64] = &[1, 2, 5];
/// Maximum number of references with a task of their own; further ones share a task for all of their sort.
const MOST: usize = 32;
/// Minimum number of Runnables that are enqueued at once, and the pause between such portions: no single wait is
/// noticeable, and thousands do not come together.
const AT_ONCE: usize = 50;
const PORTIONS: usize = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// References that have a task, each with whether another event has come since.
#[derive(Default)]
pub(super) struct Requeues {
    under_way: Mutex<HashMap<ReferenceChange, bool>>,
}

impl Requeues {
    /// Handles an event that may have ended waits of Runnables.
    pub(super) fn trigger(
        self: &Arc<Self>,
        ctx: &Arc<ControllerContext>,
        reference: ReferenceChange,
    ) {
        let Some(mut task) = self.begin(reference) else {
            return;
        };
        let ctx = ctx.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(GATHERED).await;
                task.gathered();
                requeue(&ctx, &task.reference).await;
                let pauses = match task.reference {
                    ReferenceChange::Definition(_) => AFTER_DEFINITIONS,
                    ReferenceChange::Permissions(_) | ReferenceChange::Accounts(_) => {
                        AFTER_PERMISSIONS
                    }
                };
                for pause in pauses {
                    tokio::time::sleep(Duration::from_secs(*pause)).await;
                    requeue(&ctx, &task.reference).await;
                }
                if task.end_if_idle() {
                    break;
                }
            }
        });
    }

    /// Begins the task of a reference. Returns `None` if one exists, which then runs once more.
    fn begin(self: &Arc<Self>, reference: ReferenceChange) -> Option<RequeueTask> {
        let mut under_way = lock(&self.under_way);
        let every = match &reference {
            ReferenceChange::Permissions(_) => ReferenceChange::Permissions(None),
            ReferenceChange::Definition(_) => ReferenceChange::Definition(None),
            ReferenceChange::Accounts(_) => return None,
        };
        for known in [&reference, &every] {
            if let Some(again) = under_way.get_mut(known) {
                *again = true;
                return None;
            }
        }
        let reference = if under_way.len() < MOST {
            reference
        } else {
            every
        };
        under_way.insert(reference.clone(), false);
        Some(RequeueTask {
            requeues: self.clone(),
            reference,
            is_over: false,
        })
    }
}

/// Task of a reference. Once it is over or has ended otherwise, the next event begins another.
struct RequeueTask {
    requeues: Arc<Requeues>,
    reference: ReferenceChange,
    is_over: bool,
}

impl RequeueTask {
    /// Marks all events until now as handled.
    fn gathered(&self) {
        if let Some(again) = lock(&self.requeues.under_way).get_mut(&self.reference) {
            *again = false;
        }
    }

    /// Ends the task and returns true if no event has come since.
    fn end_if_idle(&mut self) -> bool {
        let mut under_way = lock(&self.requeues.under_way);
        let again = under_way.get(&self.reference).copied().unwrap_or_default();
        if !again {
            under_way.remove(&self.reference);
            // From now on another task may begin.
            self.is_over = true;
        }
        !again
    }
}

impl Drop for RequeueTask {
    fn drop(&mut self) {
        if !self.is_over {
            lock(&self.requeues.under_way).remove(&self.reference);
        }
    }
}

async fn requeue(ctx: &ControllerContext, reference: &ReferenceChange) {
    match reference {
        ReferenceChange::Accounts(_) => {}
        ReferenceChange::Permissions(namespace) => {
            ctx.reviews.forget(namespace.as_deref());
            ctx.secrets.retry_refused(namespace.as_deref());
            let waiting_for = ctx
                .memories
                .waiting_for(Requeue::OnRbac, namespace.as_deref());
            enqueue(ctx, waiting_for).await;
        }
        ReferenceChange::Definition(name) => {
            ctx.kinds.forget_all();
            enqueue(ctx, ctx.memories.waiting_for(Requeue::OnKind, None)).await;
            for watched in ctx.watches.open() {
                let concerns = |name: &String| *name == watched.kind.resource();
                if name.as_ref().is_none_or(concerns) && !is_served(ctx, &watched).await {
                    enqueue(ctx, ctx.watches.users(&watched)).await;
                }
            }
        }
    }
}

/// Returns true if the very version that is watched is still served. If not, its objects may be seen in another.
async fn is_served(ctx: &ControllerContext, watched: &Watched) -> bool {
    let (api_version, kind) = (&watched.kind.api_version, &watched.kind.kind);
    let found = ctx.kinds.find(api_version, kind).await;
    !matches!(found, Err(DiscoveryError::Unknown { .. }))
}

async fn enqueue(ctx: &ControllerContext, keys: Vec<RunnableKey>) {
    let portion = keys.len().div_ceil(PORTIONS).max(AT_ONCE);
    for (number, keys) in keys.chunks(portion).enumerate() {
        if number > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        for key in keys {
            ctx.enqueuer.enqueue(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{MOST, ReferenceChange, RequeueTask, Requeues, lock};

    fn permissions(namespace: &str) -> ReferenceChange {
        ReferenceChange::Permissions(Some(namespace.to_owned()))
    }

    fn begun(requeues: &Arc<Requeues>, reference: &ReferenceChange) -> RequeueTask {
        let task = requeues.begin(reference.clone()).unwrap();
        assert_eq!(task.reference, *reference);
        task
    }

    #[test]
    fn what_comes_while_it_is_told_of_is_told_of_once_more() {
        let requeues = Arc::new(Requeues::default());
        let mut first = begun(&requeues, &permissions("a"));
        assert!(requeues.begin(permissions("a")).is_none());
        let _other = begun(&requeues, &permissions("b"));
        first.gathered();
        assert!(requeues.begin(permissions("a")).is_none());
        assert!(!first.end_if_idle());
        first.gathered();
        assert!(first.end_if_idle());
        let _second = begun(&requeues, &permissions("a"));
        drop(first);
        assert!(
            requeues.begin(permissions("a")).is_none(),
            "the second has it"
        );
    }

    #[tokio::test]
    async fn what_a_task_told_of_that_panicked_is_told_of_by_the_next() {
        let requeues = Arc::new(Requeues::default());
        let task = begun(&requeues, &permissions("a"));
        let task = tokio::spawn(async move {
            let _held = task;
            panic!("a mistake");
        });
        assert!(task.await.is_err());
        begun(&requeues, &permissions("a"));
    }

    #[test]
    fn a_burst_over_many_namespaces_is_one_for_all() {
        let requeues = Arc::new(Requeues::default());
        let namespaces = 0..MOST;
        let _all: Vec<RequeueTask> = namespaces
            .map(|namespace| begun(&requeues, &permissions(&namespace.to_string())))
            .collect();
        let more = requeues.begin(permissions("more")).unwrap();
        assert_eq!(more.reference, ReferenceChange::Permissions(None));
        assert!(requeues.begin(permissions("other")).is_none());
        assert_eq!(lock(&requeues.under_way).len(), MOST + 1);
    }
}
