//! How much of what others wrote one reconciliation holds as trees of values, and that only one holds much.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use cartouche_templating::{
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
    /// The place, once those have had it that have waited for longer.
    pub async fn wait(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed.
        self.0.clone().acquire_owned().await.ok()
    }
}

/// What something is held for. What was held for the same before makes room for it.
#[derive(Clone, Copy)]
pub(crate) enum HeldFor {
    /// To render the template: inputs, the selected object, and what inputs come from.
    Rendering,
    /// To compare runs: what was listed of them.
    Runs,
    /// To write sinks: what was read of them.
    Sinks,
}

/// There is no room for something: with what is held already it weighs more than [`MAX_WEIGHT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooHeavy {
    /// What it weighs.
    own: usize,
    /// What all of it does.
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

/// What one reconciliation holds, and whether it has the place for much.
pub(crate) struct Budget {
    heavy: HeavyPlace,
    place: OnceCell<OwnedSemaphorePermit>,
    held: Mutex<[usize; 3]>,
    is_heavy: AtomicBool,
}

impl Budget {
    /// Nothing is held yet; the place may be had already.
    pub(crate) fn new(heavy: HeavyPlace, place: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            heavy,
            place: OnceCell::new_with(place),
            held: Mutex::default(),
            is_heavy: AtomicBool::new(false),
        }
    }

    /// Nothing that was held for this is needed any more.
    pub(crate) fn renew(&self, held_for: HeldFor) {
        lock(&self.held)[held_for as usize] = 0;
    }

    /// Something of this weight is held until the end, once there is a place for it.
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

    /// Something of this weight is read, and let go soon: waits until there is a place for it. Who has the place waits for nothing.
    pub(crate) async fn pass(&self, weight: usize) {
        if weight <= LIGHT {
            return;
        }
        self.is_heavy.store(true, Ordering::Relaxed);
        let wait = async || self.heavy.wait().await.ok_or(());
        let _ = self.place.get_or_try_init(wait).await;
    }

    /// Something that is made once there is a place for it. Who waits for the place holds none of it, and makes it again.
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

    /// Whether it has the place for much.
    pub(crate) fn has_place(&self) -> bool {
        self.place.initialized()
    }

    /// Whether the place was needed: it is taken before the next reconciliation begins.
    pub(crate) fn was_heavy(&self) -> bool {
        self.is_heavy.load(Ordering::Relaxed)
    }
}

/// Fails if a text weighs more than is read.
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
