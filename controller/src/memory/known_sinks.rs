//! State of the objects that outputs are written to, and the times at which it was read.

use std::{collections::BTreeMap, time::Duration};

use cartouche_crds::{OutputSink, OutputsFrom};
use cartouche_protocol::{
    references::SourceObject,
    sinks::{self, Sinks},
};

use crate::backoff::STEPS;

/// State of the sinks, until something shows that it may have changed. Times are of the clock that goes on while the
/// machine sleeps.
#[derive(Debug, Default)]
pub struct KnownSinks {
    looked: Option<Looked>,
    /// Objects that are no longer wanted and do not exist, and the time since which that is known.
    absent: BTreeMap<SourceObject, Duration>,
    /// Objects that have the outputs of a newer run than the ledger has, and the time since which that is known.
    ahead: BTreeMap<SourceObject, Duration>,
    /// State in which this process left each object.
    left: BTreeMap<SourceObject, LeftSink>,
    /// Number of conflicts in a row with other writers of the sinks.
    pub conflicts: u8,
    /// Uid of the run that was read for its sensitive outputs, and the template that read it: an output that was
    /// missing then is not tried again.
    pub read_whole: Option<(String, (String, i64))>,
}

/// State in which this process left an object.
#[derive(Debug)]
struct LeftSink {
    /// Digest of its content at that time.
    had: u64,
    /// Number of changes by other writers in a row.
    changes: u32,
    /// Time from which on it may be corrected again.
    until: Duration,
    /// True once it was reported that it is not corrected yet.
    is_reported: bool,
}

/// Sinks of a Runnable, and what they are read for.
#[derive(Clone, Debug, PartialEq)]
pub struct LookedForSinks {
    /// The sinks.
    pub sinks: Vec<OutputSink>,
    /// The run that the outputs are of.
    pub from: Option<OutputsFrom>,
    /// Digest of the outputs.
    pub outputs: u64,
    /// Uid and generation of the template.
    pub template: (String, i64),
}

#[derive(Debug)]
struct Looked {
    what: LookedForSinks,
    found: Sinks,
    at: Duration,
}

impl KnownSinks {
    /// Returns the state that was read for the same, within the last `pause` if that is given.
    #[must_use]
    pub fn lately(
        &self,
        what: &LookedForSinks,
        pause: Option<Duration>,
        now: Duration,
    ) -> Option<&Sinks> {
        let looked = self.looked.as_ref().filter(|looked| looked.what == *what)?;
        let is_fresh = pause.is_none_or(|pause| looked.at + pause > now);
        is_fresh.then_some(&looked.found)
    }

    /// Drops the state that was read for others, before these are read, even if those are wanted again later.
    pub fn look_for(&mut self, what: &LookedForSinks) {
        self.looked = self.looked.take().filter(|looked| looked.what == *what);
    }

    /// Keeps the state that was read.
    pub fn keep(&mut self, what: LookedForSinks, found: Sinks, now: Duration) {
        self.looked = Some(Looked {
            what,
            found,
            at: now,
        });
    }

    /// Records that an unwanted object does not exist. Returns true if that has been so for `pause`.
    pub fn note_absent(&mut self, object: &SourceObject, pause: Duration, now: Duration) -> bool {
        let since = *self.absent.entry(object.clone()).or_insert(now);
        let is_over = since + pause <= now;
        if is_over {
            self.absent.remove(object);
        }
        is_over
    }

    /// Returns true if any object is waited for: to stay away, or to be recorded.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.absent.is_empty() || !self.ahead.is_empty()
    }

    /// Records that an object has the outputs of a newer run than the ledger has. Returns true if that has been so for
    /// `pause`.
    pub fn note_ahead(&mut self, object: &SourceObject, pause: Duration, now: Duration) -> bool {
        *self.ahead.entry(object.clone()).or_insert(now) + pause <= now
    }

    /// Records that an object does not have outputs of a newer run.
    pub fn clear_ahead(&mut self, object: &SourceObject) {
        self.ahead.remove(object);
    }

    /// Forgets the objects that are not wanted.
    pub fn retain_wanted(&mut self, is_wanted: impl Fn(&SourceObject) -> bool) {
        self.ahead.retain(|object, _| is_wanted(object));
        self.left.retain(|object, _| is_wanted(object));
    }

    /// Returns true if an object with this digest differs from what this process left.
    #[must_use]
    pub fn is_changed(&self, object: &SourceObject, has: u64) -> bool {
        self.left.get(object).is_some_and(|left| left.had != has)
    }

    /// Records that an object is left with this digest. If another writer had changed it, it was corrected at once, and
    /// the next correction waits longer each time.
    pub fn leave(&mut self, object: &SourceObject, has: u64, was_changed: bool, now: Duration) {
        let before = self.left.remove(object);
        // An object that has not been changed again long after it could have been corrected begins anew.
        let before = before.filter(|left| left.until + 2 * STEPS.longest > now);
        let (changes, until) = before.map_or((0, now), |left| (left.changes, left.until));
        let (changes, until) = if was_changed {
            (changes + 1, now + STEPS.delay(changes))
        } else {
            (changes, until)
        };
        let left = LeftSink {
            had: has,
            changes,
            until,
            is_reported: false,
        };
        self.left.insert(object.clone(), left);
    }

    /// Returns true if an object that another writer has changed again is not corrected yet. The caller reports that.
    pub fn holds_off(&mut self, object: &SourceObject, now: Duration) -> bool {
        let left = self.left.get_mut(object);
        let held = left.filter(|left| left.until > now);
        held.is_some_and(|left| {
            left.is_reported = true;
            true
        })
    }

    /// Forgets an object that now belongs to another: only a change of it ends that, which is news.
    pub fn give_up(&mut self, object: &SourceObject) {
        self.left.remove(object);
    }

    /// Returns the time until the first object that was reported as not corrected may be corrected.
    #[must_use]
    pub fn held_off_for(&self, now: Duration) -> Option<Duration> {
        let reported = self.left.values().filter(|left| left.is_reported);
        let left = reported.filter_map(|left| left.until.checked_sub(now));
        left.filter(|left| !left.is_zero()).min()
    }

    /// Records that an object exists, or is wanted again.
    pub fn clear_absent(&mut self, object: &SourceObject) {
        self.absent.remove(object);
    }

    /// Drops the state, since one of the objects may have changed.
    pub fn doubt(&mut self) {
        self.looked = None;
    }

    /// Drops the state if one of these objects may have changed. Returns false if all of them wait to be corrected:
    /// another change of those is no news.
    pub fn doubt_if(&mut self, are: impl Fn(&SourceObject) -> bool, now: Duration) -> bool {
        let is_known = |object: &SourceObject| {
            let left = self.left.get(object);
            left.is_some_and(|left| left.is_reported && left.until > now)
        };
        let looked = self.looked.iter().flat_map(|looked| &looked.what.sinks);
        let named = looked
            .map(sinks::identify)
            .chain(self.absent.keys().cloned());
        let changed: Vec<SourceObject> = named.filter(|object| are(object)).collect();
        let is_news = changed.iter().any(|object| !is_known(object));
        if is_news {
            self.doubt();
        }
        is_news || changed.is_empty()
    }

    /// Returns the time of the read, if the state is known.
    #[must_use]
    pub fn looked_at(&self) -> Option<Duration> {
        self.looked.as_ref().map(|looked| looked.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(30);

    fn what(outputs: u64) -> LookedForSinks {
        LookedForSinks {
            sinks: Vec::new(),
            from: None,
            outputs,
            template: (String::new(), 1),
        }
    }

    #[test]
    fn they_are_looked_at_again_after_a_while_and_when_anything_may_have_changed() {
        let mut known = KnownSinks::default();
        known.keep(what(1), Sinks::default(), Duration::ZERO);
        let is_known = |known: &KnownSinks, outputs, seconds| {
            let now = Duration::from_secs(seconds);
            known.lately(&what(outputs), Some(PAUSE), now).is_some()
        };
        assert!(is_known(&known, 1, 29));
        assert!(!is_known(&known, 1, 30));
        assert!(!is_known(&known, 2, 1));
        known.doubt();
        assert!(!is_known(&known, 1, 1));
        known.keep(what(1), Sinks::default(), Duration::ZERO);
        known.look_for(&what(1));
        assert!(is_known(&known, 1, 1));
        known.look_for(&what(2));
        assert!(!is_known(&known, 1, 1), "others were looked at since");
    }

    #[test]
    fn what_is_gone_is_forgotten_only_after_it_has_stayed_away() {
        let mut known = KnownSinks::default();
        let object = SourceObject::in_own_namespace(
            cartouche_protocol::references::SourceKind::Secret,
            "db",
        );
        let is_over = |known: &mut KnownSinks, seconds| {
            known.note_absent(&object, PAUSE, Duration::from_secs(seconds))
        };
        assert!(!is_over(&mut known, 1));
        assert!(!is_over(&mut known, 30));
        known.clear_absent(&object);
        assert!(!is_over(&mut known, 31));
        assert!(is_over(&mut known, 61));
        assert!(!known.is_waiting());
    }

    fn object(name: &str) -> SourceObject {
        SourceObject::in_own_namespace(cartouche_protocol::references::SourceKind::ConfigMap, name)
    }

    #[test]
    fn one_change_is_put_right_at_once_and_a_fight_costs_few_writes() {
        let (mut known, db) = (KnownSinks::default(), object("db"));
        let mut now = Duration::from_hours(1);
        known.leave(&db, 1, false, now);
        let mut writes = Vec::new();
        // Another writer changes it ten times a second, for half an hour.
        while now < Duration::from_mins(90) {
            assert!(!known.is_changed(&db, 1) && known.is_changed(&db, 2));
            if !known.holds_off(&db, now) {
                known.leave(&db, 1, true, now);
                writes.push(now);
            }
            now += Duration::from_millis(100);
        }
        assert_eq!(writes.first(), Some(&Duration::from_hours(1)));
        let within = |minutes| {
            let until = Duration::from_hours(1) + Duration::from_mins(minutes);
            writes.iter().filter(|at| **at < until).count()
        };
        assert!((5..=8).contains(&within(1)), "{writes:?}");
        assert!((10..=18).contains(&within(30)), "{writes:?}");
        // A change long after that is the first one again.
        now += Duration::from_hours(1);
        assert!(!known.holds_off(&db, now));
        known.leave(&db, 1, true, now);
        assert!(!known.holds_off(&db, now + Duration::from_secs(2)));
    }

    #[test]
    fn what_is_held_off_and_told_is_not_looked_at_for_each_change() {
        let mut known = KnownSinks::default();
        let of = |name: &str| serde_json::json!({ "kind": "ConfigMap", "name": name });
        let sinks = serde_json::json!([of("db"), of("other")]);
        let what = LookedForSinks {
            sinks: serde_json::from_value(sinks).unwrap(),
            ..what(1)
        };
        let looked = |known: &KnownSinks| known.lately(&what, None, Duration::ZERO).is_some();
        let (db, other) = (object("db"), object("other"));
        known.leave(&db, 1, true, Duration::ZERO);
        let soon = Duration::from_millis(10);
        known.keep(what.clone(), Sinks::default(), soon);
        known.doubt_if(|it| *it == db, soon);
        assert!(!looked(&known), "nobody was told yet");
        assert_eq!(known.held_off_for(soon), None);
        assert!(known.holds_off(&db, soon));
        assert!(known.held_off_for(soon).is_some());
        known.keep(what.clone(), Sinks::default(), soon);
        known.doubt_if(|it| *it == db, soon);
        assert!(looked(&known));
        known.doubt_if(|it| *it == other, soon);
        assert!(!looked(&known));
        known.leave(&db, 1, true, soon);
        assert!(known.holds_off(&db, soon));
        known.keep(what.clone(), Sinks::default(), soon);
        known.give_up(&db);
        assert!(known.doubt_if(|it| *it == db, soon), "it is another's");
        assert!(!looked(&known));
        let later = Duration::from_secs(2);
        assert_eq!(known.held_off_for(later), None);
        known.keep(what.clone(), Sinks::default(), later);
        known.doubt_if(|it| *it == db, later);
        assert!(!looked(&known));
    }

    #[test]
    fn one_that_is_ahead_is_waited_for_only_so_long_in_a_row() {
        let (mut known, db) = (KnownSinks::default(), object("db"));
        let is_over = |known: &mut KnownSinks, seconds| {
            known.note_ahead(&db, PAUSE, Duration::from_secs(seconds))
        };
        assert!(!is_over(&mut known, 1));
        assert!(known.is_waiting());
        known.clear_ahead(&db);
        assert!(!known.is_waiting());
        assert!(!is_over(&mut known, 31));
        assert!(is_over(&mut known, 61));
        known.retain_wanted(|_| false);
        assert!(!known.is_waiting());
    }
}
