mod missing;
mod revisions;

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
