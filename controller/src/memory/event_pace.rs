//! Pace of lists of events. An API server keeps no copy of events in its memory: each list reads those of the whole
//! namespace.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Mutex,
    time::Duration,
};

use crate::lock::lock;

/// Least time between two lists of one namespace.
const BETWEEN: Duration = Duration::from_secs(10);
/// Time for which an account that may not list events does not try again: that permission is optional, and hardly
/// granted soon.
const AFTER_REFUSAL: Duration = Duration::from_hours(1);
/// Maximum number of refusals that are kept.
const MOST_REFUSALS: usize = 1_000;

/// Times of the last lists.
#[derive(Debug, Default)]
pub struct EventPace(Mutex<Times>);

#[derive(Debug, Default)]
struct Times {
    /// Time of the last list, by namespace.
    lists: HashMap<String, Duration>,
    /// Time of the last refusal, by namespace and account.
    refusals: BTreeMap<(String, String), Duration>,
}

impl EventPace {
    /// Returns true if the events of a namespace may be listed now, which counts as listing them.
    pub fn try_list(&self, namespace: &str, now: Duration) -> bool {
        let mut times = lock(&self.0);
        let lists = &mut times.lists;
        lists.retain(|_, at| now < at.saturating_add(BETWEEN));
        let is_free = !lists.contains_key(namespace);
        if is_free {
            lists.insert(namespace.to_owned(), now);
        }
        is_free
    }

    /// Returns true while an account does not list events, since they were refused.
    pub fn is_refused(&self, namespace: &str, account: &str, now: Duration) -> bool {
        let of = (namespace.to_owned(), account.to_owned());
        let refused = lock(&self.0).refusals.get(&of).copied();
        refused.is_some_and(|at| now < at.saturating_add(AFTER_REFUSAL))
    }

    /// Records that this account may not list the events of the namespace. Other accounts may list them at once.
    pub fn record_refusal(&self, namespace: &str, account: &str, now: Duration) {
        let mut times = lock(&self.0);
        times.lists.remove(namespace);
        let refusals = &mut times.refusals;
        refusals.retain(|_, at| now < at.saturating_add(AFTER_REFUSAL));
        if refusals.len() >= MOST_REFUSALS {
            refusals.pop_first();
        }
        refusals.insert((namespace.to_owned(), account.to_owned()), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_namespace_has_a_list_in_so_many_seconds() {
        let pace = EventPace::default();
        let may = |namespace: &str, seconds| pace.try_list(namespace, Duration::from_secs(seconds));
        assert!(may("a", 1));
        assert!(!may("a", 2) && may("b", 2));
        assert!(!may("a", 10) && may("a", 11) && !may("a", 11));
        assert_eq!(pace.0.lock().unwrap().lists.len(), 2);
        assert!(may("c", 100));
        assert_eq!(pace.0.lock().unwrap().lists.len(), 1);
    }

    #[test]
    fn a_refusal_holds_for_its_account_and_takes_no_list_from_another() {
        let pace = EventPace::default();
        let now = Duration::from_secs(1);
        assert!(pace.try_list("a", now));
        pace.record_refusal("a", "default", now);
        assert!(pace.is_refused("a", "default", now));
        assert!(!pace.is_refused("a", "builder", now) && !pace.is_refused("b", "default", now));
        assert!(pace.try_list("a", now));
        let later = now + AFTER_REFUSAL;
        assert!(!pace.is_refused("a", "default", later));
        for account in 0..=MOST_REFUSALS {
            pace.record_refusal("a", &account.to_string(), later);
        }
        assert_eq!(pace.0.lock().unwrap().refusals.len(), MOST_REFUSALS);
    }
}
