use super::*;
use crate::bounds::is_shallow;

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
