use std::{
    cell::{Cell, RefCell},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, stream};
use kube::runtime::watcher::{Error, Event};
use tokio::time::sleep;

use super::{EventNews, PATIENCE, Progress, WatchState};

const DEADLINE: Duration = Duration::from_secs(15);

fn starting() -> Arc<Progress> {
    Arc::new(Progress::new(WatchState::Starting, DEADLINE))
}

fn error(code: u16) -> Error {
    let mut status = kube::core::Status::failure("no", "InternalError");
    status.code = code;
    Error::InitialListFailed(kube::Error::Api(Box::new(status)))
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_does_not_come_is_polled_and_comes_back() {
    let progress = starting();
    let turns = Cell::new(0);
    let begun = tokio::time::Instant::now();
    let events = stream::iter(0..).then(|index| async move {
        match index {
            _ if begun.elapsed() > PATIENCE * 2 => Ok(Event::InitDone),
            // Each try begins with this, which shows no success.
            _ if index % 2 == 0 => Ok(Event::Init),
            _ => Err(error(500)),
        }
    });
    let events = events.take_while(|event| {
        std::future::ready(!(matches!(event, Ok(Event::InitDone)) && turns.get() == 2))
    });
    let said = RefCell::new(Vec::new());
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
    let progress = starting();
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
    let progress = starting();
    let said = RefCell::new(Vec::new());
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
    let progress = starting();
    assert!(progress.last_failure(&error(403), true));
    assert_eq!(progress.state(), WatchState::Polled);
    assert_eq!(progress.failing(), None);
    assert!(progress.restart());
}

#[tokio::test(start_paused = true)]
async fn a_watch_whose_task_fails_again_and_again_keeps_nobody_waiting_for_its_list() {
    let progress = starting();
    progress.came(EventNews::ListEnds);
    assert!(progress.restart());
    assert_eq!(progress.state(), WatchState::Starting);
    sleep(PATIENCE).await;
    assert!(progress.restart());
    assert_eq!(progress.state(), WatchState::Polled);
}

/// Returns the states of a synced watch that breaks at these intervals.
async fn breaking(every: Duration) -> Vec<WatchState> {
    let progress = starting();
    let said = RefCell::new(Vec::new());
    let events = stream::iter(0..20).then(|index| async move {
        if index == 0 {
            return Ok(Event::InitDone);
        }
        sleep(every).await;
        Err(Error::WatchFailed(
            kube::Error::LinesCodecMaxLineLengthExceeded,
        ))
    });
    let turned = || said.borrow_mut().push(progress.state());
    let follow = progress.follow::<()>("things", Box::pin(events), |_| {}, turned);
    follow.await;
    said.into_inner()
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_once_a_minute_works_in_between() {
    assert_eq!(breaking(Duration::from_mins(1)).await, [WatchState::Synced]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_whenever_it_has_begun_does_not_work() {
    let said = breaking(Duration::from_millis(10)).await;
    assert_eq!(said, [WatchState::Synced, WatchState::Polled]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_takes_long_and_fails_shows_nothing_that_works() {
    let progress = starting();
    let said = RefCell::new(Vec::new());
    let events = stream::iter(0..6).then(|index| async move {
        if index % 2 == 0 {
            return Ok(Event::Init);
        }
        sleep(Duration::from_mins(5)).await;
        Err(error(503))
    });
    let turned = || said.borrow_mut().push(progress.state());
    let follow = progress.follow::<()>("things", Box::pin(events), |_| {}, turned);
    follow.await;
    assert_eq!(said.into_inner(), [WatchState::Polled]);
}
