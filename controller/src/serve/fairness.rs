//! No namespace keeps the others waiting: how many of its Runnables are looked at at the same time
//! depends on how many namespaces have work. Within a namespace changes are begun before results are
//! recorded, so that when many change at once the last run does not begin after the first has been
//! brought to its end.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{memory::RunnableKey, watch::Wakes};

/// Who was sent away comes again after this time at the latest; mostly it is called before.
pub(super) const AGAIN: Duration = Duration::from_secs(5);

/// After so many Runnables with a change comes one without, so that results always get through.
const CHANGES_IN_A_ROW: u32 = 3;

/// Lets looks begin, or sends them away until it is their namespace's turn.
#[derive(Clone)]
pub(super) struct Fairness {
    inner: Arc<Mutex<Inner>>,
    wakes: Wakes,
}

struct Inner {
    /// Looks of all namespaces together. A quarter of what may go on at the same time stays free for
    /// namespaces that had no work until now.
    shared: usize,
    namespaces: HashMap<String, Namespace>,
}

#[derive(Default)]
struct Namespace {
    /// Looks that go on.
    busy: usize,
    /// Names of Runnables that were sent away, in their order: those whose spec has changed, and the
    /// others.
    changed: VecDeque<String>,
    others: VecDeque<String>,
    known: HashSet<String>,
    /// Those that were called and have not come yet.
    called: HashSet<String>,
    /// How many with a change were called in a row.
    row: u32,
}

impl Fairness {
    /// For so many looks at the same time.
    pub(super) fn new(concurrency: u16, wakes: Wakes) -> Self {
        let concurrency = usize::from(concurrency);
        let inner = Inner {
            shared: concurrency - concurrency / 4,
            namespaces: HashMap::new(),
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
            wakes,
        }
    }

    /// A look may go on while the turn is kept. `None` if its namespace has its share already: then
    /// the Runnable is woken when one of them has ended.
    pub(super) fn turn(&self, key: &RunnableKey, changed: bool) -> Option<Turn> {
        let mut inner = self.lock();
        let share = inner.share(&key.namespace);
        let namespace = inner.namespaces.entry(key.namespace.clone()).or_default();
        if namespace.begins(&key.name, changed, share) {
            return Some(Turn {
                fairness: self.clone(),
                namespace: key.namespace.clone(),
            });
        }
        None
    }

    fn end(&self, name: &str) {
        let mut inner = self.lock();
        let share = inner.share(name);
        let Some(namespace) = inner.namespaces.get_mut(name) else {
            return;
        };
        namespace.busy -= 1;
        let called = namespace.call(share.saturating_sub(namespace.busy));
        if namespace.busy == 0 && namespace.changed.is_empty() && namespace.others.is_empty() {
            inner.namespaces.remove(name);
        }
        drop(inner);
        for called in called {
            self.wakes.wake(&RunnableKey {
                namespace: name.to_owned(),
                name: called,
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// How many looks a namespace may have, among those that have any.
    fn share(&self, name: &str) -> usize {
        let others = self
            .namespaces
            .iter()
            .filter(|(other, namespace)| namespace.busy > 0 && *other != name);
        (self.shared / (others.count() + 1)).max(1)
    }
}

impl Namespace {
    /// Whether a look begins now; if not, it waits.
    fn begins(&mut self, name: &str, changed: bool, share: usize) -> bool {
        let called = self.called.remove(name);
        if self.busy < share {
            self.busy += 1;
            self.known.remove(name);
            return true;
        }
        if self.known.insert(name.to_owned()) {
            let queue = if changed {
                &mut self.changed
            } else {
                &mut self.others
            };
            // Another was quicker: the place is kept.
            if called {
                queue.push_front(name.to_owned());
            } else {
                queue.push_back(name.to_owned());
            }
        }
        false
    }

    /// Takes the first who wait. Those that had their turn meanwhile do not wait any more.
    fn call(&mut self, most: usize) -> Vec<String> {
        let mut called = Vec::new();
        while called.len() < most
            && let Some(name) = self.next()
        {
            if self.known.remove(&name) {
                self.called.insert(name.clone());
                called.push(name);
            }
        }
        called
    }

    fn next(&mut self) -> Option<String> {
        if self.row >= CHANGES_IN_A_ROW
            && let Some(other) = self.others.pop_front()
        {
            self.row = 0;
            return Some(other);
        }
        let changed = self.changed.pop_front();
        if changed.is_some() {
            self.row += 1;
        }
        changed.or_else(|| self.others.pop_front())
    }
}

/// A look goes on.
pub(super) struct Turn {
    fairness: Fairness,
    namespace: String,
}

impl Turn {
    /// Whether other Runnables of the namespace wait with a change.
    pub(super) fn others_wait(&self) -> bool {
        let inner = self.fairness.lock();
        inner
            .namespaces
            .get(&self.namespace)
            .is_some_and(|namespace| !namespace.changed.is_empty())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.fairness.end(&self.namespace);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(namespace: &str, name: usize) -> RunnableKey {
        RunnableKey {
            namespace: namespace.to_owned(),
            name: name.to_string(),
        }
    }

    fn fairness(
        concurrency: u16,
    ) -> (
        Fairness,
        tokio::sync::mpsc::UnboundedReceiver<
            kube::runtime::reflector::ObjectRef<cartouche_crds::Runnable>,
        >,
    ) {
        let (wakes, woken) = Wakes::new();
        (Fairness::new(concurrency, wakes), woken)
    }

    #[test]
    fn a_namespace_alone_has_three_quarters_of_all_looks() {
        let (fairness, _woken) = fairness(16);
        let turns: Vec<_> = (0..100)
            .filter_map(|name| fairness.turn(&key("many", name), true))
            .collect();
        assert_eq!(turns.len(), 12);
        assert!(fairness.turn(&key("one", 0), true).is_some());
    }

    #[test]
    fn namespaces_with_work_share_alike() {
        let (fairness, _woken) = fairness(16);
        let first = fairness.turn(&key("a", 0), true);
        let others: Vec<_> = (0..100)
            .filter_map(|name| fairness.turn(&key("b", name), true))
            .collect();
        assert_eq!((first.is_some(), others.len()), (true, 6));
        let (fairness, _woken) = super::tests::fairness(1);
        let turns = ["a", "b", "c"].map(|namespace| fairness.turn(&key(namespace, 0), true));
        assert!(turns.iter().all(Option::is_some), "nobody is shut out");
    }

    #[test]
    fn whoever_was_sent_away_is_woken_in_turn_and_once() {
        let (fairness, mut woken) = fairness(4);
        let turns: Vec<_> = (0..3)
            .map(|name| fairness.turn(&key("many", name), true))
            .collect();
        assert!(turns.iter().all(Option::is_some));
        for name in [3, 4, 3] {
            assert!(fairness.turn(&key("many", name), true).is_none());
        }
        drop(turns);
        let mut names = Vec::new();
        while let Ok(reference) = woken.try_recv() {
            names.push(reference.name);
        }
        assert_eq!(names, ["3", "4"]);
        assert!(fairness.lock().namespaces.is_empty(), "nothing is left");
    }

    #[test]
    fn whoever_had_its_turn_meanwhile_is_not_woken_for_it() {
        let (fairness, mut woken) = fairness(2);
        let first = [0, 1].map(|name| fairness.turn(&key("many", name), true));
        assert!(fairness.turn(&key("many", 2), true).is_none());
        let [zero, one] = first;
        drop(zero);
        assert_eq!(
            woken.try_recv().ok().map(|it| it.name),
            Some("2".to_owned())
        );
        let two = fairness.turn(&key("many", 2), true);
        assert!(two.is_some());
        drop((one, two));
        assert!(woken.try_recv().is_err());
    }

    #[test]
    fn changes_go_first_and_results_still_get_through() {
        let (fairness, mut woken) = fairness(1);
        let first = fairness.turn(&key("many", 0), true);
        for name in 1..=6 {
            assert!(fairness.turn(&key("many", name), name > 2).is_none());
        }
        let mut names = Vec::new();
        let mut turn = first;
        for _ in 0..6 {
            drop(turn.take());
            let name = woken.try_recv().unwrap().name;
            let key = RunnableKey {
                namespace: "many".to_owned(),
                name: name.clone(),
            };
            turn = fairness.turn(&key, false);
            assert!(turn.is_some(), "whoever is called begins");
            names.push(name);
        }
        assert_eq!(names, ["3", "4", "5", "1", "6", "2"]);
    }

    #[test]
    fn a_look_knows_whether_others_of_its_namespace_wait_with_a_change() {
        let (fairness, _woken) = fairness(1);
        let turn = fairness.turn(&key("many", 0), true).unwrap();
        assert!(!turn.others_wait());
        assert!(fairness.turn(&key("many", 1), false).is_none());
        assert!(!turn.others_wait(), "a result can wait as well");
        let elsewhere = fairness.turn(&key("one", 0), true).unwrap();
        assert!(fairness.turn(&key("many", 2), true).is_none());
        assert!(turn.others_wait());
        assert!(!elsewhere.others_wait());
    }

    #[test]
    fn whoever_was_called_and_overtaken_keeps_its_place() {
        let (fairness, mut woken) = fairness(1);
        let first = fairness.turn(&key("many", 0), true);
        assert!(fairness.turn(&key("many", 1), true).is_none());
        assert!(fairness.turn(&key("many", 2), true).is_none());
        drop(first);
        let overtaking = fairness.turn(&key("many", 3), true);
        assert!(overtaking.is_some());
        assert!(fairness.turn(&key("many", 1), true).is_none());
        drop(overtaking);
        let names: Vec<_> = std::iter::from_fn(|| woken.try_recv().ok())
            .map(|reference| reference.name)
            .collect();
        assert_eq!(names, ["1", "1"]);
    }
}
