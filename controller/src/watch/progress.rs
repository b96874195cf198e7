//! How a watch fares: whether its list has come, and whether it goes on.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_protocol::facts::WatchState;
use futures::{Stream, StreamExt};
use kube::runtime::watcher;
use tokio::time::{Instant, timeout};

use super::Failures;
use crate::{api::answers, backoff::PATIENCE, lock::lock};

/// What a try may take beyond the deadline of its request.
const SLACK: Duration = Duration::from_secs(5);

/// How one watch fares, as its task knows it.
///
/// Nothing says that a watch has begun: kube's stream shows neither that, nor a bookmark, nor that the API
/// server ended it after its time. But a try that gets no watch is over by the deadline of its request. So a
/// watch that nothing was heard of for longer than that goes on, and one that breaks later than that has
/// worked until then, unless a list is under way, which may take its time and still come to nothing.
#[derive(Debug)]
pub struct Progress {
    inner: Mutex<ProgressState>,
    /// How long a try takes at most that gets no watch.
    a_try: Duration,
}

#[derive(Debug)]
struct ProgressState {
    state: WatchState,
    /// Its list has come.
    listed: bool,
    /// A list is under way, or due.
    listing: bool,
    /// When anything was last heard of it, or the pause behind an error ended.
    since: Instant,
    /// The first of the errors that nothing good came between.
    erred: Option<Instant>,
    /// Why it fails, once that has lasted. The first message stays, so that a status does not change with
    /// every try.
    failing: Option<String>,
    /// Why it may not be had.
    refused: Option<String>,
}

impl ProgressState {
    /// Once its list has come, a watch that works shows everything, whatever it was refused meanwhile.
    fn works(&mut self) {
        if self.listed {
            self.state = WatchState::Synced;
        }
        (self.erred, self.failing, self.refused) = (None, None, None);
    }

    /// Nothing was heard of it for longer than a try takes.
    fn calm(&mut self) {
        if self.listed && !self.listing {
            self.works();
        }
    }

    fn erred(&mut self, a_try: Duration, why: impl FnOnce() -> String) {
        let now = Instant::now();
        if now - self.since > a_try {
            self.calm();
        }
        self.since = now;
        let first = *self.erred.get_or_insert(now);
        if now - first >= PATIENCE && self.state != WatchState::Polled {
            self.failing.get_or_insert_with(why);
        }
    }

    fn effective(&self) -> WatchState {
        if self.failing.is_some() {
            WatchState::Polled
        } else {
            self.state
        }
    }
}

impl Progress {
    /// A watch that is about to begin, or never will; its requests are given up after the deadline.
    #[must_use]
    pub fn new(state: WatchState, deadline: Duration) -> Self {
        let inner = ProgressState {
            state,
            listed: false,
            listing: true,
            since: Instant::now(),
            erred: None,
            failing: None,
            refused: None,
        };
        Self {
            inner: Mutex::new(inner),
            a_try: deadline + SLACK,
        }
    }

    /// How well the kind is watched; one whose watch fails is polled.
    #[must_use]
    pub fn state(&self) -> WatchState {
        lock(&self.inner).effective()
    }

    /// Why the watch fails, if it has for a while.
    #[must_use]
    pub fn failing(&self) -> Option<String> {
        lock(&self.inner).failing.clone()
    }

    /// Why nothing is heard of it, if it fails or may not be had.
    pub(super) fn silent(&self) -> Option<String> {
        let inner = lock(&self.inner);
        inner.failing.clone().or_else(|| inner.refused.clone())
    }

    /// True if it may not be had, as it was answered last.
    pub(super) fn is_forbidden(&self) -> bool {
        let inner = lock(&self.inner);
        inner.failing.is_none() && inner.refused.is_some()
    }

    /// Its task ended where none should, and it begins anew, knowing nothing. Whether that makes a
    /// difference.
    pub fn restart(&self) -> bool {
        self.change(|inner| {
            (inner.state, inner.listed) = (WatchState::Starting, false);
            inner.erred(self.a_try, || "its task has failed".to_owned());
            inner.listing = true;
        })
    }

    fn change(&self, change: impl FnOnce(&mut ProgressState)) -> bool {
        let mut inner = lock(&self.inner);
        let before = (inner.effective(), inner.failing.is_some());
        change(&mut inner);
        before != (inner.effective(), inner.failing.is_some())
    }

    /// An event came, and was taken.
    fn came(&self, seen: Seen) -> bool {
        self.change(|inner| {
            inner.since = Instant::now();
            match seen {
                Seen::ListBegins => inner.listing = true,
                Seen::Listed => {}
                Seen::ListEnds => {
                    (inner.state, inner.listed, inner.listing) = (WatchState::Synced, true, false);
                    inner.works();
                }
                Seen::Change => inner.works(),
            }
        })
    }

    fn last_failure(&self, error: &watcher::Error, forbidden: bool) -> bool {
        self.change(|inner| {
            if forbidden {
                inner.state = WatchState::Polled;
                (inner.erred, inner.failing) = (None, None);
                inner.refused = Some(reason(error));
                return;
            }
            inner.erred(self.a_try, || reason(error));
        })
    }

    /// The pause behind an error is over.
    fn goes_on(&self) {
        lock(&self.inner).since = Instant::now();
    }

    fn calm(&self) -> bool {
        self.change(ProgressState::calm)
    }

    /// Follows a watch to its end: each event is taken, and `on_change` called if that changed the state.
    pub(super) async fn follow<K>(
        self: &Arc<Self>,
        what: &str,
        events: impl Stream<Item = watcher::Result<watcher::Event<K>>> + Unpin,
        mut take: impl FnMut(watcher::Event<K>),
        on_change: impl Fn(),
    ) {
        let mut following = Following::new(self.clone(), what.to_owned(), events, on_change);
        while let Some(event) = following.next().await {
            take(event);
        }
    }
}

/// The events of a watch that is followed: errors are waited out.
pub(super) struct Following<E, T> {
    progress: Arc<Progress>,
    what: String,
    events: E,
    on_change: T,
    failures: Failures,
    /// The event that was given out last; it counts when it was taken.
    given: Option<Seen>,
}

/// What an event shows of its watch.
#[derive(Clone, Copy, Debug)]
enum Seen {
    ListBegins,
    Listed,
    ListEnds,
    Change,
}

impl Seen {
    fn of<K>(event: &watcher::Event<K>) -> Self {
        match event {
            watcher::Event::Init => Self::ListBegins,
            watcher::Event::InitApply(_) => Self::Listed,
            watcher::Event::InitDone => Self::ListEnds,
            watcher::Event::Apply(_) | watcher::Event::Delete(_) => Self::Change,
        }
    }
}

impl<E, K, T> Following<E, T>
where
    E: Stream<Item = watcher::Result<watcher::Event<K>>> + Unpin,
    T: Fn(),
{
    pub(super) fn new(progress: Arc<Progress>, what: String, events: E, on_change: T) -> Self {
        Self {
            progress,
            what,
            events,
            on_change,
            failures: Failures::default(),
            given: None,
        }
    }

    /// The next event, once the one before was taken.
    pub(super) async fn next(&mut self) -> Option<watcher::Event<K>> {
        if let Some(given) = self.given.take()
            && self.progress.came(given)
        {
            (self.on_change)();
        }
        loop {
            match timeout(self.progress.a_try, self.events.next()).await {
                Ok(Some(Ok(event))) => {
                    self.failures.came(&event);
                    self.given = Some(Seen::of(&event));
                    return Some(event);
                }
                Ok(Some(Err(error))) => self.wait_out(&error).await,
                Ok(None) => return None,
                Err(_) if self.progress.calm() => (self.on_change)(),
                Err(_) => {}
            }
        }
    }

    async fn wait_out(&mut self, error: &watcher::Error) {
        let (forbidden, pause) = self.failures.after(error);
        tracing::warn!(what = self.what, %error, forbidden, "a watch failed");
        if self.progress.last_failure(error, forbidden) {
            (self.on_change)();
        }
        tokio::time::sleep(pause).await;
        self.progress.goes_on();
    }
}

/// Whether an event shows that a watch works. Every try begins with the beginning of a list, which may
/// still break off.
pub(super) fn is_good<K>(event: &watcher::Event<K>) -> bool {
    !matches!(event, watcher::Event::Init | watcher::Event::InitApply(_))
}

/// Why a watch fails, in words that name nothing of other namespaces: the log has all of it.
pub(crate) fn reason(error: &watcher::Error) -> String {
    use watcher::Error::{InitialListFailed, WatchError, WatchFailed, WatchStartFailed};
    let (InitialListFailed(cause) | WatchStartFailed(cause) | WatchFailed(cause)) = error else {
        return match error {
            WatchError(status) => answered(status),
            _ => "an answer has no resourceVersion".to_owned(),
        };
    };
    match cause {
        kube::Error::Api(status) => answered(status),
        kube::Error::SerdeError(_) => "an answer cannot be read".to_owned(),
        _ => "the API server does not answer".to_owned(),
    }
}

fn answered(status: &kube::core::Status) -> String {
    answers(status.code, &status.reason)
}

#[cfg(test)]
mod tests;
