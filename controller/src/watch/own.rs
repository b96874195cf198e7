//! Watches of what the controller itself needs: Runnables and templates, and what they refer to without naming a kind.
//! There is no polling in their place: a failure is reported to operators as long as it lasts.

use std::{sync::Arc, time::Duration};

use cartouche_protocol::facts::WatchState;
use futures::{Stream, StreamExt, stream};
use kube::runtime::watcher;

use super::{
    Progress,
    progress::{FollowedEvents, reason},
};
use crate::{endpoints::ProcessReadiness, metrics::Metrics};

/// The places where the state of the controller's own watches is reported.
#[derive(Clone)]
pub struct OwnWatches {
    /// Resources that the process lacks.
    pub readiness: ProcessReadiness,
    /// Metrics that count them.
    pub metrics: Metrics,
    /// Deadline of a request.
    pub deadline: Duration,
}

impl OwnWatches {
    /// Returns the events of a watch. Errors are waited out and reported: while the watch is waited for, each in the
    /// words of `why`; later, once they last.
    pub fn follow<K, E, W>(
        &self,
        what: &'static str,
        events: E,
        why: W,
    ) -> impl Stream<Item = watcher::Event<K>> + Send + use<K, E, W>
    where
        K: Send,
        E: Stream<Item = watcher::Result<watcher::Event<K>>> + Send,
        W: Fn(&watcher::Error) -> String + Send,
    {
        let progress = Arc::new(Progress::new(WatchState::Starting, self.deadline));
        self.metrics.own_watch(what, false);
        let on_change = {
            let (own, progress) = (self.clone(), progress.clone());
            move || own.report(what, &progress)
        };
        let readiness = self.readiness.clone();
        let events = events.inspect(move |event| {
            if let Err(error) = event {
                readiness.because(what, why(error));
            }
        });
        let following = FollowedEvents::new(progress, what.to_owned(), Box::pin(events), on_change);
        stream::unfold(following, |mut following| async move {
            let event = following.next().await?;
            Some((event, following))
        })
    }

    /// Follows a watch as [`Self::follow`] does, and reports its errors in few words.
    pub fn follow_plainly<K, E>(
        &self,
        what: &'static str,
        events: E,
    ) -> impl Stream<Item = watcher::Event<K>> + Send + use<K, E>
    where
        K: Send,
        E: Stream<Item = watcher::Result<watcher::Event<K>>> + Send,
    {
        self.follow(what, events, reason)
    }

    /// Takes a watch that nothing needs any more out of what is reported.
    pub fn remove(&self, what: &'static str) {
        self.readiness.has(what);
        self.metrics.own_watch_unneeded(what);
    }

    fn report(&self, what: &'static str, progress: &Progress) {
        let silent = progress.silence_reason();
        self.metrics.own_watch(what, silent.is_none());
        match silent {
            Some(why) => self.readiness.lacks(what, why, progress.is_forbidden()),
            None => self.readiness.has(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt, stream};
    use kube::runtime::watcher::{Error, Event};
    use tokio::time::{Instant, sleep};

    use super::{Duration, OwnWatches};
    use crate::{api::DEADLINE, endpoints::ProcessReadiness, metrics::Metrics};

    fn error(code: u16) -> Error {
        let mut status = kube::core::Status::failure("no", "Refused");
        status.code = code;
        Error::WatchStartFailed(kube::Error::Api(Box::new(status)))
    }

    fn own() -> OwnWatches {
        OwnWatches {
            readiness: ProcessReadiness::waiting_for(&[]),
            metrics: Metrics::default(),
            deadline: DEADLINE,
        }
    }

    /// Returns what is reported as lacking, and true if the metric shows the failure.
    fn said(own: &OwnWatches) -> (Vec<String>, bool) {
        let failing = r#"cartouche_watch_up{resource="things"} 0"#;
        (
            own.readiness.lacking(),
            own.metrics.text().contains(failing),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_fails_after_the_start_is_said_until_it_works_again() {
        let own = own();
        let begun = Instant::now();
        let events = stream::iter(0..).then(|index| async move {
            match index {
                0 => Ok(Event::InitDone),
                _ if begun.elapsed() < Duration::from_mins(2) => Err(error(500)),
                _ => Ok(Event::Apply(())),
            }
        });
        let mut events = Box::pin(own.follow_plainly("things", events));
        assert!(matches!(events.next().await, Some(Event::InitDone)));
        let failing = async {
            sleep(Duration::from_mins(1)).await;
            said(&own)
        };
        let (event, failing) = tokio::join!(events.next(), failing);
        assert!(matches!(event, Some(Event::Apply(()))));
        let line = "without things: the API server answers 500 Refused".to_owned();
        assert_eq!(failing, (vec![line], true));
        events.next().await;
        assert_eq!(said(&own), (vec![], false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_may_be_had_again_is_not_lacked_though_nothing_happens() {
        let own = own();
        let events = stream::iter([Ok(Event::InitDone), Err(error(403))]);
        let events = events.chain(stream::pending());
        let mut events = Box::pin(own.follow_plainly::<(), _>("things", events));
        events.next().await;
        let refused = async {
            sleep(Duration::from_secs(1)).await;
            said(&own)
        };
        let rest = tokio::time::timeout(Duration::from_mins(3), events.next());
        let (_, (lines, failing)) = tokio::join!(rest, refused);
        assert_eq!((lines.len(), failing), (1, true));
        assert_eq!(said(&own), (vec![], false));
    }
}
