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

use crate::{
    discovery::DiscoveryError,
    memory::RunnableKey,
    problem::Cure,
    reconcile::Reconciler,
    watch::{Watched, references::Reference},
};

/// For how long events are gathered.
const GATHERED: Duration = Duration::from_millis(100);
/// When it is tried again, in seconds after the time before.
const AFTER_RIGHTS: &[u64] = &[2];
const AFTER_DEFINITIONS: &[u64] = &[1, 2, 5];
/// References that are told apart at most; more are taken for all of their sort.
const MOST: usize = 32;
/// Runnables that are woken at once at least, and the pause between so many: nobody's own wait is
/// noticed, and thousands do not come together.
const AT_ONCE: usize = 50;
const PORTIONS: usize = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// The references that are being told of, and whether another event of each has come since.
#[derive(Default)]
pub(super) struct Cures {
    under_way: Mutex<HashMap<Reference, bool>>,
}

impl Cures {
    /// An event may have cured what some wait for.
    pub(super) fn tell(self: &Arc<Self>, reconciler: &Arc<Reconciler>, reference: Reference) {
        let Some(reference) = self.begin(reference) else {
            return;
        };
        let (cures, reconciler) = (self.clone(), reconciler.clone());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(GATHERED).await;
                cures.gathered(&reference);
                cure(&reconciler, &reference).await;
                let pauses = match reference {
                    Reference::Definition(_) => AFTER_DEFINITIONS,
                    Reference::Rights(_) | Reference::Accounts(_) => AFTER_RIGHTS,
                };
                for pause in pauses {
                    tokio::time::sleep(Duration::from_secs(*pause)).await;
                    cure(&reconciler, &reference).await;
                }
                if cures.is_over(&reference) {
                    break;
                }
            }
        });
    }

    /// The reference that a task has to tell of; `None` if one does already, and does it again.
    fn begin(&self, reference: Reference) -> Option<Reference> {
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
        Some(reference)
    }

    /// What has come until now is told of next.
    fn gathered(&self, reference: &Reference) {
        if let Some(again) = self.lock().get_mut(reference) {
            *again = false;
        }
    }

    /// Whether nothing has come since.
    fn is_over(&self, reference: &Reference) -> bool {
        let mut under_way = self.lock();
        let again = under_way.get(reference).copied().unwrap_or_default();
        if !again {
            under_way.remove(reference);
        }
        !again
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Reference, bool>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

async fn cure(reconciler: &Reconciler, reference: &Reference) {
    match reference {
        Reference::Accounts(_) => {}
        Reference::Rights(namespace) => {
            let cured = reconciler.memories.cured(Cure::Right, namespace.as_deref());
            wake(reconciler, cured).await;
        }
        Reference::Definition(name) => {
            reconciler.kinds.forget_all();
            wake(reconciler, reconciler.memories.cured(Cure::Kind, None)).await;
            for watched in reconciler.watches.open() {
                let concerns = |name: &String| *name == watched.kind.resource();
                if name.as_ref().is_none_or(concerns) && !is_served(reconciler, &watched).await {
                    wake(reconciler, reconciler.watches.users(&watched)).await;
                }
            }
        }
    }
}

/// Whether the very version that is watched is served still: if not, its objects may be seen in another.
async fn is_served(reconciler: &Reconciler, watched: &Watched) -> bool {
    let (api_version, kind) = (&watched.kind.api_version, &watched.kind.kind);
    let found = reconciler.kinds.find(api_version, kind).await;
    !matches!(found, Err(DiscoveryError::Unknown { .. }))
}

async fn wake(reconciler: &Reconciler, keys: Vec<RunnableKey>) {
    let portion = keys.len().div_ceil(PORTIONS).max(AT_ONCE);
    for (number, keys) in keys.chunks(portion).enumerate() {
        if number > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        for key in keys {
            reconciler.wakes.wake(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cures, MOST, Reference};

    fn rights(namespace: &str) -> Reference {
        Reference::Rights(Some(namespace.to_owned()))
    }

    #[test]
    fn what_comes_while_it_is_told_of_is_told_of_once_more() {
        let cures = Cures::default();
        assert_eq!(cures.begin(rights("a")), Some(rights("a")));
        assert_eq!(cures.begin(rights("a")), None);
        assert_eq!(cures.begin(rights("b")), Some(rights("b")));
        cures.gathered(&rights("a"));
        assert_eq!(cures.begin(rights("a")), None);
        assert!(!cures.is_over(&rights("a")));
        cures.gathered(&rights("a"));
        assert!(cures.is_over(&rights("a")));
        assert_eq!(cures.begin(rights("a")), Some(rights("a")));
    }

    #[test]
    fn a_burst_over_many_namespaces_is_one_for_all() {
        let cures = Cures::default();
        for namespace in 0..MOST {
            assert!(cures.begin(rights(&namespace.to_string())).is_some());
        }
        assert_eq!(cures.begin(rights("more")), Some(Reference::Rights(None)));
        assert_eq!(cures.begin(rights("other")), None);
        assert_eq!(cures.lock().len(), MOST + 1);
    }
}
