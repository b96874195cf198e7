//! Rights and definitions that come: who waits for them tries again.
//!
//! They come in bursts, and the API server's authorizer and discovery may be behind the event that told
//! of them. So what one event may cure is tried a moment later, once for all events that came meanwhile, and
//! again a little after that.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use cartouche_protocol::reconcile_error::Requeue;

use crate::{
    discovery::DiscoveryError,
    reconcile::Context,
    runnable_key::RunnableKey,
    watch::{Watched, references::Reference},
};

/// For how long events are gathered.
const GATHERED: Duration = Duration::from_millis(100);
/// When it is tried again, in seconds after the time before.
const AFTER_RIGHTS: &[u64] = &[2];
const AFTER_DEFINITIONS: &[u64] = &[1, 2, 5];
/// References that are told apart at most; more are taken for all of their sort.
const MOST: usize = 32;
/// Runnables that are enqueued at once at least, and the pause between so many: nobody's own wait is
/// noticed, and thousands do not come together.
const AT_ONCE: usize = 50;
const PORTIONS: usize = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// The references that are being told of, and whether another event of each has come since.
#[derive(Default)]
pub(super) struct Requeues {
    under_way: Mutex<HashMap<Reference, bool>>,
}

impl Requeues {
    /// An event may have cured what some wait for.
    pub(super) fn tell(self: &Arc<Self>, ctx: &Arc<Context>, reference: Reference) {
        let Some(mut telling) = self.begin(reference) else {
            return;
        };
        let ctx = ctx.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(GATHERED).await;
                telling.gathered();
                requeue(&ctx, &telling.reference).await;
                let pauses = match telling.reference {
                    Reference::Definition(_) => AFTER_DEFINITIONS,
                    Reference::Rights(_) | Reference::Accounts(_) => AFTER_RIGHTS,
                };
                for pause in pauses {
                    tokio::time::sleep(Duration::from_secs(*pause)).await;
                    requeue(&ctx, &telling.reference).await;
                }
                if telling.is_over() {
                    break;
                }
            }
        });
    }

    /// The reference that a task has to tell of; `None` if one does already, and does it again.
    fn begin(self: &Arc<Self>, reference: Reference) -> Option<Telling> {
        let mut under_way = self.lock();
        let every = match &reference {
            Reference::Rights(_) => Reference::Rights(None),
            Reference::Definition(_) => Reference::Definition(None),
            Reference::Accounts(_) => return None,
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
        Some(Telling {
            requeues: self.clone(),
            reference,
            is_over: false,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Reference, bool>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reference that a task tells of, until it is over or the task ends otherwise: the next event of the same
/// begins another.
struct Telling {
    requeues: Arc<Requeues>,
    reference: Reference,
    is_over: bool,
}

impl Telling {
    /// What has come until now is told of next.
    fn gathered(&self) {
        if let Some(again) = self.requeues.lock().get_mut(&self.reference) {
            *again = false;
        }
    }

    /// Whether nothing has come since.
    fn is_over(&mut self) -> bool {
        let mut under_way = self.requeues.lock();
        let again = under_way.get(&self.reference).copied().unwrap_or_default();
        if !again {
            under_way.remove(&self.reference);
            // Another task may tell of it from now on.
            self.is_over = true;
        }
        !again
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        if !self.is_over {
            self.requeues.lock().remove(&self.reference);
        }
    }
}

async fn requeue(ctx: &Context, reference: &Reference) {
    match reference {
        Reference::Accounts(_) => {}
        Reference::Rights(namespace) => {
            let waiting_for = ctx
                .memories
                .waiting_for(Requeue::OnRbac, namespace.as_deref());
            enqueue(ctx, waiting_for).await;
        }
        Reference::Definition(name) => {
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

/// Whether the very version that is watched is served still: if not, its objects may be seen in another.
async fn is_served(ctx: &Context, watched: &Watched) -> bool {
    let (api_version, kind) = (&watched.kind.api_version, &watched.kind.kind);
    let found = ctx.kinds.find(api_version, kind).await;
    !matches!(found, Err(DiscoveryError::Unknown { .. }))
}

async fn enqueue(ctx: &Context, keys: Vec<RunnableKey>) {
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

    use super::{MOST, Reference, Requeues, Telling};

    fn rights(namespace: &str) -> Reference {
        Reference::Rights(Some(namespace.to_owned()))
    }

    fn begun(requeues: &Arc<Requeues>, reference: &Reference) -> Telling {
        let telling = requeues.begin(reference.clone()).unwrap();
        assert_eq!(telling.reference, *reference);
        telling
    }

    #[test]
    fn what_comes_while_it_is_told_of_is_told_of_once_more() {
        let requeues = Arc::new(Requeues::default());
        let mut first = begun(&requeues, &rights("a"));
        assert!(requeues.begin(rights("a")).is_none());
        let _other = begun(&requeues, &rights("b"));
        first.gathered();
        assert!(requeues.begin(rights("a")).is_none());
        assert!(!first.is_over());
        first.gathered();
        assert!(first.is_over());
        let _second = begun(&requeues, &rights("a"));
        drop(first);
        assert!(
            requeues.begin(rights("a")).is_none(),
            "the second tells of it"
        );
    }

    #[tokio::test]
    async fn what_a_task_told_of_that_panicked_is_told_of_by_the_next() {
        let requeues = Arc::new(Requeues::default());
        let telling = begun(&requeues, &rights("a"));
        let task = tokio::spawn(async move {
            let _telling = telling;
            panic!("a mistake");
        });
        assert!(task.await.is_err());
        begun(&requeues, &rights("a"));
    }

    #[test]
    fn a_burst_over_many_namespaces_is_one_for_all() {
        let requeues = Arc::new(Requeues::default());
        let namespaces = 0..MOST;
        let _all: Vec<Telling> = namespaces
            .map(|namespace| begun(&requeues, &rights(&namespace.to_string())))
            .collect();
        let more = requeues.begin(rights("more")).unwrap();
        assert_eq!(more.reference, Reference::Rights(None));
        assert!(requeues.begin(rights("other")).is_none());
        assert_eq!(requeues.lock().len(), MOST + 1);
    }
}
