//! Tests of who is enqueued after a change, and of the requests that this takes.

mod scene;

use std::{collections::BTreeSet, sync::atomic::Ordering, time::Duration};

use tokio::{
    runtime::Handle,
    time::{sleep, timeout},
};

use super::MOST_KNOWN;
use crate::{
    api::IdentityMode,
    backoff::{OBJECT_WATCHES, PATIENCE},
    lock::lock,
};
use scene::{MOMENT, Scene, key, named, numbered, secret, secret_of};

#[tokio::test(start_paused = true)]
async fn a_change_is_heard_by_those_who_read_the_secret_and_by_nobody_else() {
    let scene = Scene::new(9);
    scene.reads("a", "default", &["db"]);
    scene.reads("b", "default", &["db", "other"]);
    scene.reads("c", "default", &["third"]);
    sleep(MOMENT).await;
    assert_eq!(scene.asked(), 3, "what several read is watched once");
    assert_eq!(scene.enqueued(), named(&["a", "b", "c"]), "once it is open");
    assert!(!scene.relies_on("a", "db"), "it may have changed before");
    scene.has_read("a", &["db"]);
    scene.has_read("b", &["db", "other"]);
    scene.has_read("c", &["third"]);
    let (first, uri) = (0, lock(&scene.asked)[0].uri.clone());
    assert!(uri.contains("fieldSelector=metadata.name%3Ddb&"), "{uri}");
    assert!(
        uri.starts_with("/api/v1/namespaces/ns/secrets?watch=true"),
        "{uri}"
    );
    scene.tell(first, "BOOKMARK", "5");
    sleep(MOMENT).await;
    assert_eq!(scene.enqueued(), named(&[]), "nothing has happened");
    scene.tell(first, "MODIFIED", "6");
    sleep(MOMENT).await;
    assert_eq!(scene.enqueued(), named(&["a", "b"]));
    assert!(!scene.relies_on("a", "db") && !scene.relies_on("b", "db"));
    assert!(scene.relies_on("b", "other") && scene.relies_on("c", "third"));
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_changes_all_the_time_is_read_again_once_a_second_and_at_last() {
    let scene = Scene::new(9);
    scene.reads("a", "default", &["db"]);
    sleep(MOMENT).await;
    assert_eq!(scene.enqueued(), named(&["a"]), "once it is open");
    let tenth = Duration::from_millis(100);
    let mut heard = Vec::new();
    for change in 0..52 {
        scene.tell(0, "MODIFIED", &change.to_string());
        sleep(tenth).await;
        if !scene.enqueued().is_empty() {
            heard.push(change);
        }
    }
    assert_eq!(heard.first(), Some(&0), "the first one at once");
    assert!((6..=7).contains(&heard.len()), "{heard:?}");
    // The last of them is not lost.
    scene.has_read("a", &["db"]);
    sleep(Duration::from_secs(1)).await;
    assert!(!scene.relies_on("a", "db"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_that_of_an_account_and_ends_with_the_last_who_needs_it() {
    let scene = Scene::new(9);
    scene.reads("a", "one", &["db"]);
    scene.reads("b", "one", &["db"]);
    scene.reads("c", "two", &["db"]);
    sleep(MOMENT).await;
    let of = |which: usize| lock(&scene.asked)[which].as_whom.clone();
    assert_eq!(of(0), "system:serviceaccount:ns:one");
    assert_eq!(of(1), "system:serviceaccount:ns:two");
    assert_eq!((scene.asked(), scene.counted("Watched")), (2, 2));
    scene.watches.forget(&key("a"));
    sleep(MOMENT).await;
    assert!(scene.is_open(0));
    // The account of `b` changes, and `c` has no input any more.
    scene.reads("b", "two", &["db"]);
    scene.reads("c", "two", &[]);
    sleep(MOMENT).await;
    assert!(!scene.is_open(0) && scene.is_open(1));
    assert!(!scene.is_watched("one", "db") && scene.is_watched("two", "db"));
    scene.watches.forget(&key("b"));
    sleep(MOMENT).await;
    assert!(!scene.is_open(1));
    assert_eq!(scene.counted("Watched"), 0);
    let known = lock(&scene.watches.known);
    assert!(known.is_empty());
}

#[tokio::test(start_paused = true)]
async fn who_joins_a_watch_does_not_rely_on_what_was_read_before() {
    let scene = Scene::new(9);
    scene.reads("a", "default", &["db"]);
    sleep(MOMENT).await;
    let wanted = BTreeSet::from([secret("default", "db")]);
    let doubted = scene.watches.want(&key("b"), wanted.clone());
    assert_eq!(doubted, [secret("default", "db")]);
    assert!(scene.watches.want(&key("b"), wanted).is_empty());
    assert!(
        !scene
            .watches
            .record_found(&key("b"), &secret("default", "db"))
    );
    // A Runnable that began to read before the others found it.
    let wanted = BTreeSet::from([secret("default", "late")]);
    scene.watches.want(&key("late"), wanted);
    scene.reads("a", "default", &["db", "late"]);
    sleep(MOMENT).await;
    assert!(
        scene
            .watches
            .record_found(&key("late"), &secret("default", "late"))
    );
}

#[tokio::test(start_paused = true)]
async fn names_that_no_read_has_found_cost_no_task_no_request_and_no_memory() {
    let scene = Scene::new(500);
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for runnable in 0..1_500 {
        let names = (0..32).map(|name| secret_of("many", runnable * 32 + name));
        let key = numbered("many", runnable);
        scene.watches.want(&key, names.collect());
    }
    sleep(MOMENT).await;
    assert_eq!((tasks() - before, scene.asked()), (0, 0));
    assert!(lock(&scene.watches.known).watches.is_empty());
    let (poll, usual) = (
        scene.watches.poll("many", MOMENT),
        scene.watches.poll("ns", MOMENT),
    );
    assert_eq!((poll.as_secs(), usual), (600, MOMENT));
    for runnable in 0..1_500 {
        scene.watches.forget(&numbered("many", runnable));
    }
    assert_eq!(scene.watches.poll("many", MOMENT), MOMENT);
}

#[tokio::test(start_paused = true)]
async fn beyond_the_cap_nothing_is_opened_until_a_place_is_free() {
    let scene = Scene::new(1);
    scene.reads("a", "default", &["first"]);
    sleep(MOMENT).await;
    let others = [("b", "second"), ("c", "third")];
    for (runnable, name) in others {
        scene.reads(runnable, "default", &[name]);
        sleep(MOMENT).await;
    }
    assert_eq!((scene.asked(), scene.counted("Full")), (1, 2));
    assert!(!scene.is_watched("default", "second"));
    scene.watches.forget(&key("a"));
    // They are polled, and that finds them again.
    for (runnable, name) in others {
        scene.reads(runnable, "default", &[name]);
    }
    sleep(MOMENT).await;
    assert_eq!(scene.asked(), 2);
    assert!(scene.is_watched("default", "second") && !scene.is_watched("default", "third"));
    // A watch that is refused takes no place.
    scene.code.store(403, Ordering::SeqCst);
    scene.fail(1, 403);
    sleep(MOMENT).await;
    scene.reads("c", "default", &["third"]);
    sleep(MOMENT).await;
    assert!(scene.asked() > 2 && scene.last_uri().contains("third"));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_has_all_places_only_while_no_other_asks_for_any() {
    let scene = Scene::new(10);
    let polled_each_moment = async |a: usize, b: usize| {
        for _ in 0..5 {
            scene.find("a", 0..a);
            scene.find("b", 0..b);
            sleep(MOMENT).await;
        }
        (scene.watched("a", 0..a), scene.watched("b", 0..b))
    };
    assert_eq!(polled_each_moment(30, 0).await, (10, 0));
    scene.enqueued();
    assert_eq!(polled_each_moment(30, 3).await, (7, 3));
    let asked = scene.asked();
    assert_eq!(polled_each_moment(30, 30).await, (5, 5));
    assert_eq!(scene.asked(), asked + 2, "nothing goes to and fro");
    for number in 0..30 {
        scene.watches.forget(&numbered("a", number));
    }
    assert_eq!(polled_each_moment(0, 30).await, (0, 10));
    assert_eq!(scene.counted("Full"), 20);
}

#[tokio::test(start_paused = true)]
async fn secrets_that_are_kept_in_mind_have_a_bound_that_namespaces_share() {
    let scene = Scene::new(1);
    let kept = || lock(&scene.watches.known).watches.len();
    scene.find("a", 0..MOST_KNOWN + 100);
    assert_eq!(kept(), MOST_KNOWN);
    scene.find("b", 0..10);
    assert_eq!(kept(), MOST_KNOWN);
    let known = lock(&scene.watches.known);
    let of_b = (0..10).filter(|number| known.watches.contains_key(&secret_of("b", *number)));
    assert_eq!(of_b.count(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_refused_is_tried_again_when_permissions_change_and_seldom_otherwise() {
    let scene = Scene::new(9);
    scene.code.store(403, Ordering::SeqCst);
    scene.reads("a", "default", &["db"]);
    sleep(Duration::from_secs(40)).await;
    assert_eq!((scene.asked(), scene.counted("Refused")), (1, 1));
    assert_eq!(scene.enqueued(), named(&[]), "it was polled before");
    scene.watches.retry_refused(Some("elsewhere"));
    sleep(MOMENT).await;
    assert_eq!(scene.asked(), 1);
    scene.code.store(200, Ordering::SeqCst);
    scene.watches.retry_refused(Some("ns"));
    sleep(MOMENT).await;
    assert_eq!(scene.asked(), 2);
    assert!(scene.is_watched("default", "db"));
    assert_eq!(scene.enqueued(), named(&["a"]));
    // The permission is revoked: users of the watch poll again.
    scene.code.store(403, Ordering::SeqCst);
    scene.end(1);
    sleep(MOMENT).await;
    assert!(!scene.is_watched("default", "db"));
    assert_eq!(scene.enqueued(), named(&["a"]));
    let before = scene.asked();
    for _ in 0..240 {
        scene.reads("a", "default", &["db"]);
        sleep(Duration::from_secs(30)).await;
    }
    let seldom = scene.asked() - before;
    assert!((8..30).contains(&seldom), "{seldom} in two hours");
}

#[tokio::test(start_paused = true)]
async fn permissions_that_change_all_the_time_make_nobody_hammer() {
    let scene = Scene::new(9);
    scene.code.store(403, Ordering::SeqCst);
    scene.reads("a", "default", &["db"]);
    for _ in 0..600 {
        scene.watches.retry_refused(None);
        sleep(Duration::from_secs(1)).await;
    }
    let asked = scene.asked();
    assert!((20..50).contains(&asked), "{asked} in ten minutes");
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_where_it_ended_and_nothing_is_read_for_that() {
    let scene = Scene::new(9);
    scene.reads("a", "default", &["db"]);
    sleep(MOMENT).await;
    scene.tell(0, "BOOKMARK", "41");
    sleep(Duration::from_secs(30)).await;
    scene.has_read("a", &["db"]);
    scene.enqueued();
    scene.end(0);
    sleep(MOMENT).await;
    assert!(scene.last_uri().ends_with("&resourceVersion=41"));
    assert!(scene.is_watched("default", "db") && scene.relies_on("a", "db"));
    assert_eq!((scene.asked(), scene.enqueued()), (2, named(&[])));
    // It cannot resume from there: changes in between are unknown.
    scene.fail(1, 410);
    sleep(MOMENT).await;
    assert!(!scene.last_uri().contains("resourceVersion"));
    assert!(!scene.relies_on("a", "db"));
    assert_eq!((scene.asked(), scene.enqueued()), (3, named(&["a"])));
}

#[tokio::test(start_paused = true)]
async fn what_a_watch_begins_with_is_told_of_once() {
    let scene = Scene::new(9);
    scene.reads("a", "default", &["db"]);
    tokio::task::yield_now().await;
    while scene.asked() == 0 {
        tokio::task::yield_now().await;
    }
    scene.tell(0, "ADDED", "7");
    sleep(MOMENT).await;
    let memory = scene.memories.get_or_create(&key("a"), "a");
    assert_eq!(lock(&memory).changes, 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_is_relied_on_for_a_while_and_then_it_is_polled() {
    let scene = Scene::new(9);
    scene.reads("a", "default", &["db"]);
    sleep(MOMENT).await;
    scene.tell(0, "BOOKMARK", "41");
    sleep(MOMENT).await;
    scene.enqueued();
    scene.code.store(500, Ordering::SeqCst);
    scene.end(0);
    sleep(PATIENCE / 2).await;
    assert!(scene.is_watched("default", "db"));
    assert_eq!(scene.enqueued(), named(&[]));
    sleep(PATIENCE * 2).await;
    assert!(!scene.is_watched("default", "db"));
    assert_eq!(
        (scene.enqueued(), scene.counted("Failing")),
        (named(&["a"]), 1)
    );
    let before = scene.asked();
    let lasts = Duration::from_mins(10);
    sleep(lasts).await;
    let tries = scene.asked() - before;
    // By now each pause is the longest, give or take its spread.
    let (longest, latest) = (OBJECT_WATCHES.longest, OBJECT_WATCHES.latest());
    let times = |pause: Duration| lasts.as_millis() / pause.as_millis();
    let expected = times(latest)..=1 + times((2 * longest).saturating_sub(latest));
    assert!(
        expected.contains(&(tries as u128)),
        "{tries} of {expected:?}"
    );
    scene.code.store(200, Ordering::SeqCst);
    let again = async {
        // The server does not end watches here: each is given up after a minute.
        while !scene.is_watched("default", "db") {
            sleep(MOMENT).await;
        }
    };
    assert!(timeout(latest + MOMENT, again).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_every_watch_at_once_is_not_asked_without_a_pause() {
    let scene = Scene::new(9);
    scene.reads("a", "default", &["db"]);
    for _ in 0..60 {
        sleep(Duration::from_secs(1)).await;
        for which in 0..scene.asked() {
            scene.end(which);
        }
    }
    let asked = scene.asked();
    assert!((3..12).contains(&asked), "{asked} in a minute");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_not_taken_any_more_is_had_anew() {
    let scene = Scene::with(9, IdentityMode::Token);
    scene.code.store(401, Ordering::SeqCst);
    scene.reads("a", "default", &["db"]);
    sleep(Duration::from_millis(100)).await;
    scene.code.store(200, Ordering::SeqCst);
    sleep(MOMENT).await;
    let asked = lock(&scene.asked);
    let tokens: Vec<_> = asked.iter().map(|it| it.as_whom.clone()).collect();
    assert_eq!(tokens, ["Bearer token-1", "Bearer token-2"]);
    drop(asked);
    assert!(scene.is_watched("default", "db"));
}
