mod paths;
mod tags;

use cartouche_language::{TagError, bounds::is_shallow};

use super::*;

/// The copy of the manifest that kubectl keeps.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn runnable() -> Value {
    json!({
        "metadata": {
            "name": "rn",
            "resourceVersion": "7",
            "managedFields": [{}],
            "annotations": { "a": "b", LAST_APPLIED: "{}" },
        },
        "spec": { "runTemplateRef": { "kind": "Other", "name": "t" }, "selector": {
            "resource": {}, "matchingLabels": { "a": "b" },
        } },
        "status": { "outputs": { "x": 1 } },
    })
}

fn find(context: &Context, path: &str) -> Result<Value, PathError> {
    let path = Path::parse(path).unwrap();
    context.find(&path, &mut Work::new()).cloned()
}

#[test]
fn what_changes_by_itself_is_not_in_the_whole_object() {
    let selected = json!({
        "metadata": { "name": "s", "resourceVersion": "7", "managedFields": [], "annotations": {
            LAST_APPLIED: "{}",
        } },
        "status": { "phase": "Ready" },
    });
    let context = Context::new(&runnable(), Some(&selected)).unwrap();
    assert_eq!(
        find(&context, "runnable"),
        Ok(json!({
            "apiVersion": "carto.run/v1alpha1",
            "kind": "Runnable",
            "metadata": { "name": "rn", "annotations": { "a": "b" } },
            "spec": { "runTemplateRef": { "kind": "ClusterRunTemplate", "name": "t" }, "selector": {
                "resource": {}, "matchingLabels": { "a": "b" },
            } },
        }))
    );
    assert_eq!(
        find(&context, "selected"),
        Ok(json!({
            "metadata": { "name": "s", "annotations": {} },
            "status": { "phase": "Ready" },
        }))
    );
}

/// Metadata with every field that an API server writes, and some of a later one.
fn full_metadata() -> Value {
    json!({
        "name": "n", "generateName": "n-", "namespace": "ns", "uid": "u", "selfLink": "/x", "generation": 3,
        "resourceVersion": "7", "managedFields": [{}], "creationTimestamp": "2026-01-02T03:04:05Z",
        "deletionTimestamp": "2026-01-02T03:04:06Z", "deletionGracePeriodSeconds": 0,
        "labels": { "a": "b", "carto.run/runnable-name": "kept" }, "finalizers": ["carto.run/later"],
        "ownerReferences": [{ "kind": "App", "name": "a" }], "later": true,
        "annotations": {
            "a": "b", "carto.run.example.com/x": "kept", "carto.run/rerun-token": "1", "carto.run/approved": "2:v1:00",
            "carto.run/profile-refresh": "1", "carto.run/later": "x", LAST_APPLIED: "{}",
        },
    })
}

fn seen_metadata() -> Value {
    json!({
        "name": "n", "namespace": "ns", "uid": "u", "generation": 3, "creationTimestamp": "2026-01-02T03:04:05Z",
        "labels": { "a": "b", "carto.run/runnable-name": "kept" },
        "ownerReferences": [{ "kind": "App", "name": "a" }],
        "annotations": { "a": "b", "carto.run.example.com/x": "kept" },
    })
}

#[test]
fn nothing_is_seen_that_is_not_on_the_list() {
    let spec = json!({
        "runTemplateRef": { "name": "t", "kind": "Other", "later": 1 },
        "selector": {
            "matchingLabels": { "a": "b" }, "later": 1,
            "resource": { "apiVersion": "v1", "kind": "ConfigMap", "later": 1 },
        },
        "inputs": { "x": { "later": 1 } },
        "serviceAccountName": "s",
        "retentionPolicy": { "maxFailedRuns": 1, "maxSuccessfulRuns": 2, "later": 3 },
        "suspend": true, "inputsFrom": [], "writeOutputsTo": [], "later": 1,
    });
    let runnable = json!({
        "apiVersion": "carto.run/v9", "kind": "Other", "metadata": full_metadata(), "spec": spec, "status": {}, "later": 1,
    });
    let selected = json!({ "kind": "ConfigMap", "metadata": full_metadata(), "status": { "a": 1 }, "later": 1 });
    let context = Context::new(&runnable, Some(&selected)).unwrap();
    assert_eq!(
        find(&context, "runnable"),
        Ok(json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": seen_metadata(),
            "spec": {
                "runTemplateRef": { "name": "t", "kind": "ClusterRunTemplate" },
                "selector": {
                    "matchingLabels": { "a": "b" }, "resource": { "apiVersion": "v1", "kind": "ConfigMap" },
                },
                "inputs": { "x": { "later": 1 } },
                "serviceAccountName": "s",
                "retentionPolicy": { "maxFailedRuns": 1, "maxSuccessfulRuns": 2 },
            },
        }))
    );
    // The body of a selected object is unchanged.
    let seen = json!({ "kind": "ConfigMap", "metadata": seen_metadata(), "status": { "a": 1 }, "later": 1 });
    assert_eq!(find(&context, "selected"), Ok(seen));
    // A field of the type exists and is empty; any other is missing.
    for (path, expected) in [
        ("runnable.metadata.generateName", json!("")),
        ("runnable.metadata.finalizers", json!(null)),
        ("runnable.metadata.deletionTimestamp", json!(null)),
    ] {
        assert_eq!(find(&context, path), Ok(expected), "{path}");
    }
    for path in [
        "runnable.later",
        "runnable.spec.later",
        "runnable.metadata.later",
        "selected.metadata.finalizers",
        "selected.metadata.deletionTimestamp",
        r"runnable.metadata.annotations.carto\.run/rerun-token",
        "*.suspend",
    ] {
        assert_eq!(
            find(&context, path),
            Err(PathError::Missing(path.to_owned())),
            "{path}"
        );
    }
}

#[test]
fn own_annotations_leave_no_trace_where_they_are_the_only_ones() {
    let of = |annotations: Value| {
        let runnable =
            json!({ "metadata": { "name": "rn", "annotations": annotations }, "spec": {} });
        find(&Context::new(&runnable, None).unwrap(), "runnable.metadata")
    };
    let none = Ok(json!({ "name": "rn" }));
    for own in ["carto.run/approved", "carto.run/rerun-token", "carto.run/x"] {
        assert_eq!(of(json!({ (own): "1" })), none, "{own}");
    }
}

/// A new field must be assigned to one of both.
#[test]
fn each_field_of_a_spec_is_seen_or_refused_by_name() {
    let file = include_str!("../../../config/crd/carto.run_runnables.yaml");
    let definition: Value = serde_saphyr::from_str(file).unwrap();
    let fields = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let fields = definition.pointer(fields).unwrap().as_object().unwrap();
    assert!(fields.len() > 10);
    for field in fields.keys() {
        let path = Path::parse(&format!("runnable.spec.{field}")).unwrap();
        let is_refused = matches!(check(&path), Err(TagError::UnreadableField(_)));
        assert_ne!(visible::is_seen(field), is_refused, "{field}");
    }
}

#[test]
fn no_annotation_of_cartouche_is_read_by_its_name() {
    for path in [
        r"runnable.metadata.annotations['carto\.run/rerun-token']",
        r"selected.metadata.annotations.carto\.run/later.x",
    ] {
        let reason = check(&Path::parse(path).unwrap()).unwrap_err().to_string();
        assert!(reason.contains("is not readable"), "{path}: {reason}");
    }
    for path in [
        r"runnable.metadata.annotations.carto\.run\.example\.com/x",
        r"runnable.metadata.labels.carto\.run/x",
    ] {
        assert_eq!(check(&Path::parse(path).unwrap()), Ok(()), "{path}");
    }
}

fn secret(metadata: &Value) -> Value {
    json!({ "metadata": metadata, "data": { "pin": "NzMwNg==" } })
}

#[test]
fn a_secret_that_is_a_run_cannot_be_selected() {
    let mut runnable = runnable();
    runnable["spec"]["selector"]["resource"] = json!({ "apiVersion": "v1", "kind": "Secret" });
    let run = json!({ "uid": "u", "labels": { "carto.run/runnable-name": "other" } });
    let problems = Context::new(&runnable, Some(&secret(&run))).unwrap_err();
    assert!(
        problems
            .to_string()
            .starts_with("selected: it is a Secret that a Runnable made as its run"),
        "{problems}"
    );
    let other = json!({ "uid": "u", "labels": { "app": "x" } });
    assert!(Context::new(&runnable, Some(&secret(&other))).is_ok());
    runnable["spec"]["selector"]["resource"]["kind"] = json!("ConfigMap");
    assert!(Context::new(&runnable, Some(&secret(&run))).is_ok());
}

#[test]
fn fields_of_the_type_are_empty_when_they_are_absent() {
    let context = Context::new(&runnable(), None).unwrap();
    for (path, expected) in [
        ("runnable.kind", json!("Runnable")),
        ("runnable.apiVersion", json!("carto.run/v1alpha1")),
        ("runnable.metadata.generateName", json!("")),
        ("runnable.metadata.namespace", json!("")),
        ("runnable.metadata.generation", json!(0)),
        ("runnable.metadata.labels", json!(null)),
        ("runnable.metadata.ownerReferences", json!(null)),
        ("runnable.spec.inputs", json!(null)),
        ("runnable.spec.serviceAccountName", json!("")),
        ("runnable.spec.selector.resource.kind", json!("")),
        (
            "runnable.spec.retentionPolicy",
            json!({"maxFailedRuns": 10, "maxSuccessfulRuns": 10}),
        ),
        ("runnable.spec.retentionPolicy.maxSuccessfulRuns", json!(10)),
    ] {
        assert_eq!(find(&context, path), Ok(expected), "{path}");
    }
}

#[test]
fn what_is_below_an_absent_field_is_missing() {
    let context = Context::new(&json!({ "metadata": {}, "spec": {} }), None).unwrap();
    for path in [
        "runnable.metadata.labels.x",
        "runnable.spec.selector.resource.kind",
        "runnable.spec.inputs.x",
        "runnable.spec.unknown",
        "runnable.spec.inputs.serviceAccountName",
        "selected.spec.serviceAccountName",
    ] {
        assert_eq!(
            find(&context, path),
            Err(PathError::Missing(path.to_owned())),
            "{path}"
        );
    }
}

#[test]
fn inputs_named_like_typed_fields_are_plain_values() {
    let runnable = json!({ "metadata": {}, "spec": { "inputs": {
        "metadata": { "name": "n" }, "status": 1, "selector": null,
    } } });
    let context = Context::new(&runnable, None).unwrap();
    assert_eq!(
        find(&context, "runnable.spec.inputs.metadata.name"),
        Ok(json!("n"))
    );
    assert_eq!(find(&context, "runnable.spec.inputs.status"), Ok(json!(1)));
    assert_eq!(
        find(&context, "runnable.spec.inputs.selector"),
        Ok(json!(null))
    );
}

#[test]
fn a_path_around_the_check_still_finds_no_status() {
    let context = Context::new(&runnable(), None).unwrap();
    for path in ["*.status", "..outputs", "..resourceVersion"] {
        assert_eq!(
            find(&context, path),
            Err(PathError::Missing(path.to_owned())),
            "{path}"
        );
    }
}

#[test]
fn the_status_cannot_be_named_in_any_spelling() {
    for path in [
        "runnable.status",
        ".runnable['status'].x",
        "{.runnable.status.outputs}",
    ] {
        let reason = check(&Path::parse(path).unwrap()).unwrap_err();
        assert!(
            reason
                .to_string()
                .starts_with("runnable.status is not readable"),
            "{path}: {reason}"
        );
    }
    for path in [
        "runnable.spec.inputs.status",
        "selected.status.phase",
        "..status",
    ] {
        assert_eq!(check(&Path::parse(path).unwrap()), Ok(()), "{path}");
    }
}

#[test]
fn a_context_over_a_mebibyte_is_refused_whatever_the_status_weighs() {
    let mut runnable = runnable();
    runnable["status"] = "x".repeat(MAX_CONTEXT_BYTES).into();
    assert!(Context::new(&runnable, None).is_ok());
    runnable["spec"]["inputs"] = json!({ "x": "x".repeat(MAX_CONTEXT_BYTES) });
    let problems = Context::new(&runnable, None).unwrap_err().to_string();
    assert_eq!(
        problems,
        "the Runnable and the object it selects are together larger than 1048576 bytes"
    );
}

#[test]
fn a_context_that_is_too_deep_or_no_object_is_refused_by_name() {
    let deep = (0..3_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    assert!(!is_shallow(&deep));
    let deep = Value::Object([("spec".to_owned(), deep)].into_iter().collect());
    let problems = Context::new(&json!([]), Some(&deep))
        .unwrap_err()
        .to_string();
    assert_eq!(
        problems,
        "runnable: is not an object; selected: objects and arrays are nested more than 64 deep"
    );
}
