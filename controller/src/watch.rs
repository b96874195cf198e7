//! The registry of watches by kind, and the routing of their events to Runnables.
//!
//! Kinds are known only at run time, so each has a task of its own: one that fails holds up no other. A kind is watched
//! only while a Runnable needs it.

pub mod dependents;
mod enqueuer;
#[macro_use]
mod object;
pub mod named;
mod named_object;
pub mod own;
mod progress;
pub mod references;
mod run_object;
pub mod runs;
pub mod selected;
mod selected_object;
mod supervised;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_protocol::facts::WatchState;
use kube::{Api, Client, Resource, api::ApiResource, core::DynamicResourceScope, runtime::watcher};
use tokio::task::AbortHandle;

pub use enqueuer::{Enqueued, Enqueuer};
pub use progress::Progress;
pub(crate) use progress::reason;
pub use supervised::supervised;

use crate::{
    api::PAGE_SIZE,
    backoff::WATCHES,
    discovery::Kind,
    endpoints::ProcessReadiness,
    lock::lock,
    metrics::{Metrics, WatchLabel},
    runnable_key::RunnableKey,
    watched_kind::Watched,
};

/// Time after which the server ends every watch, so that a silent connection is noticed.
const WATCH_SECONDS: u32 = 50;
/// Pause before the next try of a watch that is not permitted.
const FORBIDDEN_PAUSE: Duration = Duration::from_secs(30);

/// Watches of all kinds.
pub struct Watches {
    open: Mutex<HashMap<Watched, OpenWatch>>,
    /// Maximum number of open watches: kinds are chosen by the authors of templates and selectors.
    most: usize,
    /// The only namespace in which anything is watched, or `None` for all.
    namespace: Option<String>,
    /// Deadline of a request.
    deadline: Duration,
    metrics: Metrics,
    readiness: ProcessReadiness,
}

struct OpenWatch {
    progress: Arc<Progress>,
    users: HashSet<RunnableKey>,
    /// `None` while there is no place for it.
    task: Option<AbortHandle>,
}

impl OpenWatch {
    fn stop(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// Counts the places that are taken: kinds that only wait for one take none.
fn count_taken(open: &HashMap<Watched, OpenWatch>) -> usize {
    open.values().filter(|entry| entry.task.is_some()).count()
}

impl Watches {
    /// Returns why one of the process's own watches is lacking, or `None` if it is not.
    #[must_use]
    pub fn why_lacking(&self, what: &str) -> Option<String> {
        self.readiness.why_lacking(what)
    }

    /// Creates a registry without watches.
    #[must_use]
    pub fn new(
        most: usize,
        namespace: Option<String>,
        deadline: Duration,
        metrics: Metrics,
        readiness: ProcessReadiness,
    ) -> Self {
        Self {
            open: Mutex::default(),
            most,
            namespace,
            deadline,
            metrics,
            readiness,
        }
    }

    /// Makes exactly the watches in `now` serve a Runnable: starts those that no Runnable had, and stops those that
    /// none has any more. Returns the stopped ones. `before` is the set that served it until now.
    pub fn want(
        &self,
        key: &RunnableKey,
        before: &BTreeSet<Watched>,
        now: &BTreeSet<Watched>,
        start: impl Fn(&Watched, Arc<Progress>) -> AbortHandle,
    ) -> Vec<Watched> {
        if before == now {
            return Vec::new();
        }
        let mut open = lock(&self.open);
        let mut closed = Vec::new();
        for watched in before.difference(now) {
            let Some(entry) = open.get_mut(watched) else {
                continue;
            };
            entry.users.remove(key);
            if entry.users.is_empty() {
                entry.stop();
                open.remove(watched);
                closed.push(watched.clone());
            }
        }
        self.fill(&mut open, &start);
        for watched in now.difference(before) {
            if !open.contains_key(watched) {
                let entry = self.begin(watched, count_taken(&open) < self.most, &start);
                open.insert(watched.clone(), entry);
            }
            if let Some(entry) = open.get_mut(watched) {
                entry.users.insert(key.clone());
            }
        }
        self.count(&open);
        closed
    }

    /// Removes a deleted Runnable from all watches. Returns those that serve no Runnable any more, which are stopped.
    pub fn forget(
        &self,
        key: &RunnableKey,
        mut unused: impl FnMut(&Watched),
        start: impl Fn(&Watched, Arc<Progress>) -> AbortHandle,
    ) -> Vec<Watched> {
        let mut closed = Vec::new();
        let mut open = lock(&self.open);
        open.retain(|watched, entry| {
            if entry.users.remove(key) {
                unused(watched);
            }
            let keep = !entry.users.is_empty();
            if !keep {
                closed.push(watched.clone());
                entry.stop();
            }
            keep
        });
        self.fill(&mut open, &start);
        self.count(&open);
        closed
    }

    /// Creates the entry of a kind that no Runnable needed until now. It is watched if there is room.
    fn begin(
        &self,
        watched: &Watched,
        room: bool,
        start: impl Fn(&Watched, Arc<Progress>) -> AbortHandle,
    ) -> OpenWatch {
        let state = if room {
            WatchState::Starting
        } else {
            let (kind, most) = (watched.kind.resource(), self.most);
            tracing::warn!(kind, most, "too many kinds to watch: this one is polled");
            WatchState::Polled
        };
        let progress = Arc::new(Progress::new(state, self.deadline));
        OpenWatch {
            task: room.then(|| start(watched, progress.clone())),
            progress,
            users: HashSet::new(),
        }
    }

    /// Starts the watches of kinds that found no place, as far as there are places now. They stay polled until their
    /// lists have come, which changes their state.
    fn fill(
        &self,
        open: &mut HashMap<Watched, OpenWatch>,
        start: impl Fn(&Watched, Arc<Progress>) -> AbortHandle,
    ) {
        let room = self.most.saturating_sub(count_taken(open));
        let mut waiting: Vec<_> = open
            .iter_mut()
            .filter(|(_, entry)| entry.task.is_none())
            .collect();
        waiting.sort_by_key(|(watched, _)| *watched);
        for (watched, entry) in waiting.into_iter().take(room) {
            entry.task = Some(start(watched, entry.progress.clone()));
        }
    }

    /// Returns the state of the watch of a kind; `Starting` for a kind without an entry.
    #[must_use]
    pub fn state(&self, watched: &Watched) -> WatchState {
        lock(&self.open)
            .get(watched)
            .map_or(WatchState::Starting, |open| open.progress.state())
    }

    /// Returns why a watch fails, or `None` if it has not failed for a while.
    #[must_use]
    pub fn failing(&self, watched: &Watched) -> Option<String> {
        lock(&self.open).get(watched)?.progress.failing()
    }

    /// Resets a watch that begins anew: until its list has come, nothing is known of its kind.
    pub fn reset(&self, watched: &Watched, enqueuer: &Enqueuer) {
        let progress = lock(&self.open)
            .get(watched)
            .map(|open| open.progress.clone());
        if progress.is_some_and(|progress| progress.restart()) {
            for key in self.state_changed(watched) {
                enqueuer.enqueue(&key);
            }
        }
    }

    /// Counts the watches after a change of state, and returns the Runnables that this one serves.
    fn state_changed(&self, watched: &Watched) -> Vec<RunnableKey> {
        self.count(&lock(&self.open));
        self.users(watched)
    }

    /// Returns the API for the objects of a kind, in the namespace that is watched.
    fn api<K>(&self, client: Client, kind: &Kind) -> Api<K>
    where
        K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    {
        let resource = object::api_resource(kind);
        match &self.namespace {
            Some(namespace) if kind.namespaced => {
                Api::namespaced_with(client, namespace, &resource)
            }
            _ => Api::all_with(client, &resource),
        }
    }

    /// Returns all watches that serve a Runnable, those that wait for a place included.
    #[must_use]
    pub fn open(&self) -> Vec<Watched> {
        lock(&self.open).keys().cloned().collect()
    }

    /// Returns the Runnables that a watch serves.
    #[must_use]
    pub fn users(&self, watched: &Watched) -> Vec<RunnableKey> {
        lock(&self.open)
            .get(watched)
            .map(|open| open.users.iter().cloned().collect())
            .unwrap_or_default()
    }

    fn count(&self, open: &HashMap<Watched, OpenWatch>) {
        let mut failing = Vec::new();
        let mut polled = 0;
        for (watched, open) in open {
            if let Some(why) = open.progress.failing() {
                let resource = watched.kind.resource();
                failing.push(format!(
                    "the watch of {resource} fails, so it is polled: {why}"
                ));
            } else if open.progress.state() == WatchState::Polled {
                polled += 1;
            }
        }
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let watched = open.len() - polled - failing.len();
        self.metrics.watches(WatchLabel::Polled, number(polled));
        self.metrics.watches(WatchLabel::Watched, number(watched));
        let failed = number(failing.len());
        self.metrics.watches(WatchLabel::Failing, failed);
        failing.sort();
        failing.dedup();
        self.readiness.warn(failing);
    }
}

/// Returns the configuration that all watches share.
pub(crate) fn config() -> watcher::Config {
    watcher::Config::default()
        .timeout(WATCH_SECONDS)
        .page_size(PAGE_SIZE)
}

/// Failures of a watch in a row, which decide the pause before its next try.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    in_a_row: u32,
}

impl Failures {
    pub(crate) fn came<K>(&mut self, event: &watcher::Event<K>) {
        if progress::is_good(event) {
            self.in_a_row = 0;
        }
    }

    /// Returns true if a permission is missing, and the pause before the next try.
    pub(crate) fn after(&mut self, error: &watcher::Error) -> (bool, Duration) {
        use watcher::Error::{
            InitialListFailed, NoResourceVersion, WatchError, WatchFailed, WatchStartFailed,
        };
        let status = match error {
            InitialListFailed(kube::Error::Api(status))
            | WatchStartFailed(kube::Error::Api(status))
            | WatchError(status) => Some(status.code),
            InitialListFailed(_) | WatchStartFailed(_) | WatchFailed(_) | NoResourceVersion => None,
        };
        if matches!(status, Some(403 | 405)) {
            return (true, FORBIDDEN_PAUSE);
        }
        let pause = WATCHES.delay(self.in_a_row);
        self.in_a_row = self.in_a_row.saturating_add(1);
        (false, pause)
    }
}

#[cfg(test)]
mod tests;
