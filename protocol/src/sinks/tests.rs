use cartouche_engines::Sensitive;
use cartouche_language::Owner;
use serde_json::{Value, json};

use super::*;
use crate::{ledger::tests::sample, messages::diagnosis::Diagnosis};

const RUNNABLE: Owner<'static> = Owner {
    name: "app",
    namespace: "ns",
    uid: "uid",
};

fn wanted(sequence: i64, known: i64, is_held: bool) -> Wanted {
    Wanted {
        sequence,
        known,
        is_held,
        is_waited_out: false,
    }
}

fn sink(sink: Value) -> OutputSink {
    serde_json::from_value(sink).unwrap()
}

fn secret() -> OutputSink {
    sink(json!({ "kind": "Secret", "name": "db" }))
}

fn found(object: Value) -> FoundSink {
    FoundSink::from_object(SourceKind::Secret, object, &RUNNABLE, &Ledger::default()).unwrap()
}

fn stored(sequence: i64) -> Value {
    let content = SinkContent::new([("a".to_owned(), b"1".to_vec())].into());
    let mut object = build_object(&identify(&secret()), &RUNNABLE, sequence, &content);
    object["metadata"]["uid"] = json!("secret");
    object["metadata"]["resourceVersion"] = json!("5");
    object
}

#[test]
fn a_sink_takes_newer_outputs_and_never_older_ones_that_the_ledger_knows() {
    let ours = |has| may_write(SinkOwner::Ours(has), wanted(3, 5, false));
    assert_eq!(
        may_write(SinkOwner::Absent, wanted(3, 5, false)),
        SinkVerdict::Create
    );
    assert_eq!(ours(2), SinkVerdict::Replace);
    assert_eq!(ours(3), SinkVerdict::Replace);
    assert_eq!(ours(4), SinkVerdict::Newer(4));
    assert_eq!(ours(5), SinkVerdict::Newer(5));
    assert_eq!(ours(6), SinkVerdict::Overwrite(6));
    // A newer run that no controller is about to record does not block the sink for ever.
    let waited_out = |has| {
        let wanted = Wanted {
            is_waited_out: true,
            ..wanted(3, 5, true)
        };
        may_write(SinkOwner::Ours(has), wanted)
    };
    assert_eq!(waited_out(4), SinkVerdict::Overwrite(4));
    assert_eq!(waited_out(3), SinkVerdict::Leave);
    assert_eq!(
        may_write(SinkOwner::Ours(3), wanted(3, 5, true)),
        SinkVerdict::Leave
    );
}

#[test]
fn anothers_object_is_not_touched_whatever_it_says() {
    let is_ours = |object: Value| found(object).holder;
    assert_eq!(is_ours(stored(3)), SinkOwner::Ours(3));
    let mut unowned = stored(3);
    unowned["metadata"]["ownerReferences"] = json!([]);
    assert_eq!(is_ours(unowned), SinkOwner::Another);
    let mut of_another = stored(3);
    of_another["metadata"]["ownerReferences"][0]["uid"] = json!("other");
    assert_eq!(is_ours(of_another), SinkOwner::Another);
    let mut unmarked = stored(3);
    unmarked["metadata"]["annotations"] = json!({});
    assert_eq!(is_ours(unmarked), SinkOwner::Another);
}

#[test]
fn a_run_is_no_sink_though_it_belongs_to_the_runnable() {
    let run = sample::run(1, "A");
    let ledger = Ledger {
        current: None,
        ..Ledger::default()
    }
    .intend(
        sample::intent("A"),
        |_| "n".to_owned(),
        &crate::ledger::Fate::Known,
        "",
        None,
    );
    let ledger = ledger.confirm(&run).unwrap_or(ledger);
    let mut object = stored(3);
    let uid = ledger.current.as_ref().unwrap().uid.clone().unwrap();
    object["metadata"]["uid"] = json!(uid);
    let found = FoundSink::from_object(SourceKind::Secret, object, &RUNNABLE, &ledger).unwrap();
    assert_eq!(found.holder, SinkOwner::Another);
    assert_eq!(found.whose, "is a run of this Runnable");
}

#[test]
fn texts_are_written_as_they_are_and_other_values_as_compact_json() {
    let open = json!({ "text": "a\nb", "map": { "x": [1, 2] }, "none": null });
    let open: BTreeMap<String, Value> = serde_json::from_value(open).unwrap();
    let sensitive = Sensitive::new([("pin".to_owned(), json!("7731"))].into());
    let given = RunOutputs {
        open: &open,
        sensitive: &sensitive,
        declared: None,
    };
    let content = given.content(&secret());
    let expected = [
        ("map", r#"{"x":[1,2]}"#),
        ("none", "null"),
        ("pin", "7731"),
        ("text", "a\nb"),
    ];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
    assert_eq!(content, SinkContent::new(expected.into()));
    assert_eq!(format!("{content:?}"), r#"{"map", "none", "pin", "text"}"#);
    let map = given.content(&sink(json!({ "kind": "ConfigMap", "name": "m" })));
    assert_eq!(map.get("pin"), None);
    let keyed = json!({ "kind": "Secret", "name": "db", "keys": { "pin": "PIN", "gone": "GONE" } });
    let keyed = given.content(&sink(keyed));
    assert_eq!(
        keyed,
        SinkContent::new([("PIN".to_owned(), b"7731".to_vec())].into())
    );
}

#[test]
fn what_is_sensitive_by_now_no_config_map_gets_though_the_status_still_has_it() {
    let open = [
        ("pin".to_owned(), json!("7731")),
        ("text".to_owned(), json!("a")),
    ]
    .into();
    let given = RunOutputs {
        open: &open,
        sensitive: &Sensitive::default(),
        declared: Some(&[("pin", true), ("text", false)].into()),
    };
    let of_kind = |kind: &str| given.content(&sink(json!({ "kind": kind, "name": "m" })));
    let keys = |kind: &str| format!("{:?}", of_kind(kind));
    assert_eq!(keys("ConfigMap"), r#"{"text"}"#);
    assert_eq!(keys("Secret"), r#"{"pin", "text"}"#);
}

#[test]
fn what_is_written_is_found_again_and_what_others_have_set_stays() {
    let mut object = stored(3);
    object["metadata"]["labels"] = json!({ "team": "a" });
    object["type"] = json!("Opaque");
    object["stringData"] = json!({ "x": "y" });
    let content = SinkContent::new([("b".to_owned(), b"\xff2".to_vec())].into());
    let next = build_replacement(&found(object), &identify(&secret()), &RUNNABLE, 4, &content);
    assert_eq!(next["metadata"]["labels"]["team"], "a");
    assert_eq!(next["metadata"]["resourceVersion"], "5");
    assert_eq!(next["type"], "Opaque");
    assert_eq!(next.get("stringData"), None);
    let again = found(next);
    assert_eq!(again.holder, SinkOwner::Ours(4));
    assert_eq!(again.content, content);
}

#[test]
fn what_cannot_be_written_is_told_before_anything_is() {
    let declared: BTreeMap<&str, bool> = [("a", false), ("b c", false), ("pin", true)].into();
    let told = |sinks: &[Value]| -> Vec<String> {
        let all: Vec<OutputSink> = sinks.iter().cloned().map(sink).collect();
        let faults = faults(&all[0], &all, Some(&declared));
        faults.into_iter().map(|fault| fault.what).collect()
    };
    let keyed = |kind: &str, keys: Value| json!({ "kind": kind, "name": "db", "keys": keys });
    let one = |kind: &str, keys: Value| told(&[keyed(kind, keys)]);
    assert_eq!(one("Secret", json!({ "a": "A" })), Vec::<String>::new());
    for (kind, keys, expected) in [
        ("Secret", json!({ "x": "A" }), "declares no such output"),
        (
            "ConfigMap",
            json!({ "pin": "A" }),
            "output pin is sensitive",
        ),
        (
            "Secret",
            json!({ "a": "x y" }),
            "no object can have this key",
        ),
        (
            "Secret",
            json!({ "a": "..x" }),
            "no object can have this key",
        ),
        (
            "Secret",
            json!({ "a": "A", "pin": "A" }),
            "key A of Secret db is given to two outputs",
        ),
    ] {
        let told = one(kind, keys);
        assert!(told.len() == 1 && told[0].contains(expected), "{told:?}");
    }
    let all = json!({ "kind": "Secret", "name": "db" });
    assert!(told(std::slice::from_ref(&all))[0].contains("output \"b c\" cannot be key"));
    let good = keyed("Secret", json!({ "a": "A" }));
    let twice = told(&[good, all]);
    assert_eq!(twice, ["Secret db occurs twice in spec.writeOutputsTo"]);
    let unnamed = json!({ "kind": "Secret", "name": "../x", "keys": { "a": "A" } });
    assert!(told(&[unnamed])[0].contains("which is not a valid name of a Secret"));
}

#[test]
fn what_is_not_allowed_is_told_together_and_anothers_object_waits_for_a_change() {
    let object = identify(&secret());
    let denied = |verb: &str| {
        let who = crate::messages::diagnosis::Who::Controller("u".to_owned());
        let denied = vec![crate::messages::diagnosis::Denied::one(verb, "secrets")];
        let cause = Diagnosis::Forbidden(who, denied);
        SinkProblem::Failed(object.clone(), cause, Requeue::OnRbac)
    };
    let both = error(vec![denied("get"), denied("create")]).unwrap();
    assert_eq!(both.requeue, Requeue::OnRbac);
    assert!(
        both.message
            .contains("get secrets \"db\" and create secrets"),
        "{}",
        both.message
    );
    let anothers =
        SinkProblem::Anothers(object.clone(), "was not made by this Runnable".to_owned());
    let one = error(vec![anothers.clone()]).unwrap();
    assert_eq!(one.requeue, Requeue::OnChange);
    let mixed = error(vec![anothers, denied("get")]).unwrap();
    assert_eq!(mixed.requeue, Requeue::OnRbac);
    assert_eq!(error(vec![]), None);
}

#[test]
fn a_run_that_is_there_is_not_called_gone_and_a_fight_is_tried_again() {
    let told = |problem: SinkProblem| {
        let error = error(vec![problem]).unwrap();
        (error.requeue, error.message)
    };
    let (requeue, message) = told(SinkProblem::Lost(identify(&secret()), 3));
    assert_eq!(requeue, Requeue::OnChange);
    assert!(message.contains("cannot be read any more"), "{message}");
    let (requeue, message) = told(SinkProblem::Withheld(identify(&secret()), 3));
    assert_eq!(requeue, Requeue::OnChange);
    assert!(
        message.contains("exists, but does not give them"),
        "{message}"
    );
    let (requeue, message) = told(SinkProblem::Fought(identify(&secret())));
    assert_eq!(requeue, Requeue::Backoff);
    assert!(message.contains("another client changes"), "{message}");
}

#[test]
fn sensitive_outputs_without_a_secret_are_nowhere() {
    let declared: BTreeMap<&str, bool> = [("a", false), ("pin", true)].into();
    let map = sink(json!({ "kind": "ConfigMap", "name": "m" }));
    assert!(unplaced(&[map], &declared).is_some());
    assert!(unplaced(&[], &declared).is_some());
    assert!(unplaced(&[secret()], &declared).is_none());
    assert!(unplaced(&[], &[("a", false)].into()).is_none());
}

#[test]
fn what_was_written_and_is_wanted_no_more_is_known_until_it_is_gone() {
    let mut sinks = Sinks::default();
    let object = identify(&secret());
    let from = |sequence| OutputsFrom {
        sources: None,
        sequence,
        name: String::new(),
        uid: String::new(),
        rules_hash: String::new(),
        unknown_fields: cartouche_crds::UnknownFields::default(),
    };
    assert!(!sinks.has_those_of(&object, &from(1)));
    sinks.note(&object, 1, false);
    assert!(sinks.has_those_of(&object, &from(1)));
    assert!(!sinks.has_those_of(&object, &from(2)));
    assert!(!sinks.is_due(&object, &from(1)) && sinks.is_due(&object, &from(2)));
    // It could not be read, for example, which removes nothing from it.
    sinks.note(&object, 1, true);
    assert!(sinks.has_those_of(&object, &from(1)) && sinks.is_due(&object, &from(1)));
    assert_eq!(sinks.written.len(), 1);
    assert_eq!(sinks.find_unwanted(&[secret()]), []);
    assert_eq!(sinks.find_unwanted(&[]).len(), 1);
    sinks.forget(&object);
    assert_eq!(sinks.find_unwanted(&[]), []);
    sinks.announce(&[secret()]);
    assert!(sinks.is_unwritten(&object) && !sinks.has_those_of(&object, &from(1)));
    sinks.note(&object, 2, false);
    sinks.announce(&[secret()]);
    assert!(!sinks.is_unwritten(&object));
}

#[test]
fn what_stands_for_a_value_says_nothing_without_the_uid_of_its_secret() {
    let one = revision("uid", "pin", b"7731");
    assert_eq!(one.len(), REVISION);
    assert_eq!(one, revision("uid", "pin", b"7731"));
    assert_ne!(one, revision("another", "pin", b"7731"));
    assert_ne!(one, revision("uid", "pin", b"7732"));
}

#[test]
fn only_what_was_written_and_is_not_behind_has_outputs() {
    let wanted = [("ConfigMap", "m"), ("Secret", "s")];
    let wanted = wanted.map(|(kind, name)| sink(json!({ "kind": kind, "name": name })));
    let written = |kind, name: &str, sequence, behind| SinkStatus {
        kind,
        name: name.to_owned(),
        sequence,
        behind,
        unknown_fields: cartouche_crds::UnknownFields::default(),
    };
    let map = SourceKey::object(("ConfigMap", ""), "space", "m", "");
    let secret = SourceKey::object(("Secret", ""), "space", "s", "");
    for (status, held) in [
        (vec![], vec![]),
        (vec![written(SinkKind::ConfigMap, "m", 0, true)], vec![]),
        (vec![written(SinkKind::ConfigMap, "m", 2, true)], vec![]),
        (
            vec![written(SinkKind::ConfigMap, "other", 2, false)],
            vec![],
        ),
        (
            vec![written(SinkKind::ConfigMap, "m", 2, false)],
            vec![&map],
        ),
        (
            vec![
                written(SinkKind::ConfigMap, "m", 2, false),
                written(SinkKind::Secret, "s", 1, false),
            ],
            vec![&map, &secret],
        ),
    ] {
        let found = held_by("space", &wanted, &status);
        assert_eq!(found.iter().collect::<Vec<_>>(), held, "{status:?}");
    }
}
