use crate::cached_runnable::CachedRunnable;
use kube::core::WatchEvent;

use super::{Guarded, MAX_BYTES, MOST_WRITERS, Resource};

fn event(text: &str) -> Guarded<CachedRunnable> {
    match serde_json::from_str(text).unwrap() {
        WatchEvent::Modified(object) => object,
        other => unreachable!("{other:?}"),
    }
}

fn runnable(metadata: &str, inputs: &str, status: &str) -> Guarded<CachedRunnable> {
    let text = format!(
        r#"{{"metadata":{{"name":"a"{metadata}}},"spec":{{"runTemplateRef":{{"name":"t"}},"inputs":{inputs}}},"status":{status}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn an_object_that_cannot_be_read_keeps_its_place_in_the_watch() {
    let broken = event(
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"7"},"spec":{"runTemplateRef":5}}}"#,
    );
    assert!(broken.object.is_err());
    assert_eq!(broken.meta().resource_version.as_deref(), Some("7"));

    let whole = event(
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"a"},"spec":{"runTemplateRef":{"name":"t"}}}}"#,
    );
    assert_eq!(whole.object.unwrap().spec.run_template_ref.name, "t");
}

#[test]
fn what_keeps_an_object_from_being_read_is_said_with_its_place() {
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(140), "]".repeat(140));
    let condition = r#"{"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}"#;
    let unreadable = runnable("", &deep, condition).object.unwrap_err();
    assert!(
        unreadable
            .why
            .starts_with("spec: it is nested deeper than 127 levels at line 1 column "),
        "{}",
        unreadable.why
    );
    assert_eq!(unreadable.stored[0].type_, "Ready");
    assert!(!unreadable.may_be_newer);

    let unreadable = runnable("", "{}", r#"{"currentRun":5}"#)
        .object
        .unwrap_err();
    assert!(unreadable.why.starts_with("status: invalid type: integer"));
    assert!(unreadable.may_be_newer);
}

#[test]
fn what_users_write_is_bounded_and_what_is_written_for_them_is_not() {
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_BYTES));
    let unreadable = runnable("", &large, "{}").object.unwrap_err();
    assert!(unreadable.why.contains("1114112 are read at most"));
    let fields = format!(r#","managedFields":[{{"fieldsV1":{large}}}]"#);
    assert!(runnable(&fields, "{}", "{}").object.is_ok());
    let outputs = format!(r#"{{"outputs":{large}}}"#);
    assert!(runnable("", "{}", &outputs).object.is_ok());
}

#[test]
fn what_is_kept_as_a_tree_beside_the_inputs_is_bounded_wherever_it_stands() {
    let labels = |count: usize| {
        let labels: Vec<_> = (0..count).map(|at| format!(r#""a{at:05}":"""#)).collect();
        format!("{{{}}}", labels.join(","))
    };
    let heavy = labels(20_000);
    for metadata in [
        format!(r#","labels":{heavy}"#),
        format!(r#","annotations":{heavy}"#),
        format!(r#","ownerReferences":[{heavy}]"#),
    ] {
        let guarded = runnable(&metadata, "{}", "{}");
        assert_eq!(guarded.meta().labels, None, "none is kept");
        let unreadable = guarded.object.unwrap_err();
        let why = unreadable.why;
        assert!(
            why.contains("without its inputs (labels, annotations"),
            "{why}"
        );
        assert!(!unreadable.may_be_newer);
    }
    let selector = format!(
        r#"{{"metadata":{{"name":"a"}},"spec":{{"runTemplateRef":{{"name":"t"}},"selector":{{"resource":{{"apiVersion":"v1","kind":"ConfigMap"}},"matchingLabels":{heavy}}}}}}}"#
    );
    let guarded: Guarded<CachedRunnable> = serde_json::from_str(&selector).unwrap();
    assert!(guarded.object.is_err());
    // Inputs are kept as text, and parts that the API server and the controller write do not count.
    let fields = format!(
        r#","labels":{},"managedFields":[{{"fieldsV1":{heavy}}}]"#,
        labels(500)
    );
    let status = format!(r#"{{"outputs":{heavy}}}"#);
    assert!(runnable(&fields, &heavy, &status).object.is_ok());
}

#[test]
fn of_a_runnable_with_a_ledger_it_is_known_who_else_wrote_the_status() {
    let fields = r#","managedFields":[{"manager":"a","fieldsV1":{"f:spec":{}}},{"manager":"b","subresource":"status","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:status":{}}}]"#;
    let ours = fields.replace(r#""b""#, r#""cartouche""#);
    let kept = |fields: &str, status: &str| {
        let object = runnable(fields, "{}", status).object.unwrap();
        let entries = object.metadata.managed_fields.clone().unwrap_or_default();
        entries
            .into_iter()
            .map(|entry| (entry.manager, entry.fields_v1, entry.time.is_some()))
            .collect::<Vec<_>>()
    };
    let b = [(Some("b".to_owned()), None, true)];
    assert_eq!(kept(fields, "{}"), b);
    assert_eq!(kept(&ours, "{}").len(), 1, "a controller has written it");
    let ledger = r#"{"currentRun":{"sequence":1,"name":"a","apiVersion":"v1","kind":"K","inputHash":"v1:0","phase":"Pending"}}"#;
    assert_eq!(kept(fields, ledger), b);
    assert_eq!(kept(&ours, ledger), []);
    let many: Vec<String> = (0..30)
        .map(|number| format!(r#"{{"manager":"{number}","subresource":"status"}}"#))
        .collect();
    let many = kept(&format!(r#","managedFields":[{}]"#, many.join(",")), ledger);
    let latest = many.last().and_then(|(manager, ..)| manager.as_deref());
    assert_eq!((many.len(), latest), (MOST_WRITERS, Some("29")));
}
