use std::{collections::HashMap, sync::Arc, time::Duration};

use super::{ABSENT_FOR, Kind, Known, Look, MAX_ABSENT, UNUSED_FOR, is_api_version};

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
    let mut known = Known::default();
    let now = Duration::from_secs(100);
    for version in 0..10 * MAX_ABSENT {
        known.put(&format!("a{version}/v1"), HashMap::new(), now);
    }
    assert_eq!((known.absent.len(), known.served.len()), (MAX_ABSENT, 0));
    assert_eq!(known.look_up("a0/v1", "Thing", now), Look::Absent);
    assert_eq!(
        known.look_up("a0/v1", "Thing", now + ABSENT_FOR),
        Look::Unknown
    );
    known.put("b/v1", HashMap::new(), now + ABSENT_FOR);
    assert_eq!(known.absent.len(), 1);
}

#[test]
fn a_version_that_is_served_no_more_or_not_asked_for_leaves() {
    let mut known = Known::default();
    known.put("a/v1", serves("Thing"), Duration::ZERO);
    known.put("b/v1", serves("Thing"), Duration::ZERO);
    assert!(matches!(
        known.look_up("a/v1", "Thing", UNUSED_FOR / 2),
        Look::Found(_)
    ));
    known.put("c/v1", serves("Thing"), UNUSED_FOR);
    let mut kept: Vec<_> = known.served.keys().cloned().collect();
    kept.sort();
    assert_eq!(kept, ["a/v1", "c/v1"]);
    known.put("a/v1", HashMap::new(), UNUSED_FOR);
    assert_eq!(known.look_up("a/v1", "Thing", UNUSED_FOR), Look::Absent);
    assert_eq!(known.served.len(), 1);
}

#[test]
fn an_api_version_cannot_leave_its_path() {
    assert!(is_api_version("v1"));
    assert!(is_api_version("batch/v1"));
    for bad in ["", "/", "a/b/c", "../x", "v1?x", "v1/..", "a b/v1"] {
        assert!(!is_api_version(bad), "{bad}");
    }
    assert!(is_api_version(&format!(
        "{}/{}",
        "g".repeat(253),
        "v".repeat(63)
    )));
    assert!(!is_api_version(&format!(
        "{}/{}",
        "g".repeat(253),
        "v".repeat(64)
    )));
}
