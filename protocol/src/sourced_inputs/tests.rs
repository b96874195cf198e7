use std::{collections::BTreeSet, sync::Arc};

use cartouche_crds::{MAX_LABELS, MAX_SOURCES, Runnable};
use cartouche_templating::secret_mark;
use serde_json::json;

use super::*;
use crate::{
    references::{SourceKind, keys, sinks},
    sources::Seen,
    trace::SourceKey,
};

fn sources(sources: Value) -> Vec<InputSource> {
    serde_json::from_value(sources).unwrap()
}

fn config_map(input: &str, name: &str, key: &str) -> Value {
    json!({ "name": input, "configMapKeyRef": { "name": name, "key": key } })
}

fn secret(input: &str, name: &str, key: &str) -> Value {
    json!({ "name": input, "secretKeyRef": { "name": name, "key": key } })
}

fn read(
    objects: Vec<(SourceKind, &str, SourceRead)>,
    from: &Value,
) -> Result<BTreeMap<String, Sourced>, NoInputs> {
    let named = objects.into_iter().map(|(kind, name, read)| {
        let name = name.to_owned();
        (SourceObject::in_own_namespace(kind, &name), read)
    });
    let named: BTreeMap<SourceObject, SourceRead> = named.collect();
    values("ns", &sources(from.clone()), |object| named.get(object))
}

fn map(data: &Value) -> SourceRead {
    SourceRead::ConfigMap(Arc::new(
        json!({ "data": data, "binaryData": { "raw": "AA==" } }),
    ))
}

fn whats(faults: &[Fault]) -> Vec<&str> {
    faults.iter().map(|fault| fault.what.as_str()).collect()
}

#[test]
fn each_source_gives_its_value() {
    let mut size = config_map("size", "sizes", "small");
    size["configMapKeyRef"]["as"] = json!("JSON");
    let from = json!([
        size,
        config_map("text", "sizes", "small"),
        secret("password", "db", "pin")
    ]);
    let objects = vec![
        (
            SourceKind::ConfigMap,
            "sizes",
            map(&json!({ "small": "{\"cpu\": 1}" })),
        ),
        (
            SourceKind::Secret,
            "db",
            SourceRead::secret(&json!({ "uid": "uid" }), [("pin", b"1234".as_slice())]),
        ),
    ];
    let values = read(objects, &from).unwrap();
    assert_eq!(values["size"], Sourced::plain(json!({ "cpu": 1 })));
    assert_eq!(values["text"], Sourced::plain(json!("{\"cpu\": 1}")));
    let password = Sourced::secret("db", "pin", secret_mark("uid", "pin", b"1234"));
    assert_eq!(values["password"], password);
}

#[test]
fn all_that_is_not_there_is_named_at_once_and_waited_for() {
    let from = json!([
        config_map("a", "gone", "k"),
        config_map("b", "sizes", "none"),
        secret("c", "db", "none"),
    ]);
    let objects = vec![
        (SourceKind::ConfigMap, "gone", SourceRead::Absent),
        (SourceKind::ConfigMap, "sizes", map(&json!({}))),
        (
            SourceKind::Secret,
            "db",
            SourceRead::Secret(BTreeMap::new()),
        ),
    ];
    let wrong = read(objects, &from).unwrap_err();
    assert_eq!(
        whats(&wrong.missing),
        [
            "input a comes from ConfigMap gone, which is not there",
            "input b comes from key none of ConfigMap sizes, which has no such key",
            "input c comes from key none of Secret db, which has no such key",
        ]
    );
    let error = wrong.error(Duration::from_mins(1));
    assert_eq!(error.category, Category::DependencyNotReady);
}

/// Its uid is in the status of its Runnable, and is the key of the marks of its values.
#[test]
fn a_secret_that_is_a_run_gives_nothing_also_where_it_is_optional() {
    let controlled = json!({ "uid": "u", "ownerReferences": [
        { "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "uid": "r", "controller": true },
    ] });
    let mut sink = controlled.clone();
    sink["annotations"] = json!({ "carto.run/outputs-of": "r" });
    let mut of_another = sink.clone();
    of_another["annotations"]["carto.run/outputs-of"] = json!("another");
    let labelled = json!({ "uid": "u", "labels": { "carto.run/runnable-name": "r" } });
    let mut from = secret("pin", "db", "pin");
    from["optional"] = json!(true);
    let from = json!([from]);
    let given = |metadata: &Value| {
        let found = SourceRead::secret(metadata, [("pin", b"1234".as_slice())]);
        read(vec![(SourceKind::Secret, "db", found)], &from)
    };
    for run in [&controlled, &of_another, &labelled] {
        let wrong = given(run).unwrap_err();
        assert!(
            wrong.faults[0]
                .what
                .contains("which a Runnable made as its run"),
            "{wrong:?}"
        );
        assert_eq!(wrong.error(Duration::ZERO).category, Category::SourceError);
    }
    for other in [sink, json!({ "uid": "u", "labels": { "app": "x" } })] {
        assert!(given(&other).is_ok(), "{other}");
    }
}

#[test]
fn what_is_optional_and_not_there_is_left_out() {
    let mut from = json!([
        config_map("a", "gone", "k"),
        config_map("b", "sizes", "none")
    ]);
    for source in from.as_array_mut().unwrap() {
        source["optional"] = json!(true);
    }
    let objects = vec![(SourceKind::ConfigMap, "sizes", map(&json!({})))];
    assert_eq!(read(objects, &from), Ok(BTreeMap::new()));
}

#[test]
fn what_cannot_be_used_is_an_error_that_names_no_value_though_it_is_optional() {
    let mut json_of = config_map("a", "sizes", "text");
    json_of["configMapKeyRef"]["as"] = json!("JSON");
    let mut from = json!([json_of, config_map("b", "sizes", "raw")]);
    for source in from.as_array_mut().unwrap() {
        source["optional"] = json!(true);
    }
    let objects = vec![(
        SourceKind::ConfigMap,
        "sizes",
        map(&json!({ "text": "hunter2" })),
    )];
    let wrong = read(objects, &from).unwrap_err();
    assert_eq!(
        whats(&wrong.faults),
        [
            "input a comes from key text of ConfigMap sizes: it cannot be read as JSON: line 1, column 1",
            "input b comes from key raw of ConfigMap sizes, which is in its binaryData",
        ]
    );
    let error = wrong.error(Duration::from_mins(1));
    assert_eq!(error.category, Category::SourceError);
    assert_eq!(error.requeue, Requeue::OnChange);
    assert!(!error.message.contains("hunter2"), "{error}");
}

#[test]
fn references_that_can_name_nothing_are_all_told_before_anything_is_read() {
    let long = "k".repeat(254);
    let both = json!({ "name": "both", "configMapKeyRef": { "name": "a", "key": "k" }, "secretKeyRef": { "name": "a", "key": "k" } });
    let from = json!([
        config_map("a", "../x", "k"),
        config_map("b", "Upper", "k"),
        config_map("c", "", "k"),
        secret("d", "db", "a/b"),
        secret("e", "db", ""),
        secret("f", "db", &long),
        secret("g", "db", "schlüssel"),
        secret("h", "db", ".."),
        config_map("i", "sizes", "..2026"),
        config_map("j", "sizes", "."),
        both,
        { "name": "none" },
        config_map("own", "sizes", "k"),
        config_map("right", "sizes", "a.b-c_D"),
        config_map("dotted", "sizes", ".a..b"),
    ]);
    let inputs = BTreeMap::from([("own".to_owned(), json!(1))]);
    let wrong = check(Some(&inputs), &sources(from)).unwrap_err();
    let named: Vec<&str> = whats(&wrong.faults)
        .into_iter()
        .filter_map(|what| what.split(' ').nth(1))
        .collect();
    assert_eq!(
        named,
        [
            "own", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "both", "none"
        ]
    );
    assert!(wrong.missing.is_empty());
}

#[test]
fn more_than_may_be_are_told_though_no_schema_has_refused_them() {
    let many: Vec<Value> = (0..=MAX_SOURCES)
        .map(|number| config_map(&format!("i{number}"), "sizes", "k"))
        .collect();
    assert!(check(None, &sources(many[1..].to_vec().into())).is_ok());
    assert!(check(None, &sources(many.into())).is_err());
    let labels = |count: usize| -> BTreeMap<String, &str> {
        (0..count).map(|it| (format!("l{it}"), "v")).collect()
    };
    let found_by = |count| {
        let object = json!({ "apiVersion": "v1", "kind": "Pod", "path": ".spec", "matchingLabels": labels(count) });
        check(
            None,
            &sources(json!([{ "name": "a", "objectRef": object }])),
        )
    };
    assert!(found_by(MAX_LABELS).is_ok());
    assert!(found_by(MAX_LABELS + 1).is_err());
}

/// The state of each source, by its key: the value and the revision.
fn traces(
    read: &BTreeMap<SourceObject, SourceRead>,
    from: &Value,
) -> Vec<(String, Given, Option<String>)> {
    let taken = take_inputs("shop", &sources(from.clone()), |object| read.get(object));
    let all = taken.sources.into_iter();
    all.map(|source| {
        let revision = source.revision.map(|it| it.to_string());
        (source.key.to_string(), source.value, revision)
    })
    .collect()
}

fn reading(from: &Value, read: &[SourceRead]) -> BTreeMap<SourceObject, SourceRead> {
    let objects = sources(from.clone());
    let objects = objects.iter().filter_map(SourceObject::from_source);
    objects.zip(read.iter().cloned()).collect()
}

fn runnable(outputs: Option<Value>) -> SourceRead {
    let status = outputs.map(|outputs| json!({ "outputs": outputs }));
    let runnable = json!({
        "metadata": { "name": "build", "namespace": "shop" },
        "spec": { "runTemplateRef": { "name": "build" } },
        "status": status,
    });
    let runnable = serde_json::from_value(runnable).unwrap();
    SourceRead::runnable(&runnable, &BTreeSet::from(["digest"]))
}

fn app(revision_path: Option<&str>) -> Value {
    json!([{ "name": "app", "optional": true, "objectRef": {
        "apiVersion": "source.example.com/v1", "kind": "Repository", "name": "app",
        "path": ".status.digest", "revisionPath": revision_path,
    } }])
}

fn repository(status: &Value) -> SourceRead {
    let object = json!({ "metadata": { "name": "app", "namespace": "shop" }, "status": status });
    SourceRead::object(
        &object,
        &BTreeSet::from([".status.digest", ".status.revision"]),
    )
}

fn revision_of_one(from: &Value, read: SourceRead) -> (Given, Option<String>) {
    let read = reading(from, &[read]);
    let (_, value, revision) = traces(&read, from).remove(0);
    (value, revision)
}

#[test]
fn what_is_left_out_is_traced_as_absent_or_by_what_a_runnable_gives_otherwise() {
    let absent = (Given::LeftOut, Some("absent".to_owned()));
    let mut of_map = json!([config_map("a", "sizes", "none")]);
    of_map[0]["optional"] = json!(true);
    assert_eq!(revision_of_one(&of_map, SourceRead::Absent), absent);
    assert_eq!(revision_of_one(&of_map, map(&json!({}))), absent);
    let of_runnable = json!([{
        "name": "a", "optional": true, "runnableRef": { "name": "build", "output": "digest" },
    }]);
    assert_eq!(revision_of_one(&of_runnable, SourceRead::Absent), absent);
    assert_eq!(revision_of_one(&of_runnable, runnable(None)), absent);
    let given = BTreeMap::from([("size".to_owned(), json!(1))]);
    let other = Revision::of_outputs(&given, &BTreeMap::new()).to_string();
    assert_eq!(
        revision_of_one(&of_runnable, runnable(Some(json!({ "size": 1 })))),
        (Given::LeftOut, Some(other))
    );
}

#[test]
fn an_object_that_is_not_ready_is_waited_for_though_its_value_may_be_left_out() {
    let at_first = repository(&json!({ "conditions": [{ "type": "Ready", "status": "Unknown" }] }));
    let mut from = app(None);
    assert_eq!(
        revision_of_one(&from, at_first.clone()).0,
        Given::ObjectNotReady
    );
    from[0]["objectRef"]["waitFor"] = json!("Nothing");
    assert_eq!(revision_of_one(&from, at_first).0, Given::LeftOut);
}

/// A Runnable whose outputs are of run 7, and whose Secret has those of this one.
fn with_secret_of(sequence: i64) -> SourceRead {
    let runnable = json!({
        "metadata": { "name": "build", "namespace": "shop" },
        "spec": { "runTemplateRef": { "name": "build" } },
        "status": {
            "outputs": { "user": "u" },
            "outputsFrom": { "uid": "run-7", "name": "build-7", "sequence": 7, "inputHash": "v1:A", "rulesHash": "r" },
            "sensitiveOutputs": { "password": { "name": "db", "key": "password", "revision": "3f0e" } },
            "sinks": [{ "kind": "Secret", "name": "db", "sequence": sequence }],
        },
    });
    let runnable = serde_json::from_value(runnable).unwrap();
    SourceRead::runnable(&runnable, &BTreeSet::from(["password"]))
}

#[test]
fn a_sensitive_output_that_has_yet_to_be_written_is_waited_for_though_it_may_be_left_out() {
    let of = |namespace: Option<&str>| {
        json!([{ "name": "a", "optional": true, "runnableRef": {
            "name": "build", "output": "password", "namespace": namespace,
        } }])
    };
    let (behind, _) = revision_of_one(&of(None), with_secret_of(6));
    assert_eq!(behind, Given::Missing);
    let (written, revision) = revision_of_one(&of(None), with_secret_of(7));
    assert_eq!(written, Given::Given);
    let SourceRead::Runnable(before) = with_secret_of(6) else {
        unreachable!()
    };
    let before = before.seen.revision.as_ref().map(ToString::to_string);
    assert_ne!(revision, before, "who reads it hears of it");
}

#[test]
fn a_namespace_that_is_named_though_it_is_the_own_one_is_no_other() {
    let from = json!([{ "name": "a", "runnableRef": {
        "name": "build", "output": "password", "namespace": "shop",
    } }]);
    let object = SourceObject::in_own_namespace(SourceKind::Runnable, "build");
    let read = BTreeMap::from([(object, with_secret_of(7))]);
    let of = |namespace| values(namespace, &sources(from.clone()), |object| read.get(object));
    assert!(of("shop").is_ok());
    assert!(of("elsewhere").is_err());
}

#[test]
fn a_revision_that_reads_like_an_absence_is_told_from_one() {
    let of = |revision: &str| {
        let read = repository(&json!({ "digest": "d", "revision": revision }));
        revision_of_one(&app(Some(".status.revision")), read).1
    };
    assert_eq!(of("r1").unwrap(), "r1");
    assert_ne!(of("absent").unwrap(), "absent");
}

#[test]
fn an_object_that_has_no_value_is_traced_by_its_revision_where_it_has_one_at_all() {
    let (traced, untraced) = (app(Some(".status.revision")), app(None));
    let left_out = |revision: Option<&str>| (Given::LeftOut, revision.map(str::to_owned));
    let without_digest = repository(&json!({ "revision": "r1" }));
    assert_eq!(
        revision_of_one(&traced, SourceRead::Absent),
        left_out(Some("absent"))
    );
    assert_eq!(
        revision_of_one(&traced, repository(&json!({}))),
        left_out(Some("absent"))
    );
    assert_eq!(
        revision_of_one(&traced, without_digest.clone()),
        left_out(Some("r1"))
    );
    assert_eq!(
        revision_of_one(&untraced, SourceRead::Absent),
        left_out(None)
    );
    assert_eq!(revision_of_one(&untraced, without_digest), left_out(None));
}

#[test]
fn a_value_that_is_there_is_not_left_out_for_want_of_a_revision() {
    let mut from = app(Some(".status.revision"));
    let without_revision = repository(&json!({ "digest": "d" }));
    assert_eq!(
        revision_of_one(&from, without_revision.clone()),
        (Given::Given, None)
    );
    from[0]["optional"] = json!(false);
    assert_eq!(
        revision_of_one(&from, without_revision),
        (Given::Missing, None)
    );
}

#[test]
fn an_object_that_is_read_by_two_revisions_is_two_sources() {
    let mut other = app(Some(".status.artifact")).as_array().unwrap()[0].clone();
    other["name"] = json!("other");
    let mut from = app(Some(".status.revision"));
    from.as_array_mut().unwrap().push(other);
    let object = json!({ "status": { "digest": "d", "revision": "r", "artifact": "a" } });
    let paths = BTreeSet::from([".status.digest", ".status.revision", ".status.artifact"]);
    let read = SourceRead::object(&object, &paths);
    let keys: Vec<String> = traces(&reading(&from, &[read]), &from)
        .into_iter()
        .map(|(key, ..)| key.rsplit('/').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(keys, ["{.status.revision}", "{.status.artifact}"]);
}

#[test]
fn an_object_of_the_cluster_is_one_source_from_whichever_namespace_it_is_read() {
    let from = app(Some(".status.revision"));
    let key_of = |metadata: Value| {
        let object = json!({ "metadata": metadata, "status": { "digest": "d", "revision": "r" } });
        let paths = BTreeSet::from([".status.digest", ".status.revision"]);
        let read = SourceRead::object(&object, &paths);
        traces(&reading(&from, &[read]), &from).remove(0).0
    };
    let of_cluster = "Repository.source.example.com//app/{.status.revision}";
    assert_eq!(key_of(json!({ "name": "app" })), of_cluster);
    let of_namespace = "Repository.source.example.com/shop/app/{.status.revision}";
    let read = json!({ "name": "app", "namespace": "shop" });
    assert_eq!(key_of(read), of_namespace);
}

#[test]
fn an_object_whose_namespace_is_named_though_it_is_the_own_is_read_once() {
    let of = |input: &str, output: &str, namespace: Option<&str>| json!({ "name": input, "runnableRef": { "name": "build", "output": output, "namespace": namespace } });
    let from = json!([of("a", "digest", None), of("b", "size", Some("shop"))]);
    let sources = sources(from.clone());
    let objects = sources.iter();
    let objects: BTreeSet<SourceObject> = objects
        .filter_map(|source| SourceObject::read_in("shop", source))
        .collect();
    let object = SourceObject::in_own_namespace(SourceKind::Runnable, "build");
    assert_eq!(objects, BTreeSet::from([object.clone()]));
    assert_eq!(keys("shop", &sources, &object), ["digest", "size"].into());
    assert_eq!(keys("elsewhere", &sources, &object), ["digest"].into());
    let read = BTreeMap::from([(object, runnable(Some(json!({ "digest": "d" }))))]);
    let given: Vec<Given> = traces(&read, &from).into_iter().map(|it| it.1).collect();
    assert_eq!(given, [Given::Given, Given::Missing]);
    let named: BTreeSet<String> = traces(&read, &from).into_iter().map(|it| it.0).collect();
    assert_eq!(named, BTreeSet::from(["Runnable/shop/build".to_owned()]));
}

#[test]
fn an_object_that_outputs_may_be_written_to_is_the_same_however_it_is_read() {
    let by_object = |kind: &str, namespace: Value, of: Value| {
        let mut reference =
            json!({ "apiVersion": "v1", "kind": kind, "path": ".data.a", "namespace": namespace });
        let fields = of.as_object().cloned().unwrap_or_default();
        reference.as_object_mut().unwrap().extend(fields);
        json!({ "name": "by-object", "objectRef": reference })
    };
    let map = || SourceKey::object(("ConfigMap", ""), "shop", "sizes", "");
    let named = json!({ "name": "sizes", "revisionPath": ".metadata.uid" });
    for source in [
        config_map("a", "sizes", "small"),
        by_object("ConfigMap", Value::Null, named.clone()),
        by_object("ConfigMap", json!("shop"), named.clone()),
    ] {
        assert_eq!(sinks("shop", &sources(json!([source]))), [map()].into());
    }
    let db = SourceKey::object(("Secret", ""), "shop", "db", "");
    assert_eq!(
        sinks("shop", &sources(json!([secret("b", "db", "pin")]))),
        [db].into()
    );
    let written = json!([{ "kind": "ConfigMap", "name": "sizes" }]);
    let written: Vec<cartouche_crds::OutputSink> = serde_json::from_value(written).unwrap();
    assert_eq!(crate::sinks::written_by("shop", &written), [map()].into());
    // Only a read shows which one labels select, and no outputs are written to any other kind.
    for source in [
        by_object(
            "ConfigMap",
            Value::Null,
            json!({ "matchingLabels": { "sizes/x": "y" } }),
        ),
        by_object("Pod", Value::Null, named),
        json!({ "name": "r", "runnableRef": { "name": "sizes", "output": "a" } }),
    ] {
        assert_eq!(sinks("shop", &sources(json!([source]))), BTreeSet::new());
    }
}

fn of_map_with(data: Value, key: &str) -> NoInputs {
    let data: BTreeMap<String, String> = serde_json::from_value(data).unwrap();
    let read_map = SourceRead::config_map("u", data, BTreeMap::new(), &BTreeSet::from([key]));
    let objects = vec![(SourceKind::ConfigMap, "sizes", read_map)];
    read(objects, &json!([config_map("a", "sizes", key)])).unwrap_err()
}

#[test]
fn the_keys_that_there_are_are_told_where_one_is_missing() {
    let cure = |data, key| of_map_with(data, key).missing[0].cure.clone().unwrap();
    let said = cure(json!({ "small": "1", "large": "2" }), "smal");
    assert!(
        said.starts_with("correct the key (did you mean 'small'?)"),
        "{said}"
    );
    let said = cure(json!({ "small": "1", "large": "2" }), "colour");
    assert!(said.contains("(it has the keys: large, small)"), "{said}");
    let many: BTreeMap<String, String> = (0..500)
        .map(|n| (format!("k{n}{}", "x".repeat(200)), String::new()))
        .collect();
    let said = cure(json!(many), "colour");
    assert!(said.len() < 200, "{said}");
}

/// The missing inputs for another Runnable with this status, of which `digest` is read.
fn of_runnable_with(status: &Value) -> NoInputs {
    let runnable = json!({
        "metadata": { "name": "build", "namespace": "ns", "generation": 1 },
        "spec": { "runTemplateRef": { "name": "build" } }, "status": status,
    });
    let runnable = serde_json::from_value(runnable).unwrap();
    let found = SourceRead::runnable(&runnable, &BTreeSet::from(["digest"]));
    let from = json!([{ "name": "a", "runnableRef": { "name": "build", "output": "digest" } }]);
    read(vec![(SourceKind::Runnable, "build", found)], &from).unwrap_err()
}

#[test]
fn why_an_output_is_not_there_goes_by_the_newest_that_is_known() {
    let runnable = |status: Value| -> Runnable {
        let runnable = json!({
            "metadata": { "name": "build", "namespace": "ns", "generation": 1 },
            "spec": { "runTemplateRef": { "name": "build" } }, "status": status,
        });
        serde_json::from_value(runnable).unwrap()
    };
    let at_work = runnable(settled("Unknown", "RunInProgress", &json!({})));
    let failed = runnable(settled("False", "BackoffLimitExceeded", &json!({})));
    let mut found = SourceRead::runnable(&at_work, &BTreeSet::from(["digest"]));
    found.set_newest(Arc::new(Seen::from_runnable(&failed)));
    let from = json!([{ "name": "a", "runnableRef": { "name": "build", "output": "digest" } }]);
    let wrong = read(vec![(SourceKind::Runnable, "build", found)], &from).unwrap_err();
    let what = &wrong.missing[0].what;
    assert!(what.contains("(BackoffLimitExceeded)"), "{what}");
}

fn settled(ready: &str, reason: &str, outputs: &Value) -> Value {
    json!({ "observedGeneration": 1, "outputs": outputs, "conditions": [{
        "type": "Ready", "status": ready, "reason": reason, "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }] })
}

#[test]
fn the_outputs_that_there_are_are_told_where_one_is_missing() {
    let wrong = of_runnable_with(&settled("True", "Ready", &json!({ "digset": "x" })));
    let fault = &wrong.missing[0];
    assert!(
        fault.what.ends_with("which gives no such output"),
        "{}",
        fault.what
    );
    let cure = fault.cure.as_ref().unwrap();
    assert!(cure.contains("did you mean 'digset'?"), "{cure}");
}

#[test]
fn of_a_runnable_that_is_not_ready_itself_that_is_told() {
    let wrong = of_runnable_with(&settled(
        "False",
        "TemplateStampFailure",
        &json!({ "a": 1 }),
    ));
    let Fault { what, cure, .. } = &wrong.missing[0];
    assert!(
        what.contains("is not ready itself (TemplateStampFailure)"),
        "{what}"
    );
    let cure = cure.as_deref().unwrap();
    let wanted = "run `cartouche why` on that Runnable, and fix it: its next run brings outputs that its template has gained;";
    assert!(cure.starts_with(wanted), "{cure}");
}

#[test]
fn what_is_on_its_way_is_told_apart_from_what_only_somebody_brings() {
    let lacks = |wrong: NoInputs| {
        let error = wrong.error(Duration::from_mins(1));
        assert_eq!(error.category, Category::DependencyNotReady);
        matches!(
            error.diagnosis.as_deref(),
            Some(Diagnosis::SourcesMissing(_))
        )
    };
    assert!(lacks(of_map_with(json!({}), "small")));
    let outputs = json!({ "other": 1 });
    assert!(lacks(of_runnable_with(&settled("True", "Ready", &outputs))));
    let mut at_work = settled("Unknown", "RunInProgress", &outputs);
    at_work["observedGeneration"] = json!(0);
    assert!(!lacks(of_runnable_with(&at_work)));
    let object = |ready: &str| {
        let found = repository(&json!({ "conditions": [{ "type": "Ready", "status": ready }] }));
        let mut from = app(None);
        from[0]["optional"] = json!(false);
        let all = reading(&from, &[found]);
        take_inputs("shop", &sources(from), |object| all.get(object)).wrong
    };
    assert!(lacks(object("True")));
    assert!(!lacks(object("False")));
}
