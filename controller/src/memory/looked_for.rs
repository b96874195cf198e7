//! Earlier runs that were looked for.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

/// Earlier runs, by uid, that no watch shows, with the time of the last read. That read showed only that the run
/// exists, or was not allowed. On the clock that goes on while the machine sleeps.
#[derive(Debug, Default)]
pub struct LookedFor(HashMap<String, Duration>);

impl LookedFor {
    /// Records that these were looked for.
    pub fn add(&mut self, uids: impl IntoIterator<Item = String>, now: Duration) {
        self.0.extend(uids.into_iter().map(|uid| (uid, now)));
    }

    /// Returns those that were looked for within the last `pause`, and need not be again. Forgets older ones.
    pub fn lately(&mut self, pause: Duration, now: Duration) -> BTreeSet<String> {
        self.0.retain(|_, at| *at + pause > now);
        self.0.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_for_is_left_alone_for_a_while_and_then_forgotten() {
        let (mut looked_for, pause) = (LookedFor::default(), Duration::from_mins(10));
        let now = Duration::from_hours(1);
        looked_for.add(["a".to_owned()], now);
        let later = now + Duration::from_secs(1);
        looked_for.add(["b".to_owned()], later);
        let both = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        assert_eq!(looked_for.lately(pause, later), both);
        let second = BTreeSet::from(["b".to_owned()]);
        assert_eq!(looked_for.lately(pause, now + pause), second);
        assert_eq!(looked_for.lately(pause, later + pause), BTreeSet::new());
        assert!(looked_for.0.is_empty());
    }
}
