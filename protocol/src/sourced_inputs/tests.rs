use cartouche_crds::MAX_SOURCES;
use cartouche_templating::secret_mark;
use serde_json::json;

use super::*;

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
        (SourceObject::known(kind, &name), read)
    });
    let named: BTreeMap<SourceObject, SourceRead> = named.collect();
    values(&sources(from.clone()), |object| named.get(object))
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
            SourceRead::secret("uid", [("pin", b"1234".as_slice())]),
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
            "input a comes from key text of ConfigMap sizes: it is no JSON that can be read: line 1, column 1",
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
        both,
        { "name": "none" },
        config_map("own", "sizes", "k"),
        config_map("right", "sizes", "a.b-c_D"),
    ]);
    let inputs = BTreeMap::from([("own".to_owned(), json!(1))]);
    let wrong = check(Some(&inputs), &sources(from)).unwrap_err();
    let named: Vec<&str> = whats(&wrong.faults)
        .into_iter()
        .filter_map(|what| what.split(' ').nth(1))
        .collect();
    assert_eq!(
        named,
        ["own", "a", "b", "c", "d", "e", "f", "g", "both", "none"]
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
}
