//! Revisions and keys of the sources, also of those that are left out.

use super::*;

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
