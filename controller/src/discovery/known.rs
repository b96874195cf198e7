//! Knowledge of kinds, and the time for which it is used. Pure.

use std::{collections::HashMap, sync::Arc, time::Duration};

use super::Kind;
use crate::backoff::PATIENCE;

/// Least time between two requests for a missing kind, so that thousands of Runnables of it cost one request.
const ABSENT_FOR: Duration = Duration::from_secs(2);
/// Maximum number of versions that are known not to be served (more are requested each time), and of kinds whose
/// objects are known to be elsewhere.
const MAX_ABSENT: usize = 1_000;
/// Time after which an unused version is dropped.
const UNUSED_FOR: Duration = Duration::from_hours(1);
/// Time between two errors from which on they belong to different series: there was no request in between.
const UNASKED_FOR: Duration = Duration::from_mins(10);
/// Everything that is known of kinds. The authors of Runnables and templates choose what is requested: so little is
/// kept of what is not served, and not for long, and served versions that are not used are dropped.
#[derive(Default)]
pub(super) struct KnownKinds {
    served: HashMap<String, Version>,
    /// Versions that are not served, and the time at which that was found.
    absent: HashMap<String, Duration>,
    /// Places of the objects of kinds that are no longer served under the requested version.
    moved: HashMap<ObjectsOf, Moved>,
    /// Kinds whose objects cannot be found, because discovery fails.
    failing: HashMap<ObjectsOf, Failing>,
}

/// The place of the objects of a kind, if there is one.
struct Moved {
    found: Option<Arc<Kind>>,
    read: Duration,
    /// As for a version.
    stale: bool,
}

/// A series of errors without an answer in between.
struct Failing {
    /// Times of the first and of the last error.
    errors: (Duration, Duration),
    /// The first message stays, so that what is reported of it does not change with every try.
    why: String,
}

#[derive(Clone)]
struct Version {
    kinds: Arc<HashMap<String, Arc<Kind>>>,
    /// Time of the read, by the clock that counts sleep.
    read: Duration,
    /// Time of the last use.
    used: Duration,
    /// True if it is read again before its next use; until then it is what is known.
    stale: bool,
}

/// `apiVersion` and kind, as requested for its objects.
pub(super) type ObjectsOf = (String, String);

/// Knowledge of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    Found(Arc<Kind>),
    /// It was missing a moment ago.
    Absent,
    /// A request to the API server is needed.
    Unknown,
}

impl KnownKinds {
    /// Returns true if a version was missing a moment ago.
    pub(super) fn is_absent(&self, api_version: &str, now: Duration) -> bool {
        let absent = self.absent.get(api_version);
        absent.is_some_and(|read| is_fresh(*read, now))
    }

    /// Returns the resource that serves a kind, if that is known already.
    pub(super) fn find(
        &mut self,
        api_version: &str,
        kind: &str,
        now: Duration,
    ) -> Option<Arc<Kind>> {
        let version = self.served.get_mut(api_version)?;
        version.used = now;
        version.kinds.get(kind).cloned()
    }

    /// Returns the versions that are known to have a kind of this name.
    pub(super) fn versions_with(&self, kind: &str) -> Vec<String> {
        let having = self.served.iter();
        let having = having.filter(|(_, version)| version.kinds.contains_key(kind));
        let mut versions: Vec<String> = having.map(|(version, _)| version.clone()).collect();
        versions.sort();
        versions
    }

    /// Returns the kinds of a version, by name.
    pub(super) fn names(&self, api_version: &str) -> Vec<String> {
        let version = self.served.get(api_version);
        let kinds = version.into_iter().flat_map(|version| version.kinds.keys());
        let mut names: Vec<String> = kinds.cloned().collect();
        names.sort();
        names
    }

    /// Returns the place where the objects of a kind were last found under another version.
    pub(super) fn find_moved(&self, key: &ObjectsOf) -> Option<Arc<Kind>> {
        self.moved.get(key)?.found.clone()
    }

    /// Records that the kind is served as requested.
    pub(super) fn served_again(&mut self, key: &ObjectsOf) {
        self.moved.remove(key);
    }

    /// Marks everything to be read again before its next use.
    pub(super) fn doubt_all(&mut self) {
        self.absent.clear();
        for version in self.served.values_mut() {
            version.stale = true;
        }
        for moved in self.moved.values_mut() {
            moved.stale = true;
        }
    }

    /// Marks one version to be read again before its next use.
    pub(super) fn doubt(&mut self, api_version: &str) {
        if let Some(version) = self.served.get_mut(api_version) {
            version.stale = true;
        }
    }

    /// Records that discovery does not fail for this any more.
    pub(super) fn clear_failure(&mut self, key: &ObjectsOf) {
        self.failing.remove(key);
    }

    /// Returns what is known of a kind without a request.
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

    /// Records the place of the objects of a kind.
    pub(super) fn put_moved(&mut self, key: ObjectsOf, found: Option<Arc<Kind>>, now: Duration) {
        if self.moved.len() >= MAX_ABSENT {
            // Those that are still needed are recorded again.
            self.moved.clear();
        }
        let moved = Moved {
            found,
            read: now,
            stale: false,
        };
        self.moved.insert(key, moved);
    }

    /// Returns what is known without a request of the objects of a kind that is no longer served as it was.
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

    /// Records that discovery failed for the objects of a kind. If there are very many kinds, the first ones are
    /// followed as long as they are requested: if they made room for others, no series would last.
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

    /// Records the kinds that a version serves, and drops what is not used.
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

/// Returns true if something that was missing need not be requested again yet.
fn is_fresh(read: Duration, now: Duration) -> bool {
    now.saturating_sub(read) < ABSENT_FOR
}

#[cfg(test)]
mod tests;
