//! Tests of the places for watches, and of the kinds that wait for one.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_protocol::facts::WatchState;
use futures::stream;
use kube::runtime::watcher;
use tokio::task::AbortHandle;

use super::{Progress, Watches};
use crate::{
    discovery::Kind,
    endpoints::ProcessReadiness,
    metrics::Metrics,
    runnable_key::RunnableKey,
    watched_kind::{Purpose, Watched},
};

fn kind(kind: &str) -> Watched {
    let kind = Kind {
        api_version: "a/v1".to_owned(),
        kind: kind.to_owned(),
        plural: kind.to_lowercase(),
        namespaced: true,
    };
    Watched {
        purpose: Purpose::Runs,
        kind: Arc::new(kind),
    }
}

fn key(name: &str) -> RunnableKey {
    RunnableKey {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
    }
}

/// Watches with a number of places, and those that were begun.
struct Scene {
    watches: Watches,
    begun: Mutex<Vec<(Watched, Arc<Progress>)>>,
}

impl Scene {
    fn with_places(most: usize) -> Self {
        let deadline = Duration::from_secs(15);
        let (metrics, readiness) = (Metrics::default(), ProcessReadiness::default());
        Self {
            watches: Watches::new(most, None, deadline, metrics, readiness),
            begun: Mutex::default(),
        }
    }

    fn begin(&self, watched: &Watched, progress: Arc<Progress>) -> AbortHandle {
        self.begun.lock().unwrap().push((watched.clone(), progress));
        tokio::spawn(std::future::pending::<()>()).abort_handle()
    }

    fn want(&self, who: &str, before: &[&str], now: &[&str]) -> Vec<Watched> {
        let set = |kinds: &[&str]| kinds.iter().map(|name| kind(name)).collect::<BTreeSet<_>>();
        let start = |watched: &Watched, progress| self.begin(watched, progress);
        self.watches.want(&key(who), &set(before), &set(now), start)
    }

    fn forget(&self, who: &str) {
        let start = |watched: &Watched, progress| self.begin(watched, progress);
        self.watches.forget(&key(who), |_| {}, start);
    }

    fn begun(&self) -> Vec<String> {
        let begun = self.begun.lock().unwrap();
        let name = |(watched, _): &(Watched, _)| watched.kind.kind.clone();
        begun.iter().map(name).collect()
    }

    fn state(&self, name: &str) -> WatchState {
        self.watches.state(&kind(name))
    }
}

#[tokio::test]
async fn a_kind_that_found_no_place_is_watched_once_one_becomes_free() {
    let scene = Scene::with_places(1);
    scene.want("first", &[], &["A"]);
    scene.want("second", &[], &["B"]);
    assert_eq!(scene.begun(), ["A"]);
    assert_eq!(scene.state("B"), WatchState::Polled);
    assert_eq!(scene.want("first", &["A"], &["C"]), [kind("A")]);
    assert_eq!(scene.begun(), ["A", "B"], "who waited longer goes first");
    assert_eq!(scene.state("C"), WatchState::Polled);
    scene.forget("second");
    assert_eq!(scene.begun(), ["A", "B", "C"]);
}

#[tokio::test]
async fn who_gets_a_place_late_is_polled_until_its_list_has_come_and_that_is_told() {
    let scene = Scene::with_places(1);
    scene.want("first", &[], &["A"]);
    scene.want("second", &[], &["B"]);
    scene.forget("first");
    assert_eq!(scene.state("B"), WatchState::Polled);
    let (watched, progress) = scene.begun.lock().unwrap()[1].clone();
    let told = Mutex::new(Vec::new());
    let list = stream::iter([Ok(watcher::Event::<()>::Init), Ok(watcher::Event::InitDone)]);
    let changed = || scene.watches.state_changed(&watched);
    let tell = || told.lock().unwrap().extend(changed());
    progress.follow("b", list, drop, tell).await;
    assert_eq!(scene.state("B"), WatchState::Synced);
    assert_eq!(*told.lock().unwrap(), [key("second")]);
}

#[tokio::test]
async fn of_those_that_wait_no_more_begin_than_there_is_room_for() {
    let scene = Scene::with_places(2);
    scene.want("first", &[], &["A", "B"]);
    scene.want("second", &[], &["C", "D", "E"]);
    scene.forget("nobody");
    assert_eq!(scene.begun(), ["A", "B"]);
    scene.want("first", &["A", "B"], &["B"]);
    assert_eq!(scene.begun(), ["A", "B", "C"]);
    scene.want("second", &["C", "D", "E"], &["D", "E"]);
    assert_eq!(scene.begun(), ["A", "B", "C", "D"]);
}
