//! Times of reports: the first one on what a Runnable waits for, the next one on moved sources, and the next request
//! for approval. On the clock that goes on while the machine sleeps.

use std::time::Duration;

use cartouche_crds::RunnableStatus;
use cartouche_protocol::{
    category::Category,
    pace::{ContestedPace, LOOKS_APART},
    trace::Sources,
};

use super::digest;

/// Time after which a wait is reported: most are over before, and each would cost two writes.
const REPORTED_AFTER: Duration = Duration::from_secs(2);
/// Least time between two writes which report that its sources have moved once more.
const REPORTED_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// Pace of the reports on one Runnable.
#[derive(Debug, Default)]
pub struct Telling {
    /// Dependence on the cached Runnables that its inputs derive from.
    by_ancestors: ByAncestors,
    /// Time of the last write that its sources had moved.
    moved_on: Option<Duration>,
    /// Pace of such writes if another controller replaces the sources.
    contested: ContestedPace,
    /// Latest time for the write of a further move.
    put_off: Option<Duration>,
    /// Approval that was last asked for, if what the run waits for since may only interrupt that.
    asked: Option<String>,
    /// Number of the run for which approval is yet to be asked.
    to_ask: Option<i64>,
    /// Number for which approval was last asked, and the time.
    asked_for: Option<(i64, Duration)>,
}

/// Dependence on the cached Runnables that inputs derive from: if there is one, their changes matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ByAncestors {
    /// No dependence.
    #[default]
    Nothing,
    /// It is being decided if a run is held back.
    Decision,
    /// A pending run is held back since then, as this process knows.
    HeldSince(Duration),
}

impl ByAncestors {
    /// Records that the decision is about to be made.
    fn decide(&mut self) {
        if *self == Self::Nothing {
            *self = Self::Decision;
        }
    }

    /// Records that a pending run is held back. Returns the time since which it is.
    fn hold(&mut self, now: Duration) -> Duration {
        let since = match *self {
            Self::HeldSince(since) => since,
            Self::Nothing | Self::Decision => now,
        };
        *self = Self::HeldSince(since);
        since
    }
}

/// State of a hold, as far as it decides when that is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// True if it may well be over in a moment.
    pub is_passing: bool,
    /// True if the status reports already that the sources of the run's inputs hold it back.
    pub is_written: bool,
}

impl Telling {
    /// Records that the sources of its inputs hold a pending run back. Returns the time until that is reported, or
    /// `None` for now.
    pub fn hold(&mut self, hold: Hold, now: Duration) -> Option<Duration> {
        let since = self.by_ancestors.hold(now);
        let is_early = hold.is_passing && !hold.is_written;
        left(since + REPORTED_AFTER, now).filter(|_| is_early)
    }

    /// Records that no source holds a run back.
    pub fn clear_hold(&mut self) {
        self.by_ancestors = ByAncestors::Nothing;
    }

    /// Returns true if the sources of its inputs hold a run back.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self.by_ancestors, ByAncestors::HeldSince(_))
    }

    /// Records that a decision by the cached Runnables that its inputs derive from is about to be made.
    pub fn decide(&mut self) {
        self.by_ancestors.decide();
    }

    /// Returns true if anything depends on these cached Runnables.
    #[must_use]
    pub fn is_of_ancestors(&self) -> bool {
        self.by_ancestors != ByAncestors::Nothing
    }

    /// Records a write that its sources had moved to these.
    pub fn moved_on(&mut self, to: &Sources, now: Duration) {
        (self.moved_on, self.put_off) = (Some(now), None);
        self.contested.record_write(digest(to), now);
    }

    /// Records that its sources have moved to these. Returns true if the write waits, since there was one a moment
    /// ago. The caller does this before it looks for a Runnable that waits for this one: a Runnable that begins to wait
    /// looks for that.
    pub fn puts_off(&mut self, to: &Sources, now: Duration) -> bool {
        let again = self.moved_on.map(|at| at + REPORTED_AGAIN_AFTER);
        let contested = self
            .contested
            .time_left(digest(to), now)
            .map(|left| now + left);
        self.put_off = again.max(contested).filter(|until| now < *until);
        self.put_off.is_some()
    }

    /// Returns true if another controller has replaced these sources a moment ago: no Runnable that waits hastens the
    /// next write of them.
    #[must_use]
    pub fn is_contested(&self, to: &Sources, now: Duration) -> bool {
        self.contested.time_left(digest(to), now).is_some()
    }

    /// Drops the pending write, since a Runnable waits for it or nothing is new.
    pub fn puts_nothing_off(&mut self) {
        self.put_off = None;
    }

    /// Returns true if a write of moved sources is pending.
    #[must_use]
    pub fn has_put_off(&self) -> bool {
        self.put_off.is_some()
    }

    /// Returns the time until the pending write.
    #[must_use]
    pub fn moves_on_after(&self, now: Duration) -> Option<Duration> {
        Some(self.put_off?.saturating_sub(now))
    }

    /// Records that status `after` follows `before`, and records a first request for approval. What its inputs come
    /// from may hold back a run that waits for approval, which is asked for only once all the same.
    pub fn asks_anew(&mut self, before: &RunnableStatus, after: &RunnableStatus) {
        let known = wanted(before).or(self.asked.take());
        let wanted = wanted(after);
        let number = after.pending.as_ref().map(|it| it.sequence);
        if wanted.is_some() && wanted != known {
            self.to_ask = number;
        }
        let reason = after.pending.as_ref().map(|it| it.reason.as_str());
        let is_interrupted = reason
            .and_then(Category::parse)
            .is_some_and(Category::is_of_dependencies);
        self.asked = wanted.or(known.filter(|_| is_interrupted));
    }

    /// Returns true if approval is asked for now by this status, which counts as asking.
    pub fn try_ask(&mut self, status: &RunnableStatus, now: Duration) -> bool {
        let number = status.pending.as_ref().map(|it| it.sequence);
        let still = |_: &i64| wanted(status).is_some();
        self.to_ask = self.to_ask.filter(still).and(number);
        let asked = self.to_ask.filter(|_| self.asks_after(now).is_none());
        if let Some(number) = asked {
            (self.to_ask, self.asked_for) = (None, Some((number, now)));
        }
        asked.is_some()
    }

    /// Returns the time until approval is asked for, if that waits: it was asked for the same number a moment ago, with
    /// another content.
    #[must_use]
    pub fn asks_after(&self, now: Duration) -> Option<Duration> {
        let (number, asked_at) = self.asked_for?;
        self.to_ask.filter(|to_ask| *to_ask == number)?;
        left(asked_at + LOOKS_APART, now)
    }
}

/// Returns the approval that the pending run waits for.
fn wanted(status: &RunnableStatus) -> Option<String> {
    status.pending.as_ref()?.approval.clone()
}

fn left(until: Duration, now: Duration) -> Option<Duration> {
    let left = until.saturating_sub(now);
    Some(left).filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn hold(is_passing: bool, is_written: bool) -> Hold {
        Hold {
            is_passing,
            is_written,
        }
    }

    #[test]
    fn a_wait_is_told_when_it_has_lasted_and_a_failure_at_once() {
        let mut telling = Telling::default();
        assert_eq!(telling.hold(hold(true, false), at(10)), Some(at(2)));
        assert_eq!(telling.hold(hold(true, false), at(11)), Some(at(1)));
        assert_eq!(telling.hold(hold(true, false), at(12)), None);
        let mut failed = Telling::default();
        assert_eq!(failed.hold(hold(false, false), at(10)), None);
        // A wait that was over begins anew.
        telling.clear_hold();
        assert_eq!(telling.hold(hold(true, false), at(20)), Some(at(2)));
    }

    #[test]
    fn what_is_written_already_is_not_put_off_here() {
        let mut telling = Telling::default();
        assert_eq!(telling.hold(hold(true, true), at(1)), None);
    }

    #[test]
    fn that_sources_moved_is_told_at_once_and_then_once_in_a_while() {
        let mut telling = Telling::default();
        let [one, other] = [sources("1"), sources("2")];
        assert!(!telling.puts_off(&one, at(10)));
        assert_eq!(telling.moves_on_after(at(10)), None);
        telling.moved_on(&one, at(10));
        assert!(telling.puts_off(&other, at(13)) && telling.has_put_off());
        assert_eq!(telling.moves_on_after(at(14)), Some(at(6)));
        assert!(!telling.puts_off(&other, at(20)), "its time has come");
        assert!(!telling.has_put_off());
        telling.moved_on(&other, at(20));
        assert!(telling.puts_off(&one, at(21)));
        telling.puts_nothing_off();
        assert_eq!(telling.moves_on_after(at(21)), None);
    }

    fn sources(revision: &str) -> Sources {
        let written = [("v1/ConfigMap/sizes".to_owned(), revision.to_owned())];
        Sources::read(&written.into())
    }

    #[test]
    fn sources_that_another_release_replaces_are_written_more_and_more_seldom() {
        let mut telling = Telling::default();
        let (ours, hour) = (sources("1"), 3600);
        let mut writes = Vec::new();
        for second in 0..10 * hour {
            // The other release answers each write at once.
            if !telling.puts_off(&ours, at(second)) {
                telling.moved_on(&ours, at(second));
                writes.push(second);
            }
        }
        assert_eq!(&writes[..4], [0, 30, 1830, 3630]);
        let last_hours = writes.iter().filter(|second| **second >= 5 * hour);
        assert_eq!(last_hours.count(), 10, "two an hour");
        let now = at(10 * hour);
        telling.moved_on(&ours, now);
        assert!(telling.is_contested(&ours, now) && !telling.is_contested(&sources("2"), now));
        // New sources are no fight.
        telling.moved_on(&sources("2"), now);
        assert!(!telling.puts_off(&ours, now + REPORTED_AGAIN_AFTER));
    }

    fn pending(reason: &str, approval: Option<&str>) -> RunnableStatus {
        let pending = json!({
            "sequence": 4, "inputHash": "", "reason": reason, "since": "2026-01-01T00:00:00Z", "approval": approval,
        });
        serde_json::from_value(json!({ "pending": pending })).unwrap()
    }

    #[test]
    fn a_person_is_asked_once_though_sources_hold_back_meanwhile_what_waits() {
        let asks = |approval| pending("ApprovalRequired", Some(approval));
        let (held, failed) = (
            pending("DependencyNotReady", None),
            pending("DependencyFailed", None),
        );
        let nothing = RunnableStatus::default();
        let mut telling = Telling::default();
        let mut second = 0;
        let mut told = |before: &RunnableStatus, after: &RunnableStatus| {
            second += 20;
            telling.asks_anew(before, after);
            telling.try_ask(after, at(second))
        };
        assert!(told(&nothing, &asks("4:a")));
        assert!(!told(&asks("4:a"), &asks("4:a")));
        assert!(!told(&asks("4:a"), &held));
        assert!(!told(&held, &failed));
        assert!(!told(&failed, &asks("4:a")), "it is the same");
        assert!(!told(&asks("4:a"), &held));
        assert!(told(&held, &asks("4:b")), "it is another one");
        assert!(told(&asks("4:b"), &asks("4:a")), "and back");
        let suspended = nothing.clone();
        assert!(!told(&asks("4:a"), &suspended));
        assert!(told(&suspended, &asks("4:a")));
    }

    #[test]
    fn a_person_is_asked_once_in_a_while_for_the_latest_of_what_waits() {
        let asks = |number| pending("ApprovalRequired", Some(number));
        let mut telling = Telling::default();
        telling.asks_anew(&RunnableStatus::default(), &asks("1:a"));
        assert!(telling.try_ask(&asks("1:a"), at(1)));
        for (before, after) in [("1:a", "1:b"), ("1:b", "1:c")] {
            telling.asks_anew(&asks(before), &asks(after));
            assert!(!telling.try_ask(&asks(after), at(2)));
        }
        assert_eq!(telling.asks_after(at(2)), Some(at(19)));
        assert!(telling.try_ask(&asks("1:c"), at(21)));
        assert_eq!(telling.asks_after(at(21)), None);
        assert!(!telling.try_ask(&asks("1:c"), at(40)), "once");
        telling.asks_anew(&asks("1:c"), &asks("1:d"));
        assert!(telling.try_ask(&asks("1:d"), at(41)));
        telling.asks_anew(&asks("1:d"), &asks("1:e"));
        let over = RunnableStatus::default();
        assert!(!telling.try_ask(&over, at(50)), "nothing waits any more");
        assert_eq!(telling.asks_after(at(50)), None);
    }

    #[test]
    fn a_person_is_asked_at_once_for_another_number() {
        let mut telling = Telling::default();
        let first = pending("ApprovalRequired", Some("4:a"));
        telling.asks_anew(&RunnableStatus::default(), &first);
        assert!(telling.try_ask(&first, at(1)));
        let mut second = pending("ApprovalRequired", Some("5:b"));
        if let Some(pending) = &mut second.pending {
            pending.sequence = 5;
        }
        telling.asks_anew(&RunnableStatus::default(), &second);
        assert!(telling.try_ask(&second, at(2)));
    }
}
