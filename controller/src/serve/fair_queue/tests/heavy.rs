//! Tests of turns of heavy Runnables: those named 100 or more.

use super::*;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn is_heavy(key: &RunnableKey) -> bool {
    key.name.len() > 2
}

fn get(fair: &mut FairQueue, now: u64) -> Option<RunnableKey> {
    let turn = fair.get(at(now), is_heavy)?;
    assert_eq!(turn.is_heavy, is_heavy(&turn.key));
    Some(turn.key)
}

/// Begins as many as possible, without ending any.
fn begun(fair: &mut FairQueue, now: u64) -> Vec<RunnableKey> {
    std::iter::from_fn(|| get(fair, now)).collect()
}

/// Ends one that took this many seconds.
fn end(fair: &mut FairQueue, key: &RunnableKey, now: u64, took: u64) {
    fair.finish(key, at(now), at(took));
}

/// Returns the turns of this many seconds, with the second at which each began. Each reconciliation takes one.
fn turns(fair: &mut FairQueue, seconds: u64) -> Vec<(u64, String, String)> {
    let mut seen = Vec::new();
    let mut running = Vec::new();
    for now in 0..seconds {
        for key in running.drain(..) {
            end(fair, &key, now, 1);
        }
        running = begun(fair, now);
        let began = running.iter().cloned();
        seen.extend(began.map(|key| (now, key.namespace, key.name)));
    }
    seen
}

fn of(turns: &[(u64, &str, &str)]) -> Vec<(u64, String, String)> {
    let owned = |it: &(u64, &str, &str)| (it.0, it.1.to_owned(), it.2.to_owned());
    turns.iter().map(owned).collect()
}

#[test]
fn heavy_ones_of_a_namespace_have_a_twentieth_of_the_time_and_light_ones_do_not_wait() {
    let mut fair = FairQueue::new(16);
    waking(&mut fair, "a", [101, 100, 1]);
    assert_eq!(
        begun(&mut fair, 0),
        [key("a", 1), key("a", 101)],
        "a first one begins at once"
    );
    assert_eq!(fair.waiting(), 1);
    end(&mut fair, &key("a", 101), 1, 1);
    assert_eq!(fair.rest_ends(), Some(at(20)));
    waking(&mut fair, "a", [2]);
    assert_eq!(begun(&mut fair, 19), [key("a", 2)]);
    assert_eq!(begun(&mut fair, 20), [key("a", 100)]);
    assert_eq!((fair.waiting(), fair.rest_ends()), (0, None));

    let mut fair = FairQueue::new(16);
    let mut worked = 0;
    for now in 0..600 {
        // Edited without pause.
        waking(&mut fair, "a", 100..110);
        worked += begun(&mut fair, now).len();
        if let Some((key, _)) = fair.heavy.clone() {
            end(&mut fair, &key, now + 1, 1);
        }
    }
    assert_eq!(worked, 600 / 20);
}

#[test]
fn namespaces_take_turns_and_their_heavy_runnables_go_in_order() {
    let mut fair = FairQueue::new(16);
    waking(&mut fair, "a", [103, 101]);
    waking(&mut fair, "b", [107, 105]);
    // It is among the heavy ones already, and keeps its place.
    fair.enqueue(&key("a", 101), Priority::Other);
    waking(&mut fair, "c", [100]);
    let expected = [
        (0, "a", "103"),
        (1, "b", "107"),
        (2, "c", "100"),
        (20, "a", "101"),
        (21, "b", "105"),
    ];
    assert_eq!(turns(&mut fair, 30), of(&expected));
    assert!(is_empty(&fair), "nothing is left");
}

#[test]
fn a_namespace_that_may_not_begin_stands_in_no_way_and_is_first_when_it_may() {
    let mut fair = FairQueue::new(4);
    waking(&mut fair, "a", [100, 101]);
    waking(&mut fair, "b", 200..220);
    assert_eq!(begun(&mut fair, 0), [key("a", 100)]);
    end(&mut fair, &key("a", 100), 1, 1);
    assert_eq!(begun(&mut fair, 1), [key("b", 200)]);
    // "b" rests as well, and "a" comes before it.
    end(&mut fair, &key("b", 200), 2, 0);
    assert_eq!(begun(&mut fair, 2), [key("b", 201)]);
    assert_eq!(begun(&mut fair, 20), [], "one at a time");
    end(&mut fair, &key("b", 201), 20, 0);
    assert_eq!(begun(&mut fair, 20), [key("a", 101)]);

    // A namespace that has its share of places.
    let mut fair = FairQueue::new(4);
    waking(&mut fair, "a", [100, 101, 1, 2, 3]);
    assert_eq!(begun(&mut fair, 0).len(), 3);
    end(&mut fair, &key("a", 100), 1, 1);
    assert_eq!(begun(&mut fair, 1), [key("a", 3)]);
    waking(&mut fair, "b", [100]);
    assert_eq!(begun(&mut fair, 20), [key("b", 100)]);
    assert_eq!(fair.rest_ends(), None, "an end lets the other begin");
    end(&mut fair, &key("b", 100), 21, 1);
    waking(&mut fair, "a", [4, 5]);
    assert_eq!(begun(&mut fair, 21), []);
    // A light one follows the heavy one of the other namespace, and then the heavy one comes before the next light one.
    for (ended, begins) in [(1, 4), (2, 101)] {
        end(&mut fair, &key("a", ended), 22, 22);
        assert_eq!(begun(&mut fair, 22), [key("a", begins)]);
    }
}

#[test]
fn where_there_is_one_place_light_ones_get_every_other_turn() {
    let mut fair = FairQueue::new(1);
    // So many that no namespace has two heavy turns.
    for namespace in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
        waking(&mut fair, namespace, 100..110);
        waking(&mut fair, namespace, 1..10);
    }
    let turns = turns(&mut fair, 20);
    let heavy = turns.iter().filter(|it| it.2.len() > 2).count();
    assert_eq!((turns.len(), heavy), (20, 10), "{turns:?}");
    assert!(
        turns
            .windows(2)
            .all(|it| it[0].2.len() > 2 || it[1].2.len() > 2)
    );
}

#[test]
fn a_rest_has_a_bound_and_those_that_are_over_are_forgotten() {
    let mut fair = FairQueue::new(4);
    waking(&mut fair, "a", [100, 101]);
    assert_eq!(begun(&mut fair, 0), [key("a", 100)]);
    end(&mut fair, &key("a", 100), 600, 600);
    assert_eq!(fair.rest_ends(), Some(at(630)));
    assert_eq!(begun(&mut fair, 630), [key("a", 101)]);
    end(&mut fair, &key("a", 101), 631, 1);
    for index in 0..100 {
        let (namespace, now) = (format!("n{index}"), 1_000 + 100 * index);
        waking(&mut fair, &namespace, [100]);
        assert_eq!(begun(&mut fair, now), [key(&namespace, 100)]);
        end(&mut fair, &key(&namespace, 100), now + 1, 1);
    }
    assert_eq!(fair.rests.len(), 1);
    assert!(is_empty(&fair), "nothing is left");
}

#[test]
fn who_is_heavy_when_its_turn_comes_waits_with_the_heavy_ones() {
    let mut fair = FairQueue::new(4);
    waking(&mut fair, "a", [1, 2]);
    let (first, second) = (key("a", 1), key("a", 2));
    let light = |fair: &mut FairQueue| fair.get(at(0), |_| false).map(|turn| turn.key);
    let heavy = |fair: &mut FairQueue, now| {
        let turn = fair.get(at(now), |_| true)?;
        assert!(turn.is_heavy);
        Some(turn.key)
    };
    assert_eq!(light(&mut fair), Some(first.clone()));
    // It turns out to be heavy, and is enqueued meanwhile. Only turns as a heavy one make the namespace rest.
    fair.enqueue(&first, Priority::Changed);
    assert!(fair.finish(&first, at(1), at(1)));
    assert_eq!(heavy(&mut fair, 1), Some(second.clone()));
    assert_eq!(heavy(&mut fair, 1), None);
    fair.enqueue(&second, Priority::Changed);
    assert!(fair.finish(&second, at(2), at(1)));
    assert_eq!(heavy(&mut fair, 5), None);
    // Both are among the heavy ones now, and stay there until their turn.
    for key in [&first, &second] {
        fair.enqueue(key, Priority::Changed);
    }
    assert_eq!((fair.waiting(), light(&mut fair)), (2, None));
    assert_eq!(heavy(&mut fair, 21), Some(first.clone()));
    fair.finish(&first, at(21), at(0));
    assert_eq!(heavy(&mut fair, 21), Some(second.clone()));
    fair.finish(&second, at(21), at(0));
    assert!(is_empty(&fair), "nothing is left");
}

/// A namespace that rests from the first second to the twentieth, with another changed Runnable that waits.
fn resting() -> FairQueue {
    let mut fair = FairQueue::new(4);
    waking(&mut fair, "a", [100, 101]);
    assert_eq!(begun(&mut fair, 0), [key("a", 100)]);
    end(&mut fair, &key("a", 100), 1, 1);
    fair
}

#[test]
fn a_result_of_a_heavy_one_waits_for_no_rest_and_brings_none() {
    let mut fair = resting();
    for name in [100, 102] {
        fair.enqueue(&key("a", name), Priority::Other);
    }
    // One that has changed since is more than a result.
    assert_eq!(begun(&mut fair, 2), [key("a", 100)]);
    waking(&mut fair, "a", [102]);
    end(&mut fair, &key("a", 100), 3, 1);
    assert_eq!(begun(&mut fair, 3), []);
    assert_eq!(fair.rest_ends(), Some(at(20)));
    for (name, now) in [(101, 20), (102, 40)] {
        assert_eq!(begun(&mut fair, now), [key("a", name)]);
        end(&mut fair, &key("a", name), now + 1, 1);
    }
    assert!(is_empty(&fair), "nothing is left");
}

/// Enqueues the same heavy Runnables once a second for sources or polls, and returns the number of turns, of a second
/// each, in these seconds.
fn polled(fair: &mut FairQueue, seconds: std::ops::Range<u64>) -> usize {
    let mut turns = 0;
    for now in seconds {
        for name in 100..110 {
            fair.enqueue(&key("a", name), Priority::Other);
        }
        for key in begun(fair, now) {
            turns += 1;
            end(fair, &key, now + 1, 1);
        }
    }
    turns
}

#[test]
fn heavy_ones_without_a_change_have_a_burst_and_then_a_tenth_of_the_time() {
    let mut fair = FairQueue::new(16);
    assert_eq!(polled(&mut fair, 0..12), 11, "the burst");
    assert_eq!(polled(&mut fair, 12..605), 590 / 10);
    // Neither another namespace nor a change of its own waits for it.
    fair.enqueue(&key("b", 100), Priority::Other);
    assert_eq!(begun(&mut fair, 605), [key("b", 100)]);
    end(&mut fair, &key("b", 100), 606, 1);
    waking(&mut fair, "a", [200]);
    assert_eq!(begun(&mut fair, 606), [key("a", 200)]);
    end(&mut fair, &key("a", 200), 606, 0);
    assert_eq!(fair.rest_ends(), Some(at(610)));
    assert_eq!(begun(&mut fair, 610).len(), 1);
    // One very long turn makes it wait no longer than half a minute.
    let long = fair.heavy.clone().unwrap().0;
    end(&mut fair, &long, 1_000, 390);
    let rested = LONGEST_REST.as_secs();
    assert_eq!(fair.rest_ends(), Some(at(1_000 + rested)));
    assert_eq!(polled(&mut fair, 1_000 + rested..1_600), 570 / 10);
}

#[test]
fn a_rest_that_ends_between_two_questions_is_not_missed() {
    let mut fair = resting();
    assert_eq!(begun(&mut fair, 19), []);
    // However late the call is.
    assert_eq!(fair.rest_ends(), Some(at(20)));
    assert_eq!(begun(&mut fair, 25), [key("a", 101)]);
}
