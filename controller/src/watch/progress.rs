//! How a watch fares: whether its list has come, and whether it goes on.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{Stream, StreamExt};
use kube::runtime::watcher;
use tokio::time::{Instant, timeout};

use super::Failures;
use crate::{api::answers, reconcile::facts::WatchState};

/// How long a watch that is needed may be without success before that is said, and its kind is polled.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// A watch without an error for this long goes on, though nothing may have happened that it could tell:
/// longer than a try, which its deadline ends, and the pause behind it.
const CALM: Duration = Duration::from_secs(90);

/// How one watch fares, as its task knows it.
#[derive(Debug)]
pub struct Progress(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    state: WatchState,
    /// Its list has come.
    listed: bool,
    /// The first and the last of the errors that nothing good came between.
    errors: Option<(Instant, Instant)>,
    /// Why it fails, once that has lasted. The first word stays, so that a status does not change with
    /// every try.
    failing: Option<String>,
}

impl Inner {
    /// Once its list has come, a watch that works tells everything, whatever it was refused meanwhile.
    fn works(&mut self) {
        if self.listed {
            self.state = WatchState::Synced;
        }
        (self.errors, self.failing) = (None, None);
    }

    fn erred(&mut self, why: impl FnOnce() -> String) {
        let now = Instant::now();
        let first = match self.errors {
            Some((first, last)) if now - last < CALM => first,
            _ => now,
        };
        self.errors = Some((first, now));
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
    /// A watch that is about to begin, or never will.
    #[must_use]
    pub fn new(state: WatchState) -> Self {
        Self(Mutex::new(Inner {
            state,
            listed: false,
            errors: None,
            failing: None,
        }))
    }

    /// How well the kind is watched; one whose watch fails is polled.
    #[must_use]
    pub fn state(&self) -> WatchState {
        self.lock().effective()
    }

    /// Why the watch fails, if it has for a while.
    #[must_use]
    pub fn failing(&self) -> Option<String> {
        self.lock().failing.clone()
    }

    /// Its task ended where none should, and it begins anew, knowing nothing. Whether that makes a
    /// difference.
    pub fn restart(&self) -> bool {
        self.change(|inner| {
            (inner.state, inner.listed) = (WatchState::Starting, false);
            inner.erred(|| "its task has failed".to_owned());
        })
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) -> bool {
        let mut inner = self.lock();
        let before = (inner.effective(), inner.failing.is_some());
        change(&mut inner);
        before != (inner.effective(), inner.failing.is_some())
    }

    /// Something came; if it `ends` a list, all that is there is known.
    fn came(&self, ends: bool) -> bool {
        self.change(|inner| {
            if ends {
                (inner.state, inner.listed) = (WatchState::Synced, true);
            }
            inner.works();
        })
    }

    fn failed(&self, error: &watcher::Error, forbidden: bool) -> bool {
        self.change(|inner| {
            if forbidden {
                inner.state = WatchState::Polled;
                (inner.errors, inner.failing) = (None, None);
                return;
            }
            inner.erred(|| reason(error));
        })
    }

    /// Nothing was wrong for a while.
    fn calm(&self) -> bool {
        self.change(|inner| {
            if inner.listed {
                inner.works();
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows a watch to its end: each event is taken, and then it is said if that `turned` the state.
    pub(super) async fn follow<K>(
        &self,
        what: &str,
        events: impl Stream<Item = watcher::Result<watcher::Event<K>>> + Unpin,
        mut take: impl FnMut(watcher::Event<K>),
        turned: impl Fn(),
    ) {
        let mut events = events;
        let mut failures = Failures::new();
        loop {
            let next = match timeout(CALM, events.next()).await {
                Ok(Some(next)) => next,
                Ok(None) => return,
                Err(_) => {
                    if self.calm() {
                        turned();
                    }
                    continue;
                }
            };
            let changed = match next {
                Ok(event) => {
                    failures.came(&event);
                    let (good, ends) = (is_good(&event), matches!(event, watcher::Event::InitDone));
                    take(event);
                    good && self.came(ends)
                }
                Err(error) => {
                    let (forbidden, pause) = failures.after(&error);
                    tracing::warn!(what, %error, forbidden, "a watch failed");
                    if self.failed(&error, forbidden) {
                        turned();
                    }
                    tokio::time::sleep(pause).await;
                    continue;
                }
            };
            if changed {
                turned();
            }
        }
    }
}

/// Whether an event shows that a watch works. Every try begins with the beginning of a list, which may
/// still break off.
pub(super) fn is_good<K>(event: &watcher::Event<K>) -> bool {
    !matches!(event, watcher::Event::Init | watcher::Event::InitApply(_))
}

/// Why a watch fails, in words that name nothing of other namespaces: the log has all of it.
pub(super) fn reason(error: &watcher::Error) -> String {
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
mod tests {
    use std::{cell::Cell, time::Duration};

    use futures::{StreamExt, stream};
    use kube::runtime::watcher::{Error, Event};
    use tokio::time::sleep;

    use super::{PATIENCE, Progress, WatchState};

    fn error(code: u16) -> Error {
        let mut status = kube::core::Status::failure("no", "InternalError");
        status.code = code;
        Error::InitialListFailed(kube::Error::Api(Box::new(status)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_does_not_come_is_polled_and_comes_back() {
        let progress = Progress::new(WatchState::Starting);
        let turns = Cell::new(0);
        let begun = tokio::time::Instant::now();
        let events = stream::iter(0..).then(|index| async move {
            match index {
                _ if begun.elapsed() > PATIENCE * 2 => Ok(Event::InitDone),
                // Each try begins with this, and it is nothing good.
                _ if index % 2 == 0 => Ok(Event::Init),
                _ => Err(error(500)),
            }
        });
        let events = events.take_while(|event| {
            std::future::ready(!(matches!(event, Ok(Event::InitDone)) && turns.get() == 2))
        });
        let said = std::cell::RefCell::new(Vec::new());
        let tries = Cell::new(0);
        progress
            .follow::<()>(
                "things",
                Box::pin(events),
                |event| {
                    if matches!(event, Event::Init) {
                        tries.set(tries.get() + 1);
                    }
                },
                || {
                    turns.set(turns.get() + 1);
                    said.borrow_mut()
                        .push((progress.state(), progress.failing()));
                },
            )
            .await;
        let failing = "the API server answers 500 InternalError".to_owned();
        assert_eq!(
            *said.borrow(),
            [
                (WatchState::Polled, Some(failing)),
                (WatchState::Synced, None)
            ]
        );
        assert!(tries.get() < 15, "{} tries in a minute", tries.get());
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_errors_and_long_silence_are_nothing_to_speak_of() {
        let progress = Progress::new(WatchState::Starting);
        let turns = Cell::new(0);
        let events = stream::iter([0, 1, 2, 3]).then(|index| async move {
            if index == 0 {
                return Ok(Event::InitDone);
            }
            sleep(Duration::from_mins(3)).await;
            Err(error(500))
        });
        let turned = || turns.set(turns.get() + 1);
        let follow = progress.follow::<()>("things", Box::pin(events), |_| {}, turned);
        follow.await;
        assert_eq!((progress.state(), turns.get()), (WatchState::Synced, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_breaks_is_said_and_silence_means_that_it_goes_on() {
        let progress = Progress::new(WatchState::Starting);
        let said = std::cell::RefCell::new(Vec::new());
        let events = stream::iter(0..20).then(|index| async move {
            match index {
                0 => Ok(Event::InitDone),
                19 => {
                    sleep(Duration::from_mins(3)).await;
                    Ok(Event::Init)
                }
                _ => Err(error(503)),
            }
        });
        let turned = || said.borrow_mut().push(progress.state());
        let follow = progress.follow::<()>("things", Box::pin(events), |_| {}, turned);
        follow.await;
        assert_eq!(
            *said.borrow(),
            [WatchState::Synced, WatchState::Polled, WatchState::Synced]
        );
    }

    #[test]
    fn a_watch_that_may_not_be_had_is_polled_at_once_and_not_called_failing() {
        let progress = Progress::new(WatchState::Starting);
        assert!(progress.failed(&error(403), true));
        assert_eq!(progress.state(), WatchState::Polled);
        assert_eq!(progress.failing(), None);
        assert!(progress.restart());
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_whose_task_fails_again_and_again_keeps_nobody_waiting_for_its_list() {
        let progress = Progress::new(WatchState::Starting);
        progress.came(true);
        assert!(progress.restart());
        assert_eq!(progress.state(), WatchState::Starting);
        sleep(PATIENCE).await;
        assert!(progress.restart());
        assert_eq!(progress.state(), WatchState::Polled);
    }
}
