//! Keys and outputs that are missing, and those that are there instead.

use super::*;

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
