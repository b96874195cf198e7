use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::sample::*;
use crate::trace::{MOST_SOURCES, Revision, SourceKey, Sources, Trace, TraceError};

fn of(outputs: &Value, sensitive: &[(&str, &str)]) -> String {
    let outputs: BTreeMap<String, Value> = serde_json::from_value(outputs.clone()).unwrap();
    let sensitive = sensitive
        .iter()
        .map(|(name, hmac)| ((*name).to_owned(), (*hmac).to_owned()));
    Revision::of_outputs(&outputs, &sensitive.collect())
        .as_str()
        .to_owned()
}

/// A release with other revisions for the same content would make every chain run once.
#[test]
fn revisions_are_what_they_were() {
    let revisions = [
        of(&json!({}), &[]),
        of(&json!({ "digest": "sha256:1f0c" }), &[]),
        of(&json!({ "a": 1, "b": [true, null, 1.5] }), &[]),
        of(&json!({ "user": "x" }), &[("password", "0011223344556677")]),
        Revision::of_text("").as_str().to_owned(),
        Revision::of_text("small\n").as_str().to_owned(),
    ];
    assert_eq!(
        revisions,
        [
            "5dbd51d32a488390",
            "e48ad870f632abcd",
            "92971677248efdd1",
            "888f038c000d7f81",
            "12ae32cb1ec02d01",
            "64bdcbac67ecde6e"
        ]
    );
}

#[test]
fn equal_outputs_have_equal_revisions_however_they_are_written() {
    let one = of(&json!({ "a": 1, "b": { "x": 1, "y": 2 } }), &[]);
    assert_eq!(
        one,
        of(&json!({ "b": { "y": 2.0, "x": 1 }, "a": 1.0 }), &[])
    );
    assert_ne!(one, of(&json!({ "a": "1", "b": { "x": 1, "y": 2 } }), &[]));
}

#[test]
fn a_sensitive_output_is_told_from_one_that_is_not() {
    let plain = of(&json!({ "sensitive": { "p": "0" } }), &[]);
    assert_ne!(plain, of(&json!({}), &[("p", "0")]));
    assert_ne!(of(&json!({}), &[("p", "0")]), of(&json!({}), &[("p", "1")]));
}

#[test]
fn sources_have_keys_of_their_own() {
    let keys = [
        SourceKey::runnable("ci", "build"),
        SourceKey::config_map("shop", "sizes", "small"),
        SourceKey::secret("shop", "db", "password"),
        SourceKey::object(
            ("GitRepository", "source.toolkit.fluxcd.io"),
            "ci",
            "app",
            ".status.artifact.revision",
        ),
        SourceKey::object(("Node", ""), "", "one", ""),
    ];
    assert_eq!(
        keys.map(|key| key.to_string()),
        [
            "Runnable/ci/build",
            "ConfigMap/shop/sizes/small",
            "Secret/shop/db/password",
            "GitRepository.source.toolkit.fluxcd.io/ci/app/{.status.artifact.revision}",
            "Node//one"
        ]
    );
}

#[test]
fn a_key_is_never_longer_than_names_are() {
    let of = |name: &str, path: &str| SourceKey::object(("Node", ""), "ns", name, path);
    let long = |end: &str| format!("{}{end}", "x".repeat(1000));
    let key = of(&long("a"), &long("b"));
    assert!(key.as_str().len() < 100, "{key}");
    assert_ne!(key, of(&long("b"), &long("b")));
    assert_ne!(key, of(&long("a"), &long("a")));
}

#[test]
fn what_a_source_stems_from_is_named_with_it() {
    let trace = Trace::new(
        &key("b"),
        Some(&revision("2")),
        Some(&sources([(key("a"), "1")])),
    );
    assert_eq!(
        trace.sources(),
        Ok(sources([(key("a"), "1"), (key("b"), "2")]))
    );
}

#[test]
fn two_revisions_of_one_ancestor_are_told_with_who_names_them() {
    let from = |text| sources([(key("a"), text)]);
    let trace: Trace = [
        Trace::new(&key("d"), Some(&revision("4")), Some(&from("new"))),
        Trace::new(&key("b"), Some(&revision("2")), Some(&from("new"))),
        Trace::new(&key("c"), Some(&revision("3")), Some(&from("old"))),
    ]
    .into_iter()
    .collect();
    let Err(TraceError::Incoherent(it)) = trace.sources() else {
        panic!("{trace:?}");
    };
    assert_eq!(it.ancestor, key("a"));
    assert_eq!(
        (it.one.revision, it.one.by),
        (revision("new"), vec![key("b"), key("d")])
    );
    assert_eq!(
        (it.other.revision, it.other.by),
        (revision("old"), vec![key("c")])
    );
}

#[test]
fn a_source_that_another_stems_from_has_to_be_at_the_same_revision() {
    let direct = Trace::new(&key("a"), Some(&revision("new")), None);
    let behind = Trace::new(
        &key("b"),
        Some(&revision("2")),
        Some(&sources([(key("a"), "old")])),
    );
    assert!(direct.clone().join(behind).sources().is_err());
    let level = Trace::new(
        &key("b"),
        Some(&revision("2")),
        Some(&sources([(key("a"), "new")])),
    );
    assert!(direct.join(level).sources().is_ok());
}

#[test]
fn where_nobody_cares_what_is_disputed_is_not_traced() {
    let trace = Trace::new(
        &key("b"),
        Some(&revision("2")),
        Some(&sources([(key("a"), "new")])),
    )
    .join(Trace::new(
        &key("c"),
        None,
        Some(&sources([(key("a"), "old")])),
    ));
    assert_eq!(trace.undisputed_sources(), Ok(sources([(key("b"), "2")])));
}

#[test]
fn of_what_is_disputed_the_state_of_a_runnable_that_is_read_itself_is_traced() {
    let of = |ancestor: SourceKey| {
        let branch = sources([(ancestor.clone(), "old")]);
        let trace = Trace::new(&key("b"), Some(&revision("2")), Some(&branch));
        trace.join(Trace::new(&ancestor, Some(&revision("new")), None))
    };
    let both = sources([(key("a"), "new"), (key("b"), "2")]);
    assert_eq!(of(key("a")).undisputed_sources(), Ok(both));
    let other = sources([(key("b"), "2")]);
    assert_eq!(of(file("m")).undisputed_sources(), Ok(other));
}

#[test]
fn sixty_four_sources_are_traced_and_no_more() {
    let many = |count: usize| -> Sources {
        let keys = (0..count).map(|number| key(&format!("a{number}")));
        keys.map(|key| (key, revision("1"))).collect()
    };
    let of = |count| Trace::new(&key("b"), Some(&revision("2")), Some(&many(count)));
    assert_eq!(of(MOST_SOURCES - 1).sources().unwrap().len(), 64);
    let too_many = Err(TraceError::TooMany(65));
    assert_eq!(of(MOST_SOURCES).sources(), too_many);
    assert_eq!(of(MOST_SOURCES).undisputed_sources(), too_many);
}

fn trace() -> impl Strategy<Value = Trace> {
    let named = prop::collection::btree_map(0..4u8, 0..2u8, 0..4);
    (0..4u8, prop::option::of(0..2u8), named).prop_map(|(of, own, named)| {
        let key = |number: u8| key(&number.to_string());
        let revision = |number: u8| revision(&number.to_string());
        let named: Sources = named
            .into_iter()
            .map(|(of, at)| (key(of), revision(at)))
            .collect();
        Trace::new(&key(of), own.map(revision).as_ref(), Some(&named))
    })
}

proptest! {
    #[test]
    fn joining_is_associative_and_idempotent_and_knows_no_order(one in trace(), two in trace(), three in trace()) {
        let join = |one: &Trace, two: &Trace| one.clone().join(two.clone());
        prop_assert_eq!(join(&join(&one, &two), &three), join(&one, &join(&two, &three)));
        prop_assert_eq!(join(&one, &two), join(&two, &one));
        prop_assert_eq!(join(&join(&one, &two), &two), join(&one, &two));
        prop_assert_eq!(join(&one, &Trace::default()), one);
    }

    #[test]
    fn the_order_of_sources_never_matters(mut all in prop::collection::vec(trace(), 0..6)) {
        let forth: Trace = all.iter().cloned().collect();
        all.reverse();
        let back: Trace = all.into_iter().collect();
        prop_assert_eq!(forth.sources(), back.sources());
        prop_assert_eq!(forth.undisputed_sources(), back.undisputed_sources());
    }

    #[test]
    fn whoever_stems_from_a_joined_trace_adds_nothing_to_it(all in prop::collection::vec(trace(), 0..4)) {
        let trace: Trace = all.into_iter().collect();
        if let Ok(sources) = trace.sources() {
            let again = trace.join(Trace::new(&key("z"), None, Some(&sources)));
            prop_assert_eq!(again.sources(), Ok(sources));
        }
    }
}
