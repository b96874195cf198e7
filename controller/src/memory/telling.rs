//! When it is first told what a Runnable waits for, how often that what its run was made from has moved, and how often a
//! person is asked. On the clock that goes on while the machine sleeps.

use std::time::Duration;

use cartouche_crds::RunnableStatus;
use cartouche_protocol::{
    category::Category,
    pace::{ContestedPace, LOOKS_APART},
    trace::Sources,
};

use super::digest;

/// A wait that is over before this long is not told: most are, and each would cost two writes.
const TOLD_AFTER: Duration = Duration::from_secs(2);
/// The least time between two writes which say that its sources have moved once more.
const TOLD_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// What is told of one Runnable.
#[derive(Debug, Default)]
pub struct Telling {
    /// What rests on what the cache has of the Runnables that its inputs stem from.
    by_ancestors: ByAncestors,
    /// When it was last written that its sources had moved.
    moved_on: Option<Duration>,
    /// The pace of such writes where another controller puts other sources in their place.
    contested: ContestedPace,
    /// They have moved since, which is written at this time at the latest.
    put_off: Option<Duration>,
    /// What a person was last asked to approve, if what it waits for since may only interrupt that.
    asked: Option<String>,
    /// The number of the run that a person is yet to be asked for.
    to_ask: Option<i64>,
    /// The number that a person was last asked for, and when.
    asked_for: Option<(i64, Duration)>,
}

/// What rests on what the cache has of the Runnables that inputs stem from: then it counts what changes of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ByAncestors {
    /// Nothing.
    #[default]
    Nothing,
    /// It is being decided whether a run is held back.
    Decision,
    /// A run that is due is held back since then, as this process knows.
    HeldSince(Duration),
}

impl ByAncestors {
    /// It is about to be decided.
    fn decide(&mut self) {
        if *self == Self::Nothing {
            *self = Self::Decision;
        }
    }

    /// A run that is due is held back, now if it was not before: since when.
    fn hold(&mut self, now: Duration) -> Duration {
        let since = match *self {
            Self::HeldSince(since) => since,
            Self::Nothing | Self::Decision => now,
        };
        *self = Self::HeldSince(since);
        since
    }
}

/// What holds a run back, as far as it matters for when that is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// It may well be over in a moment.
    pub is_passing: bool,
    /// The status says of the run already that what its inputs come from holds it back.
    pub is_written: bool,
}

impl Telling {
    /// A run that is due is held back by what its inputs come from: how long until that is told, if it is not to be told now.
    pub fn hold(&mut self, hold: Hold, now: Duration) -> Option<Duration> {
        let since = self.by_ancestors.hold(now);
        let is_early = hold.is_passing && !hold.is_written;
        left(since + TOLD_AFTER, now).filter(|_| is_early)
    }

    /// Nothing of the kind holds a run back.
    pub fn is_free(&mut self) {
        self.by_ancestors = ByAncestors::Nothing;
    }

    /// Whether what its inputs come from holds a run back.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self.by_ancestors, ByAncestors::HeldSince(_))
    }

    /// It is about to be decided by what the cache has of the Runnables that its inputs stem from.
    pub fn decide(&mut self) {
        self.by_ancestors.decide();
    }

    /// Whether anything rests on what the cache has of these.
    #[must_use]
    pub fn is_of_ancestors(&self) -> bool {
        self.by_ancestors != ByAncestors::Nothing
    }

    /// It was written that its sources had moved to these.
    pub fn moved_on(&mut self, to: &Sources, now: Duration) {
        (self.moved_on, self.put_off) = (Some(now), None);
        self.contested.wrote(digest(to), now);
    }

    /// Its sources have moved to these: whether that is put off, since it was written a moment ago. It is put down before
    /// anything looks for a Runnable that waits for it: one that begins to wait looks for that.
    pub fn puts_off(&mut self, to: &Sources, now: Duration) -> bool {
        let again = self.moved_on.map(|at| at + TOLD_AGAIN_AFTER);
        let contested = self.contested.left(digest(to), now).map(|left| now + left);
        self.put_off = again.max(contested).filter(|until| now < *until);
        self.put_off.is_some()
    }

    /// True if another controller has put other sources in place of these a moment ago: no Runnable that waits hastens the next
    /// write of them.
    #[must_use]
    pub fn is_contested(&self, to: &Sources, now: Duration) -> bool {
        self.contested.left(digest(to), now).is_some()
    }

    /// Nothing is put off, since a Runnable waits for it or nothing is new.
    pub fn puts_nothing_off(&mut self) {
        self.put_off = None;
    }

    /// True if it is yet to be written that its sources have moved.
    #[must_use]
    pub fn has_put_off(&self) -> bool {
        self.put_off.is_some()
    }

    /// The time until what is put off is written.
    #[must_use]
    pub fn moves_on_after(&self, now: Duration) -> Option<Duration> {
        Some(self.put_off?.saturating_sub(now))
    }

    /// This status follows that one: whether a person is to be asked to approve something for the first time is put down. What its
    /// inputs come from may hold back what waits for a person, who is asked once for it all the same.
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

    /// Whether a person is asked now for what waits by this status, which counts as asked.
    pub fn may_ask(&mut self, status: &RunnableStatus, now: Duration) -> bool {
        let number = status.pending.as_ref().map(|it| it.sequence);
        let still = |_: &i64| wanted(status).is_some();
        self.to_ask = self.to_ask.filter(still).and(number);
        let asked = self.to_ask.filter(|_| self.asks_after(now).is_none());
        if let Some(number) = asked {
            (self.to_ask, self.asked_for) = (None, Some((number, now)));
        }
        asked.is_some()
    }

    /// How long until a person is asked for what waits, if that is put off: the same number was asked for a moment ago, with
    /// something else in it.
    #[must_use]
    pub fn asks_after(&self, now: Duration) -> Option<Duration> {
        let (number, asked_at) = self.asked_for?;
        self.to_ask.filter(|to_ask| *to_ask == number)?;
        left(asked_at + LOOKS_APART, now)
    }
}

/// What approves the run that waits for a person.
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
        telling.is_free();
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
        // Sources that are new are no fight.
        telling.moved_on(&sources("2"), now);
        assert!(!telling.puts_off(&ours, now + TOLD_AGAIN_AFTER));
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
            telling.may_ask(after, at(second))
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
        assert!(telling.may_ask(&asks("1:a"), at(1)));
        for (before, after) in [("1:a", "1:b"), ("1:b", "1:c")] {
            telling.asks_anew(&asks(before), &asks(after));
            assert!(!telling.may_ask(&asks(after), at(2)));
        }
        assert_eq!(telling.asks_after(at(2)), Some(at(19)));
        assert!(telling.may_ask(&asks("1:c"), at(21)));
        assert_eq!(telling.asks_after(at(21)), None);
        assert!(!telling.may_ask(&asks("1:c"), at(40)), "once");
        telling.asks_anew(&asks("1:c"), &asks("1:d"));
        assert!(telling.may_ask(&asks("1:d"), at(41)));
        telling.asks_anew(&asks("1:d"), &asks("1:e"));
        let over = RunnableStatus::default();
        assert!(!telling.may_ask(&over, at(50)), "nothing waits any more");
        assert_eq!(telling.asks_after(at(50)), None);
    }

    #[test]
    fn a_person_is_asked_at_once_for_another_number() {
        let mut telling = Telling::default();
        let first = pending("ApprovalRequired", Some("4:a"));
        telling.asks_anew(&RunnableStatus::default(), &first);
        assert!(telling.may_ask(&first, at(1)));
        let mut second = pending("ApprovalRequired", Some("5:b"));
        if let Some(pending) = &mut second.pending {
            pending.sequence = 5;
        }
        telling.asks_anew(&RunnableStatus::default(), &second);
        assert!(telling.may_ask(&second, at(2)));
    }
}
