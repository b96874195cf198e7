//! Which kinds are watched, and whom an event enqueues.
//!
//! Kinds are known only at run time, so each has a task of its own: one that fails holds up no
//! other. A kind is watched only while a Runnable needs it.

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
    endpoints::Readiness,
    lock::lock,
    metrics::{Metrics, WatchLabel},
    runnable_key::RunnableKey,
    watched_kind::Watched,
};

/// A silent connection is noticed after this time; the server ends every watch then.
const WATCH_SECONDS: u32 = 50;
/// How long a watch that may not be had is left alone.
const FORBIDDEN_PAUSE: Duration = Duration::from_secs(30);

/// The watches of all kinds.
pub struct Watches {
    open: Mutex<HashMap<Watched, OpenWatch>>,
    /// Watches that are open at most: kinds are chosen by those who write templates and selectors.
    most: usize,
    /// The only namespace in which anything is watched, if there is one.
    namespace: Option<String>,
    /// Requests are given up after this time.
    deadline: Duration,
    metrics: Metrics,
    readiness: Readiness,
}

struct OpenWatch {
    progress: Arc<Progress>,
    users: HashSet<RunnableKey>,
    /// None while there is no place for it.
    task: Option<AbortHandle>,
}

impl OpenWatch {
    fn stop(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// The places that are taken: kinds that only wait for one take none.
fn taken(open: &HashMap<Watched, OpenWatch>) -> usize {
    open.values().filter(|entry| entry.task.is_some()).count()
}

impl Watches {
    /// Why the process does without a watch of its own, if it does.
    #[must_use]
    pub fn why_lacking(&self, what: &str) -> Option<String> {
        self.readiness.why_lacking(what)
    }

    /// No watch yet.
    #[must_use]
    pub fn new(
        most: usize,
        namespace: Option<String>,
        deadline: Duration,
        metrics: Metrics,
        readiness: Readiness,
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

    /// Makes exactly these watches serve a Runnable, starting those that nobody had and stopping
    /// those that nobody has any more, which are returned. `before` is what served it until now.
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
                let entry = self.begin(watched, taken(&open) < self.most, &start);
                open.insert(watched.clone(), entry);
            }
            if let Some(entry) = open.get_mut(watched) {
                entry.users.insert(key.clone());
            }
        }
        self.count(&open);
        closed
    }

    /// A Runnable is gone: it needs no watch any more. Those that nobody has any more are returned.
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

    /// A kind that nobody needed until now, which is watched if there is room.
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

    /// Starts the watches of kinds that found no place, as far as there are places now. They stay polled
    /// until their lists have come, which changes their state.
    fn fill(
        &self,
        open: &mut HashMap<Watched, OpenWatch>,
        start: impl Fn(&Watched, Arc<Progress>) -> AbortHandle,
    ) {
        let room = self.most.saturating_sub(taken(open));
        let mut waiting: Vec<_> = open
            .iter_mut()
            .filter(|(_, entry)| entry.task.is_none())
            .collect();
        waiting.sort_by_key(|(watched, _)| *watched);
        for (watched, entry) in waiting.into_iter().take(room) {
            entry.task = Some(start(watched, entry.progress.clone()));
        }
    }

    /// How well a kind is watched; `Starting` for one that nobody asked for.
    #[must_use]
    pub fn state(&self, watched: &Watched) -> WatchState {
        lock(&self.open)
            .get(watched)
            .map_or(WatchState::Starting, |open| open.progress.state())
    }

    /// Why a watch fails, if it has for a while.
    #[must_use]
    pub fn failing(&self, watched: &Watched) -> Option<String> {
        lock(&self.open).get(watched)?.progress.failing()
    }

    /// A watch begins anew: until its list has come nothing is known of its kind.
    pub fn restarted(&self, watched: &Watched, enqueuer: &Enqueuer) {
        let progress = lock(&self.open)
            .get(watched)
            .map(|open| open.progress.clone());
        if progress.is_some_and(|progress| progress.restart()) {
            for key in self.state_changed(watched) {
                enqueuer.enqueue(&key);
            }
        }
    }

    /// A watch fares otherwise than before: those whom it serves.
    fn state_changed(&self, watched: &Watched) -> Vec<RunnableKey> {
        self.count(&lock(&self.open));
        self.users(watched)
    }

    /// Where the objects of a kind are watched.
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

    /// The watches that serve anybody.
    #[must_use]
    pub fn open(&self) -> Vec<Watched> {
        lock(&self.open).keys().cloned().collect()
    }

    /// The Runnables that a watch serves.
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

/// How everything is watched.
pub(crate) fn config() -> watcher::Config {
    watcher::Config::default()
        .timeout(WATCH_SECONDS)
        .page_size(PAGE_SIZE)
}

/// What a failed watch means, and how long to leave it alone.
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

    /// Whether a permission is missing, and the pause before the next try.
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
