//! Time for which a change has been pending. A restart begins it anew.

use std::time::Duration;

use cartouche_protocol::facts::Settling;

/// The pending change, and the times that decide its debounce.
#[derive(Debug, Default)]
pub struct Changes {
    /// The number that it would get, and a digest of its document and request.
    due: Option<(i64, u64)>,
    since: Duration,
    /// Time since which changes are held back, one after the other.
    first: Duration,
    /// Time since which only something else than the debounce holds back the pending change.
    let_go: Option<Duration>,
    /// Time since which the pending change cannot be determined.
    unknown: Option<Duration>,
}

impl Changes {
    /// Records the pending change, if there is one, which has to stay the same for `pause`. Returns how long it has,
    /// and how long changes are held back.
    pub fn record(&mut self, due: Option<(i64, u64)>, pause: Duration, now: Duration) -> Settling {
        let number = |due: Option<(i64, u64)>| due.map(|(number, _)| number);
        if due.is_none() || number(due) != number(self.due) {
            *self = Self {
                due,
                since: now,
                first: now,
                ..Self::default()
            };
        }
        let unknown = self.unknown.take();
        if let Some(unknown) = unknown {
            self.first += now.saturating_sub(unknown);
        }
        if self.due != due {
            self.changed(pause, now, unknown.unwrap_or(now));
            (self.due, self.since) = (due, now);
        }
        let settling = Settling {
            same_for: now.saturating_sub(self.since),
            held_for: now.saturating_sub(self.first),
        };
        if settling.time_left(pause).is_zero() {
            self.let_go.get_or_insert(now);
        }
        settling
    }

    /// Records another pending change. One that was free but waited for something else, such as approval, was not held
    /// back by its changes: its pause may have ended without a look. A run that nothing else holds back begins within
    /// the pause, in which another change starts nothing anew.
    fn changed(&mut self, pause: Duration, now: Duration, known_until: Duration) {
        let settled = self.since.saturating_add(pause);
        if settled <= known_until {
            self.let_go = Some(self.let_go.map_or(settled, |at| at.min(settled)));
        }
        let waits_elsewhere = |at: Duration| now.saturating_sub(at) >= pause;
        if self.let_go.is_some_and(waits_elsewhere) {
            (self.first, self.let_go) = (now, None);
        }
    }

    /// Records that the pending change cannot be determined. If it is the same afterwards, it was all the time; else
    /// that time does not count.
    pub fn record_unknown(&mut self, now: Duration) {
        if self.due.is_some() {
            self.unknown.get_or_insert(now);
        }
    }
}

/// A changed spec that has no run yet, and the time at which it arrived.
#[derive(Debug, Default)]
pub struct ChangedSpec {
    generation: Option<i64>,
    since: Option<Duration>,
}

impl ChangedSpec {
    /// Records a spec that the status does not cover yet, with its time of arrival.
    pub fn record_arrival(&mut self, generation: Option<i64>, at: Duration) {
        if self.generation != generation {
            (self.generation, self.since) = (generation, Some(at));
        }
    }

    /// Records that its run is made. Returns the time of arrival, unless the spec was left for something else.
    pub fn record_run(&mut self) -> Option<Duration> {
        self.since.take()
    }

    /// Records that the spec makes no run, or waits for something else.
    pub fn clear(&mut self) {
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_spec_counts_once_and_not_when_it_was_left_meanwhile() {
        let (mut changed, at) = (ChangedSpec::default(), Duration::from_secs);
        changed.record_arrival(Some(1), at(3));
        // After a conflict it is looked at again.
        changed.record_arrival(Some(1), at(4));
        assert_eq!(changed.record_run(), Some(at(3)));
        assert_eq!(changed.record_run(), None);
        changed.record_arrival(Some(2), at(5));
        changed.clear();
        changed.record_arrival(Some(2), at(6));
        assert_eq!(changed.record_run(), None);
    }

    const PAUSE: Duration = Duration::from_secs(10);

    /// Returns the seconds for which it has been the same, and for which changes are held back.
    fn at(changes: &mut Changes, due: Option<u64>, seconds: u64) -> (u64, u64) {
        let due = due.map(|what| (1, what));
        let seen = changes.record(due, PAUSE, Duration::from_secs(seconds));
        (seen.same_for.as_secs(), seen.held_for.as_secs())
    }

    #[test]
    fn each_change_begins_its_time_anew_and_none_that_of_all() {
        let mut changes = Changes::default();
        assert_eq!(at(&mut changes, Some(1), 100), (0, 0));
        assert_eq!(at(&mut changes, Some(1), 104), (4, 4));
        assert_eq!(at(&mut changes, Some(2), 108), (0, 8));
        assert_eq!(at(&mut changes, Some(2), 110), (2, 10));
        assert_eq!(at(&mut changes, None, 111), (0, 0));
        assert_eq!(at(&mut changes, Some(2), 112), (0, 0));
    }

    #[test]
    fn what_was_let_go_and_waits_for_something_else_makes_the_next_change_wait_anew() {
        let mut changes = Changes::default();
        at(&mut changes, Some(1), 0);
        assert_eq!(at(&mut changes, Some(1), 11), (11, 11));
        assert_eq!(at(&mut changes, Some(2), 500), (0, 0));
        assert_eq!(at(&mut changes, Some(3), 505), (0, 5));
    }

    #[test]
    fn what_is_let_go_after_long_enough_is_so_though_it_is_read_anew() {
        let mut changes = Changes::default();
        for second in (0..=100).step_by(5) {
            at(&mut changes, Some(second), second);
        }
        assert_eq!(at(&mut changes, Some(1), 100), (0, 100));
        assert_eq!(at(&mut changes, Some(2), 101), (0, 101));
    }

    #[test]
    fn a_time_in_which_nobody_could_tell_ends_nothing_and_counts_for_no_other_change() {
        let mut changes = Changes::default();
        at(&mut changes, Some(1), 0);
        changes.record_unknown(Duration::from_secs(4));
        assert_eq!(at(&mut changes, Some(1), 8).0, 8);
        changes.record_unknown(Duration::from_secs(9));
        changes.record_unknown(Duration::from_secs(500));
        assert_eq!(at(&mut changes, Some(2), 1009), (0, 5));
    }

    #[test]
    fn what_settles_without_a_look_makes_the_next_change_wait_anew_too() {
        let mut changes = Changes::default();
        at(&mut changes, Some(1), 0);
        assert_eq!(at(&mut changes, Some(2), 200), (0, 0));
        at(&mut changes, Some(2), 350);
        assert_eq!(at(&mut changes, Some(3), 355), (0, 0));
    }

    #[test]
    fn once_a_run_is_intended_the_next_change_waits_anew() {
        let mut changes = Changes::default();
        let mut at = |number, what, seconds| {
            let seen = changes.record(Some((number, what)), PAUSE, Duration::from_secs(seconds));
            seen.time_left(PAUSE).as_secs()
        };
        for second in (0..100).step_by(5) {
            assert!(at(1, second, second) > 0, "{second}");
        }
        assert_eq!(at(1, 100, 100), 0);
        assert_eq!(at(2, 101, 101), 10);
    }
}
