//! What is known of kinds, and for how long that is relied on. Pure.

use std::{collections::HashMap, sync::Arc, time::Duration};

use super::Kind;
use crate::backoff::PATIENCE;

/// A kind that was not there is asked for again after this time at the earliest, so that thousands
/// of Runnables of a missing kind cost one request.
const ABSENT_FOR: Duration = Duration::from_secs(2);
/// Versions that are not served and are known not to be, at most (more are asked for each time), and
/// kinds whose objects are known to be elsewhere.
const MAX_ABSENT: usize = 1_000;
/// A version that nobody asked for in this time is not kept.
const UNUSED_FOR: Duration = Duration::from_hours(1);
/// Errors that lie further apart are none of the same series: nobody asked in between.
const UNASKED_FOR: Duration = Duration::from_mins(10);
/// Whoever writes Runnables and templates chooses what is asked for. So of what is not served little is
/// kept, and not for long, and what is served and not used leaves.
#[derive(Default)]
pub(super) struct Known {
    served: HashMap<String, Version>,
    /// Versions that are not served, and when that was found.
    absent: HashMap<String, Duration>,
    /// Where the objects of kinds are that are served no more under the version that was asked for.
    moved: HashMap<ObjectsOf, Moved>,
    /// Kinds of which nobody says where their objects are, because discovery fails.
    failing: HashMap<ObjectsOf, Failing>,
}

/// Where the objects of a kind are, if anywhere.
struct Moved {
    found: Option<Arc<Kind>>,
    read: Duration,
    /// As for a version.
    stale: bool,
}

/// A series of errors without an answer in between.
struct Failing {
    /// When it began, and when the last one was.
    errors: (Duration, Duration),
    /// The first message stays, so that what is reported of it does not change with every try.
    why: String,
}

#[derive(Clone)]
struct Version {
    kinds: Arc<HashMap<String, Arc<Kind>>>,
    /// When it was read, by the clock that counts sleep.
    read: Duration,
    /// When it was last asked for.
    used: Duration,
    /// It is read again before it is next relied on; until then it is what is known.
    stale: bool,
}

/// `apiVersion` and kind, as somebody asked for its objects.
pub(super) type ObjectsOf = (String, String);

/// What is known of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    Found(Arc<Kind>),
    /// It was not there a moment ago.
    Absent,
    /// The API server has to be asked.
    Unknown,
}

impl Known {
    /// Whether a version was not there a moment ago.
    pub(super) fn is_absent(&self, api_version: &str, now: Duration) -> bool {
        let absent = self.absent.get(api_version);
        absent.is_some_and(|read| is_fresh(*read, now))
    }

    /// The resource that serves a kind, if that is known already.
    pub(super) fn known(
        &mut self,
        api_version: &str,
        kind: &str,
        now: Duration,
    ) -> Option<Arc<Kind>> {
        let version = self.served.get_mut(api_version)?;
        version.used = now;
        version.kinds.get(kind).cloned()
    }

    /// The versions that are known to have a kind of this name.
    pub(super) fn versions_with(&self, kind: &str) -> Vec<String> {
        let having = self.served.iter();
        let having = having.filter(|(_, version)| version.kinds.contains_key(kind));
        let mut versions: Vec<String> = having.map(|(version, _)| version.clone()).collect();
        versions.sort();
        versions
    }

    /// The kinds of a version, by name.
    pub(super) fn names(&self, api_version: &str) -> Vec<String> {
        let version = self.served.get(api_version);
        let kinds = version.into_iter().flat_map(|version| version.kinds.keys());
        let mut names: Vec<String> = kinds.cloned().collect();
        names.sort();
        names
    }

    /// Where the objects of a kind were when they were last looked for elsewhere.
    pub(super) fn moved(&self, key: &ObjectsOf) -> Option<Arc<Kind>> {
        self.moved.get(key)?.found.clone()
    }

    /// The kind is served as it was asked for.
    pub(super) fn served_again(&mut self, key: &ObjectsOf) {
        self.moved.remove(key);
    }

    /// All of it is asked for again before it is next relied on.
    pub(super) fn doubt_all(&mut self) {
        self.absent.clear();
        for version in self.served.values_mut() {
            version.stale = true;
        }
        for moved in self.moved.values_mut() {
            moved.stale = true;
        }
    }

    /// The same of one version.
    pub(super) fn doubt(&mut self, api_version: &str) {
        if let Some(version) = self.served.get_mut(api_version) {
            version.stale = true;
        }
    }

    /// Discovery does not fail for this any more.
    pub(super) fn answered(&mut self, key: &ObjectsOf) {
        self.failing.remove(key);
    }

    /// What is known of a kind without asking.
    pub(super) fn look_up(&mut self, api_version: &str, kind: &str, now: Duration) -> Lookup {
        if self.is_absent(api_version, now) {
            return Lookup::Absent;
        }
        let version = self.served.get_mut(api_version);
        let Some(version) = version.filter(|version| !version.stale) else {
            return Lookup::Unknown;
        };
        version.used = now;
        match version.kinds.get(kind) {
            Some(kind) => Lookup::Found(kind.clone()),
            None if is_fresh(version.read, now) => Lookup::Absent,
            None => Lookup::Unknown,
        }
    }

    /// Puts down where the objects of a kind are.
    pub(super) fn put_moved(&mut self, key: ObjectsOf, found: Option<Arc<Kind>>, now: Duration) {
        if self.moved.len() >= MAX_ABSENT {
            // Who needs one puts it down again.
            self.moved.clear();
        }
        let moved = Moved {
            found,
            read: now,
            stale: false,
        };
        self.moved.insert(key, moved);
    }

    /// What is known without asking of the objects of a kind that is served no more as it was.
    pub(super) fn look_up_moved(&mut self, key: &ObjectsOf, now: Duration) -> Lookup {
        let Some(moved) = self.moved.get(key).filter(|moved| !moved.stale) else {
            return Lookup::Unknown;
        };
        match moved.found.clone() {
            Some(found) => self.look_up(&found.api_version, &found.kind, now),
            None if is_fresh(moved.read, now) => Lookup::Absent,
            None => Lookup::Unknown,
        }
    }

    /// Nobody could say where the objects of a kind are. Of very many kinds those are followed that came
    /// first, as long as they are asked for: were they to make room for others, no series would last.
    pub(super) fn put_failing(&mut self, key: ObjectsOf, why: String, now: Duration) {
        if self.failing.len() >= MAX_ABSENT && !self.failing.contains_key(&key) {
            self.failing
                .retain(|_, failing| now.saturating_sub(failing.errors.1) < UNASKED_FOR);
            if self.failing.len() >= MAX_ABSENT {
                return;
            }
        }
        let fresh = Failing {
            errors: (now, now),
            why,
        };
        let failing = self.failing.entry(key).or_insert(fresh);
        if now.saturating_sub(failing.errors.1) >= UNASKED_FOR {
            failing.errors.0 = now;
        }
        failing.errors.1 = now;
    }

    pub(super) fn failing(&self, key: &ObjectsOf) -> Option<&str> {
        let failing = self.failing.get(key)?;
        let (first, last) = failing.errors;
        (last.saturating_sub(first) >= PATIENCE).then_some(&failing.why)
    }

    /// Puts down what a version serves, and drops what nobody needs.
    pub(super) fn put(
        &mut self,
        api_version: &str,
        kinds: HashMap<String, Arc<Kind>>,
        now: Duration,
    ) {
        if kinds.is_empty() {
            self.served.remove(api_version);
            self.absent
                .retain(|_, read| now.saturating_sub(*read) < ABSENT_FOR);
            if self.absent.len() < MAX_ABSENT {
                self.absent.insert(api_version.to_owned(), now);
            }
            return;
        }
        self.absent.remove(api_version);
        self.served
            .retain(|_, version| now.saturating_sub(version.used) < UNUSED_FOR);
        let version = Version {
            kinds: Arc::new(kinds),
            read: now,
            used: now,
            stale: false,
        };
        self.served.insert(api_version.to_owned(), version);
    }
}

/// Whether what was not there need not be asked for again yet.
fn is_fresh(read: Duration, now: Duration) -> bool {
    now.saturating_sub(read) < ABSENT_FOR
}

#[cfg(test)]
mod tests;
