//! State of a watch: its list has come or not, and it goes on or fails.

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

/// Time that a try may take beyond the deadline of its request.
const SLACK: Duration = Duration::from_secs(5);

/// State of one watch, as its task knows it.
///
/// No event shows that a watch has begun: kube's stream hides that, as well as bookmarks and the end of a watch by the
/// API server after its time. But a try that gets no watch is over by the deadline of its request. So a watch that was
/// silent for longer than that goes on, and one that breaks later than that has worked until then, unless a list is in
/// progress, which may take its time and still fail.
#[derive(Debug)]
pub struct Progress {
    inner: Mutex<ProgressState>,
    /// Longest time of a try that gets no watch.
    a_try: Duration,
}

#[derive(Debug)]
struct ProgressState {
    state: WatchState,
    /// True once its list has come.
    listed: bool,
    /// True while a list is in progress, or about to begin.
    listing: bool,
    /// Time of the last event, or of the end of the pause behind an error.
    since: Instant,
    /// Time of the first error since the watch last worked.
    erred: Option<Instant>,
    /// Message of a failure that has lasted. The first message stays, so that a status does not change with every try.
    failing: Option<String>,
    /// Message of a refusal.
    refused: Option<String>,
}

impl ProgressState {
    /// Records that the watch works: once its list has come it shows everything, whatever was refused in between.
    fn works(&mut self) {
        if self.listed {
            self.state = WatchState::Synced;
        }
        (self.erred, self.failing, self.refused) = (None, None, None);
    }

    /// Records that the watch was silent for longer than a try takes.
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
    /// Creates the state of a watch that is about to begin, or never will. `deadline` is that of its requests.
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

    /// Returns the state of the watch of a kind; one that fails counts as polled.
    #[must_use]
    pub fn state(&self) -> WatchState {
        lock(&self.inner).effective()
    }

    /// Returns why the watch fails, or `None` if it has not failed for a while.
    #[must_use]
    pub fn failing(&self) -> Option<String> {
        lock(&self.inner).failing.clone()
    }

    /// Returns why the watch delivers nothing, if it fails or was refused.
    pub(super) fn silence_reason(&self) -> Option<String> {
        let inner = lock(&self.inner);
        inner.failing.clone().or_else(|| inner.refused.clone())
    }

    /// Returns true if the last answer was a refusal.
    pub(super) fn is_forbidden(&self) -> bool {
        let inner = lock(&self.inner);
        inner.failing.is_none() && inner.refused.is_some()
    }

    /// Resets a watch whose task ended unexpectedly and begins anew. Returns true if that changes its state.
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

    /// Records that an event was processed.
    fn came(&self, seen: EventNews) -> bool {
        self.change(|inner| {
            inner.since = Instant::now();
            match seen {
                EventNews::ListBegins => inner.listing = true,
                EventNews::Listed => {}
                EventNews::ListEnds => {
                    (inner.state, inner.listed, inner.listing) = (WatchState::Synced, true, false);
                    inner.works();
                }
                EventNews::Change => inner.works(),
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

    /// Records that the pause behind an error is over.
    fn goes_on(&self) {
        lock(&self.inner).since = Instant::now();
    }

    fn calm(&self) -> bool {
        self.change(ProgressState::calm)
    }

    /// Follows a watch to its end: `take` gets each event, and `on_change` is called if the state changes.
    pub(super) async fn follow<K>(
        self: &Arc<Self>,
        what: &str,
        events: impl Stream<Item = watcher::Result<watcher::Event<K>>> + Unpin,
        mut take: impl FnMut(watcher::Event<K>),
        on_change: impl Fn(),
    ) {
        let mut following = FollowedEvents::new(self.clone(), what.to_owned(), events, on_change);
        while let Some(event) = following.next().await {
            take(event);
        }
    }
}

/// Events of a watch that is followed: errors are waited out.
pub(super) struct FollowedEvents<E, T> {
    progress: Arc<Progress>,
    what: String,
    events: E,
    on_change: T,
    failures: Failures,
    /// The event that was returned last; it counts once it was processed.
    given: Option<EventNews>,
}

/// Information of an event about its watch.
#[derive(Clone, Copy, Debug)]
enum EventNews {
    ListBegins,
    Listed,
    ListEnds,
    Change,
}

impl EventNews {
    fn from_event<K>(event: &watcher::Event<K>) -> Self {
        match event {
            watcher::Event::Init => Self::ListBegins,
            watcher::Event::InitApply(_) => Self::Listed,
            watcher::Event::InitDone => Self::ListEnds,
            watcher::Event::Apply(_) | watcher::Event::Delete(_) => Self::Change,
        }
    }
}

impl<E, K, T> FollowedEvents<E, T>
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

    /// Returns the next event; the call shows that the one before was processed.
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
                    self.given = Some(EventNews::from_event(&event));
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

/// Returns true if an event shows that a watch works. Every try begins with the beginning of a list, which may still
/// break off.
pub(super) fn is_good<K>(event: &watcher::Event<K>) -> bool {
    !matches!(event, watcher::Event::Init | watcher::Event::InitApply(_))
}

/// Describes why a watch fails, in words that name nothing of other namespaces: the log has all of it.
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
