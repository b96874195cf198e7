use std::{collections::HashMap, sync::Arc, time::Duration};

use super::{ABSENT_FOR, Kind, KnownKinds, Lookup, MAX_ABSENT, PATIENCE, UNASKED_FOR, UNUSED_FOR};

fn serves(kind: &str) -> HashMap<String, Arc<Kind>> {
    let resource = Kind {
        api_version: "a/v1".to_owned(),
        kind: kind.to_owned(),
        plural: "things".to_owned(),
        namespaced: true,
    };
    [(kind.to_owned(), Arc::new(resource))].into()
}

#[test]
fn of_versions_that_are_not_served_few_are_kept_and_not_for_long() {
    let mut known = KnownKinds::default();
    let now = Duration::from_secs(100);
    for version in 0..10 * MAX_ABSENT {
        known.put(&format!("a{version}/v1"), HashMap::new(), now);
    }
    assert_eq!((known.absent.len(), known.served.len()), (MAX_ABSENT, 0));
    assert_eq!(known.look_up("a0/v1", "Thing", now), Lookup::Absent);
    assert_eq!(
        known.look_up("a0/v1", "Thing", now + ABSENT_FOR),
        Lookup::Unknown
    );
    known.put("b/v1", HashMap::new(), now + ABSENT_FOR);
    assert_eq!(known.absent.len(), 1);
}

#[test]
fn a_version_that_is_served_no_more_or_not_asked_for_leaves() {
    let mut known = KnownKinds::default();
    known.put("a/v1", serves("Thing"), Duration::ZERO);
    known.put("b/v1", serves("Thing"), Duration::ZERO);
    assert!(matches!(
        known.look_up("a/v1", "Thing", UNUSED_FOR / 2),
        Lookup::Found(_)
    ));
    known.put("c/v1", serves("Thing"), UNUSED_FOR);
    let mut kept: Vec<_> = known.served.keys().cloned().collect();
    kept.sort();
    assert_eq!(kept, ["a/v1", "c/v1"]);
    known.put("a/v1", HashMap::new(), UNUSED_FOR);
    assert_eq!(known.look_up("a/v1", "Thing", UNUSED_FOR), Lookup::Absent);
    assert_eq!(known.served.len(), 1);
}

#[test]
fn where_the_objects_of_a_kind_are_is_asked_again_when_anything_of_it_is_doubted() {
    let mut known = KnownKinds::default();
    let key = ("a/v0".to_owned(), "Thing".to_owned());
    let now = Duration::from_secs(100);
    let moved = |known: &mut KnownKinds| {
        known.put("a/v1", serves("Thing"), now);
        known.put_moved(key.clone(), Some(serves("Thing")["Thing"].clone()), now);
        assert!(matches!(known.look_up_moved(&key, now), Lookup::Found(_)));
    };
    moved(&mut known);
    known.doubt("a/v1");
    assert_eq!(known.look_up_moved(&key, now), Lookup::Unknown);
    moved(&mut known);
    known.doubt_all();
    known.put("a/v1", serves("Thing"), now);
    assert_eq!(known.look_up_moved(&key, now), Lookup::Unknown);
    assert!(
        known.find_moved(&key).is_some(),
        "it is what is known meanwhile"
    );
}

#[test]
fn that_objects_are_nowhere_is_not_believed_for_long() {
    let mut known = KnownKinds::default();
    let key = ("a/v0".to_owned(), "Thing".to_owned());
    known.put_moved(key.clone(), None, Duration::ZERO);
    assert_eq!(known.look_up_moved(&key, Duration::ZERO), Lookup::Absent);
    assert_eq!(known.look_up_moved(&key, ABSENT_FOR), Lookup::Unknown);
}

#[test]
fn discovery_that_fails_for_a_while_is_said_in_words_that_stay() {
    let mut known = KnownKinds::default();
    let key = ("a/v0".to_owned(), "Thing".to_owned());
    let fail = |known: &mut KnownKinds, why: &str, now| {
        known.put_failing(key.clone(), why.to_owned(), now);
        known.failing(&key).map(str::to_owned)
    };
    assert_eq!(fail(&mut known, "first", Duration::ZERO), None);
    assert_eq!(fail(&mut known, "second", PATIENCE / 2), None);
    let said = fail(&mut known, "third", PATIENCE);
    assert_eq!(said.as_deref(), Some("first"));
    let later = PATIENCE + UNASKED_FOR;
    assert_eq!(fail(&mut known, "much later", later), None);
    known.clear_failure(&("a/v0".to_owned(), "Thing".to_owned()));
    assert!(known.failing.is_empty());
}

#[test]
fn of_very_many_kinds_that_discovery_fails_for_those_that_came_first_are_said() {
    let mut known = KnownKinds::default();
    let key = |number: usize| ("a/v0".to_owned(), format!("Thing{number}"));
    let why = || "no".to_owned();
    for now in [Duration::ZERO, PATIENCE] {
        for number in 0..10 * MAX_ABSENT {
            known.put_failing(key(number), why(), now);
        }
    }
    assert_eq!(known.failing.len(), MAX_ABSENT);
    for number in [0, MAX_ABSENT - 1] {
        assert_eq!(known.failing(&key(number)), Some("no"), "{number}");
    }
    known.clear_failure(&key(0));
    let later = PATIENCE + UNASKED_FOR;
    known.put_failing(key(0), why(), UNASKED_FOR);
    known.put_failing(key(5 * MAX_ABSENT), why(), later);
    assert_eq!(known.failing.len(), 2, "those that nobody asked for leave");
    assert!(known.failing.contains_key(&key(0)));
}
