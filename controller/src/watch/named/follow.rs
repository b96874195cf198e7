//! The task of one watch: begins it, resumes it where it ended, and gives up its place if the account may not watch.
//! I/O.

use std::{sync::Arc, time::Duration};

use cartouche_protocol::messages::reconcile_error::Requeue;
use futures::{Stream, StreamExt};
use tokio::time::{Instant, sleep, timeout_at};

use super::{SecretWatchState, SecretWatches, WatchedSecret};
use crate::{
    api::{ApiError, WatchEvent},
    backoff::{OBJECT_WATCHES, PATIENCE, TENTH},
    discovery::Kind,
    metrics::ObjectWatch,
};

/// Mean time that a watch is open. It varies, so that watches that began together do not end together, and none is open
/// for longer than [`super::super::WATCH_SECONDS`].
const OPEN_FOR: Duration = Duration::from_secs(45);
/// Time beyond that in which the API server ends the watch.
const SLACK: Duration = Duration::from_secs(10);
/// Shortest time of a watch that counts as working.
const SHORT: Duration = Duration::from_secs(5);
/// Time for which the first events of a watch are gathered, so that a Secret that is there is not reported twice.
const GATHERED: Duration = Duration::from_millis(100);
/// Least time between two reports of a Secret that changes again and again: after each one all its users read it again.
/// The first is at once.
const SENT_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// End of a watch.
enum WatchEnd {
    /// It was open for its time.
    Over,
    /// The version to resume from is too old.
    Gone,
    /// The account may not watch it.
    Refused,
    /// Any other failure.
    Failed(String),
}

impl From<ApiError> for WatchEnd {
    fn from(error: ApiError) -> Self {
        if error.is_forbidden() || error.is_unsupported() {
            Self::Refused
        } else if error.is_gone() {
            Self::Gone
        } else {
            Self::Failed(error.brief())
        }
    }
}

/// Watches a Secret until the task is aborted; a refusal has it aborted.
pub(super) async fn follow(
    watches: Arc<SecretWatches>,
    secret: Arc<WatchedSecret>,
    state: Arc<SecretWatchState>,
    pause: Duration,
) {
    sleep(pause).await;
    let watch = Following {
        watches: &watches,
        secret: &secret,
        state: &state,
    };
    let was_open = watch.until_refused().await;
    watches.end_refused(&secret, &state, was_open);
    std::future::pending::<()>().await;
}

/// Takes events until the watch ends (the end is returned) or `until` (`None`). `version` is kept up to date. Calls
/// `changed` at most once in [`SENT_AGAIN_AFTER`].
async fn take(
    events: &mut (impl Stream<Item = Result<WatchEvent, ApiError>> + Unpin),
    until: Instant,
    version: &mut Option<String>,
    changed: impl Fn(),
) -> Option<WatchEnd> {
    let (mut sent_at, mut is_owed) = (None::<Instant>, false);
    let end = loop {
        let again = sent_at.map(|at| at + SENT_AGAIN_AFTER);
        let next = again.filter(|_| is_owed).map_or(until, |at| at.min(until));
        match timeout_at(next, events.next()).await {
            Ok(Some(Ok(signal))) => {
                *version = signal.version.or(version.take());
                is_owed |= signal.has_changed;
            }
            Ok(Some(Err(error))) => break Some(error.into()),
            Ok(None) => break Some(WatchEnd::Over),
            Err(_) if next == until => break None,
            Err(_) => {}
        }
        if is_owed && again.is_none_or(|at| at <= Instant::now()) {
            changed();
            (sent_at, is_owed) = (Some(Instant::now()), false);
        }
    };
    if is_owed {
        changed();
    }
    end
}

struct Following<'a> {
    watches: &'a SecretWatches,
    secret: &'a WatchedSecret,
    state: &'a Arc<SecretWatchState>,
}

impl Following<'_> {
    /// Watches as long as the account may. Returns true if the watch was ever open.
    async fn until_refused(&self) -> bool {
        let (mut version, mut failures, mut failing) = (None, 0, None::<Instant>);
        let mut was_open = false;
        loop {
            let began = Instant::now();
            let end = self.once(&mut version, &mut was_open).await;
            if began.elapsed() >= SHORT {
                (failures, failing) = (0, None);
                if matches!(end, WatchEnd::Over) {
                    continue;
                }
            }
            let why = match end {
                WatchEnd::Refused => return was_open,
                WatchEnd::Gone => {
                    version = None;
                    "its resourceVersion is too old".to_owned()
                }
                WatchEnd::Over => "it ends at once".to_owned(),
                WatchEnd::Failed(why) => why,
            };
            if failing.get_or_insert(began).elapsed() >= PATIENCE {
                self.fail(&why);
            }
            sleep(OBJECT_WATCHES.delay(failures)).await;
            failures = failures.saturating_add(1);
        }
    }

    /// Makes one request. `version` is the version to resume from; without one, earlier changes are unknown.
    async fn once(&self, version: &mut Option<String>, was_open: &mut bool) -> WatchEnd {
        let open_for = TENTH.over(OPEN_FOR);
        let until = Instant::now() + open_for + SLACK;
        let WatchedSecret {
            namespace,
            account,
            name,
        } = self.secret;
        // This replaces a token that has expired.
        let requests = match self.watches.identity.requests_as(namespace, account).await {
            Ok(requests) => requests,
            Err(error) if error.requeue == Requeue::OnRbac => return WatchEnd::Refused,
            Err(error) => return WatchEnd::Failed(error.category.to_string()),
        };
        let path = Kind::secrets().path(namespace);
        let open = requests.watch_one(&path, name, version.as_deref(), open_for.as_secs());
        let mut events = match open.await {
            Ok(events) => events,
            Err(error) => return error.into(),
        };
        *was_open = true;
        // Changes before the watch was open are reported at once; later ones by its events.
        let is_new = version.is_none();
        if is_new
            && let Some(end) = take(&mut events, Instant::now() + GATHERED, version, || {}).await
        {
            return end;
        }
        self.turn(ObjectWatch::Watched);
        let changed = || self.watches.changed(self.secret);
        if is_new {
            changed();
        }
        let end = take(&mut events, until, version, changed).await;
        end.unwrap_or_else(|| WatchEnd::Failed("it sends nothing".to_owned()))
    }

    fn turn(&self, now: ObjectWatch) {
        self.watches.turn(self.secret, self.state, now);
    }

    fn fail(&self, why: &str) {
        if self.state.now() != ObjectWatch::Failing {
            let WatchedSecret {
                namespace, name, ..
            } = self.secret;
            tracing::warn!(
                namespace,
                secret = name,
                why,
                "the watch of a Secret fails: it is polled meanwhile"
            );
        }
        self.turn(ObjectWatch::Failing);
    }
}
