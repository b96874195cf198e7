//! Budget of one reconciliation for trees of values that others wrote. Only one reconciliation may hold much.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use cartouche_language::{
    bounds::{LIGHT, MAX_WEIGHT, takes},
    weight::{in_mib, most_weight, weight_of_text},
};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use crate::lock::lock;

/// The place of the one reconciliation that may hold more than [`LIGHT`].
#[derive(Clone)]
pub struct HeavyPlace(Arc<Semaphore>);

impl Default for HeavyPlace {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl HeavyPlace {
    /// Waits for the place, first come, first served.
    pub async fn wait(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        self.0.clone().acquire_owned().await.ok()
    }
}

/// Purpose of what is held. A new value for a purpose replaces the former one.
#[derive(Clone, Copy)]
pub(crate) enum HeldFor {
    /// Rendering of the template: inputs, the selected object, and what inputs come from.
    Rendering,
    /// Comparison of runs: what was listed of them.
    Runs,
    /// Writing of sinks: what was read of them.
    Sinks,
}

/// Error: with what is held already, something weighs more than [`MAX_WEIGHT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooHeavy {
    /// Weight of the new part.
    own: usize,
    /// Weight of everything.
    all: usize,
}

impl fmt::Display for TooHeavy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { own, all } = *self;
        if own == all {
            return f.write_str(&takes(own, MAX_WEIGHT));
        }
        let takes = takes(all, MAX_WEIGHT);
        write!(f, "of {} {takes}, with what is held beside it", in_mib(own))
    }
}

/// Weights that one reconciliation holds, and its place if it has one.
pub(crate) struct Budget {
    heavy: HeavyPlace,
    place: OnceCell<OwnedSemaphorePermit>,
    held: Mutex<[usize; 3]>,
    is_heavy: AtomicBool,
}

impl Budget {
    /// Creates an empty budget; the place may be taken already.
    pub(crate) fn new(heavy: HeavyPlace, place: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            heavy,
            place: OnceCell::new_with(place),
            held: Mutex::default(),
            is_heavy: AtomicBool::new(false),
        }
    }

    /// Releases what was held for this purpose.
    pub(crate) fn renew(&self, held_for: HeldFor) {
        lock(&self.held)[held_for as usize] = 0;
    }

    /// Holds something of this weight until the end, once there is a place for it.
    pub(crate) async fn hold(&self, held_for: HeldFor, weight: usize) -> Result<(), TooHeavy> {
        let all = {
            let mut held = lock(&self.held);
            let all = held.iter().sum::<usize>().saturating_add(weight);
            if all <= MAX_WEIGHT {
                held[held_for as usize] += weight;
            }
            all
        };
        if all > MAX_WEIGHT {
            return Err(TooHeavy { own: weight, all });
        }
        self.pass(all).await;
        Ok(())
    }

    /// Waits until there is a place for something of this weight, which is read and soon dropped. The holder of the
    /// place does not wait.
    pub(crate) async fn pass(&self, weight: usize) {
        if weight <= LIGHT {
            return;
        }
        self.is_heavy.store(true, Ordering::Relaxed);
        let wait = async || self.heavy.wait().await.ok_or(());
        let _ = self.place.get_or_try_init(wait).await;
    }

    /// Makes something once there is a place for it. A reconciliation that waits for the place holds none of it, and
    /// makes it again.
    pub(crate) async fn in_place<T, E>(
        &self,
        make: impl Fn() -> Result<T, E>,
        weigh: impl Fn(&T) -> usize,
    ) -> Result<T, E> {
        let first = make()?;
        let weight = weigh(&first);
        let waits = weight > LIGHT && !self.has_place();
        let first = (!waits).then_some(first);
        self.pass(weight).await;
        first.map_or_else(make, Ok)
    }

    /// Returns true if the reconciliation has the place.
    pub(crate) fn has_place(&self) -> bool {
        self.place.initialized()
    }

    /// Returns true if the place was needed: it is taken before the next reconciliation begins.
    pub(crate) fn was_heavy(&self) -> bool {
        self.is_heavy.load(Ordering::Relaxed)
    }
}

/// Fails if a text weighs more than the controller reads.
pub(crate) fn check_weight(text: &str) -> serde_json::Result<()> {
    if most_weight(text.len()) <= MAX_WEIGHT {
        return Ok(());
    }
    match weight_of_text(text)? {
        weight if weight > MAX_WEIGHT => {
            let takes = takes(weight, MAX_WEIGHT);
            Err(serde::de::Error::custom(format!("it {takes}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn hold(budget: &Budget, weight: usize) -> Option<Result<(), TooHeavy>> {
        budget.hold(HeldFor::Rendering, weight).now_or_never()
    }

    #[test]
    fn one_at_a_time_holds_much_and_any_number_little() {
        let heavy = HeavyPlace::default();
        let budgets = [(); 3].map(|()| Budget::new(heavy.clone(), None));
        for budget in &budgets {
            assert_eq!(hold(budget, LIGHT), Some(Ok(())));
            assert!(!budget.was_heavy());
        }
        let [first, second, third] = budgets;
        assert_eq!(hold(&first, 1), Some(Ok(())));
        assert_eq!(hold(&first, LIGHT), Some(Ok(())), "it has the place");
        assert!(first.was_heavy());
        assert_eq!(hold(&second, 1), None);
        assert!(third.pass(LIGHT + 1).now_or_never().is_none());
        assert!(heavy.wait().now_or_never().is_none());
        drop(first);
        assert!(third.pass(LIGHT + 1).now_or_never().is_some());
        drop(third);
        let place = heavy.wait().now_or_never().flatten();
        let begun = Budget::new(heavy.clone(), place);
        assert!(begun.pass(LIGHT + 1).now_or_never().is_some());
    }

    #[test]
    fn what_is_held_together_is_bounded_and_what_is_read_anew_counts_once() {
        let budget = Budget::new(HeavyPlace::default(), None);
        for _ in 0..4 {
            assert_eq!(hold(&budget, MAX_WEIGHT / 4), Some(Ok(())));
        }
        let refused = hold(&budget, 5).unwrap().unwrap_err();
        assert_eq!((refused.own, refused.all), (5, MAX_WEIGHT + 5));
        let said = "of 0.1 MiB takes 16.1 MiB of memory as a tree of values, more than 16 MiB, with what is held beside it";
        assert_eq!(refused.to_string(), said);
        let runs = budget.hold(HeldFor::Runs, 1).now_or_never();
        assert!(matches!(runs, Some(Err(_))));
        budget.renew(HeldFor::Runs);
        assert!(matches!(hold(&budget, 1), Some(Err(_))));
        budget.renew(HeldFor::Rendering);
        assert_eq!(hold(&budget, MAX_WEIGHT), Some(Ok(())));
    }

    #[test]
    fn a_text_that_is_too_heavy_is_refused_before_it_is_a_tree() {
        let text = format!("[{}1]", r#"{"":1},"#.repeat(40_000));
        let refused = check_weight(&text).unwrap_err().to_string();
        assert!(
            refused.contains("MiB of memory as a tree of values, more than 16 MiB"),
            "{refused}"
        );
        assert!(check_weight(&format!("\"{}\"", "x".repeat(1 << 20))).is_ok());
    }
}
