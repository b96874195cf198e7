use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use cartouche_protocol::references::{AnyObject, SourceKind, SourceObject};
use futures::FutureExt;
use kube::api::ObjectMeta;

use super::{MAX_TOUCHED, SelectedWatch, Selections};
use crate::{
    clock::boot_time,
    discovery::Kind,
    endpoints::ProcessReadiness,
    lock::lock,
    memory::{Memories, tests::write_words},
    metrics::Metrics,
    runnable_key::RunnableKey,
    watch::{Enqueuer, Watches},
    watched_kind::{Purpose, Watched},
};

fn watched() -> Watched {
    let kind = Kind {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        plural: "configmaps".to_owned(),
        namespaced: true,
    };
    Watched {
        purpose: Purpose::Selected,
        kind: Arc::new(kind),
    }
}

fn key() -> RunnableKey {
    RunnableKey {
        namespace: "ns".to_owned(),
        name: "app".to_owned(),
    }
}

fn labels() -> BTreeMap<String, String> {
    [("a".to_owned(), "b".to_owned())].into()
}

fn object(uid: &str, labels: BTreeMap<String, String>) -> ObjectMeta {
    ObjectMeta {
        uid: Some(uid.to_owned()),
        namespace: Some("ns".to_owned()),
        labels: Some(labels),
        ..ObjectMeta::default()
    }
}

fn sizes() -> SourceObject {
    SourceObject::in_own_namespace(SourceKind::ConfigMap, "sizes")
}

/// An object found by labels, in another namespace.
fn labelled() -> SourceObject {
    let any = AnyObject {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        labels: labels(),
    };
    SourceObject {
        namespace: Some("other".to_owned()),
        any: Some(Arc::new(any)),
        ..SourceObject::in_own_namespace(SourceKind::Any, "")
    }
}

#[test]
fn an_object_that_labels_find_for_an_input_is_known_by_its_uid_when_it_is_relabelled() {
    let selections = Selections::default();
    selections.name(&watched(), &key(), [labelled()].into());
    let there = |uid: &str, labels| ObjectMeta {
        namespace: Some("other".to_owned()),
        ..object(uid, labels)
    };
    let concerned = |object| !selections.concerned(&watched(), &object).is_empty();
    assert!(concerned(there("one", labels())) && !concerned(object("one", labels())));
    assert!(!concerned(there("one", BTreeMap::new())));
    selections.find(&watched(), &key(), &labelled());
    assert!(concerned(there("two", BTreeMap::new())));
    selections.end_read(&watched(), &key(), &labelled(), vec!["one".to_owned()]);
    assert!(concerned(there("one", BTreeMap::new())) && !concerned(there("two", BTreeMap::new())));
    // A new set of sources keeps the matches of those that stay.
    selections.name(&watched(), &key(), [labelled(), sizes()].into());
    assert!(concerned(there("one", BTreeMap::new())));
}

fn answered(uids: &[&str]) -> Selections {
    let selections = Selections::default();
    selections.ask(&watched(), &key(), &labels());
    let uids = uids.iter().map(|&uid| uid.to_owned()).collect();
    assert!(!selections.answer(&watched(), &key(), uids));
    selections
}

#[test]
fn each_of_several_matches_concerns_who_waits_for_one_to_be_left() {
    let selections = answered(&["one", "two"]);
    let concerned = |uid, labels| selections.concerned(&watched(), &object(uid, labels));
    let picked = [(key(), true, Vec::new())];
    assert_eq!(concerned("one", BTreeMap::new()), picked);
    assert_eq!(concerned("two", BTreeMap::new()), picked);
    assert_eq!(concerned("three", labels()), picked);
    assert!(concerned("three", BTreeMap::new()).is_empty());
}

#[test]
fn what_matched_stays_known_while_it_is_asked_again() {
    let selections = answered(&["one"]);
    selections.ask(&watched(), &key(), &labels());
    let event = object("one", BTreeMap::new());
    assert_eq!(
        selections.concerned(&watched(), &event),
        [(key(), true, Vec::new())]
    );
}

#[test]
fn an_answer_is_old_if_what_it_shows_has_changed_meanwhile() {
    let selections = answered(&[]);
    selections.ask(&watched(), &key(), &labels());
    let event = object("one", BTreeMap::new());
    assert!(selections.concerned(&watched(), &event).is_empty());
    assert!(selections.answer(&watched(), &key(), vec!["one".to_owned()]));
    selections.ask(&watched(), &key(), &labels());
    assert!(
        selections
            .concerned(&watched(), &object("x", BTreeMap::new()))
            .is_empty()
    );
    assert!(!selections.answer(&watched(), &key(), vec!["one".to_owned()]));
}

#[test]
fn an_object_that_only_names_an_input_picks_nothing_and_no_other_does() {
    let selections = Selections::default();
    selections.name(&watched(), &key(), [sizes()].into());
    let named = |name: &str| ObjectMeta {
        name: Some(name.to_owned()),
        ..object("one", labels())
    };
    let concerned = |name| selections.concerned(&watched(), &named(name));
    assert_eq!(concerned("sizes"), [(key(), false, vec![sizes()])]);
    assert!(concerned("others").is_empty());
    selections.ask(&watched(), &key(), &labels());
    assert_eq!(concerned("sizes"), [(key(), true, vec![sizes()])]);
    assert_eq!(concerned("others"), [(key(), true, Vec::new())]);
}

#[test]
fn who_names_and_picks_nothing_leaves_nothing_behind() {
    let selections = Selections::default();
    selections.name(&watched(), &key(), BTreeSet::new());
    assert!(selections.list_selecting(&watched()).is_empty());
    selections.ask(&watched(), &key(), &labels());
    selections.name(&watched(), &key(), [sizes()].into());
    selections.unpick(&watched(), &key());
    let event = object("one", labels());
    assert!(selections.concerned(&watched(), &event).is_empty());
    selections.remove(&watched(), &key());
    assert!(selections.list_selecting(&watched()).is_empty());
}

#[test]
fn of_very_many_changes_one_counts_as_that_of_a_match() {
    let selections = answered(&[]);
    selections.ask(&watched(), &key(), &labels());
    for number in 0..10 * MAX_TOUCHED {
        let event = object(&number.to_string(), BTreeMap::new());
        selections.concerned(&watched(), &event);
    }
    assert!(selections.answer(&watched(), &key(), vec!["one".to_owned()]));
}

/// Returns true if an event of an object of this kind enqueues a Runnable at once that has just written words.
fn is_enqueued_at_once(kind: Kind, waits_beside_inputs: bool) -> bool {
    let (enqueuer, waiting) = Enqueuer::new();
    let (metrics, readiness) = (Metrics::default(), ProcessReadiness::default());
    let watch = SelectedWatch {
        selections: Arc::default(),
        memories: Arc::<Memories>::default(),
        enqueuer,
        watches: Arc::new(Watches::new(1, None, Duration::ZERO, metrics, readiness)),
    };
    let memory = watch.memories.get_or_create(&key(), "uid");
    write_words(&mut lock(&memory), boot_time());
    lock(&memory).waits_beside_inputs = waits_beside_inputs;
    let watched = Watched {
        purpose: Purpose::Selected,
        kind: Arc::new(kind),
    };
    watch.enqueue(&watched, &key(), |_| true);
    waiting.next().now_or_never().is_some()
}

#[tokio::test]
async fn a_runnable_that_waits_for_a_person_looks_at_other_runnables_now_and_then() {
    assert!(!is_enqueued_at_once(Kind::runnables(), true));
    assert!(is_enqueued_at_once(Kind::runnables(), false));
    assert!(is_enqueued_at_once(Kind::config_maps(), true));
}
