use serde_json::json;

use super::*;

/// Returns a Runnable that reads these, with this status.
fn runnable(name: &str, reads: &[&str], status: &Value) -> Runnable {
    let references = reads.iter().map(|source| {
        json!({ "name": format!("from-{source}"), "runnableRef": { "name": source, "output": "out" } })
    });
    serde_json::from_value(json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": name, "namespace": "shop", "generation": 1 },
        "spec": {
            "runTemplateRef": { "name": "t" }, "inputsFrom": references.collect::<Vec<_>>(),
        },
        "status": status,
    }))
    .unwrap()
}

fn run(sequence: i64, result: &Value, sources: &Value) -> Value {
    json!({
        "sequence": sequence, "inputHash": format!("v1:{sequence}"), "phase": "Created", "result": result,
        "apiVersion": "v1", "kind": "Pod", "name": format!("run-{sequence}"), "uid": format!("u{sequence}"),
        "sources": sources,
    })
}

fn waiting(reason: &str) -> Value {
    json!({
        "observedGeneration": 1,
        "pending": { "sequence": 2, "inputHash": "v1:2", "reason": reason, "since": "2026-01-01T00:00:00Z" },
    })
}

fn known(all: &[&Runnable]) -> KnownRunnables {
    let of = |it: &&Runnable| {
        let key = SourceKey::runnable("shop", &it.name_any());
        (key, Arc::new(Seen::from_runnable(it)))
    };
    all.iter().map(of).collect()
}

fn standing(of: &Runnable, others: &[&Runnable]) -> SourcesState {
    standing_beside(of, others, &[])
}

/// Returns the same, if its other sources have these revisions.
fn standing_beside(of: &Runnable, others: &[&Runnable], now: &[(&str, &str)]) -> SourcesState {
    let now = now.iter();
    let now = now.map(|(key, revision)| ((*key).to_owned(), (*revision).to_owned()));
    SourcesState::seen(
        of,
        Arc::new(Seen::from_runnable(of)),
        known(others),
        now.collect(),
    )
}

#[test]
fn who_is_waited_for_is_told_with_whom_that_one_waits_for_in_turn() {
    let root = runnable(
        "root",
        &[],
        &json!({ "observedGeneration": 1, "currentRun": run(1, &Value::Null, &Value::Null) }),
    );
    let middle = runnable("middle", &["root"], &waiting("DependencyNotReady"));
    let app = runnable("app", &["middle"], &waiting("DependencyNotReady"));
    let why: Vec<String> = standing(&app, &[&root, &middle])
        .waits_for
        .into_iter()
        .map(|it| it.why)
        .collect();
    assert_eq!(
        why,
        [
            "the next run of Runnable shop/middle waits (DependencyNotReady)",
            "a run of Runnable shop/root has not ended",
        ]
    );
    // A Runnable that waits for a person waits for no other Runnable.
    let asked = runnable("middle", &["root"], &waiting("ApprovalRequired"));
    assert_eq!(standing(&app, &[&root, &asked]).waits_for.len(), 1);
    // Without a pending run there is nothing to wait for.
    let idle = runnable("app", &["middle"], &json!({ "observedGeneration": 1 }));
    assert_eq!(standing(&idle, &[&root, &middle]), SourcesState::default());
}

#[test]
fn a_circle_of_those_who_wait_has_an_end() {
    let one = runnable("one", &["other"], &waiting("DependencyNotReady"));
    let other = runnable("other", &["one"], &waiting("DependencyNotReady"));
    assert!(standing(&one, &[&other]).waits_for.len() <= 2);
}

#[test]
fn what_a_source_gives_by_now_is_told_beside_what_was_taken() {
    let gives = |value: &str| json!({ "observedGeneration": 1, "outputs": { "out": value } });
    let base = runnable("base", &[], &gives("new"));
    let before = Seen::from_runnable(&runnable("base", &[], &gives("old")));
    let (before, now) = (
        before.revision.unwrap(),
        Seen::from_runnable(&base).revision.unwrap(),
    );
    let app = |revision: &str| {
        let sources = json!({ "Runnable/shop/base": revision, "Runnable/shop/root": "0" });
        let current = run(1, &json!("Succeeded"), &sources);
        let status = json!({ "observedGeneration": 1, "currentRun": current });
        runnable("app", &["base"], &status)
    };
    let changed = standing(&app(before.as_str()), &[&base]).changed_since;
    assert_eq!(
        changed[0].describe(),
        format!("Runnable shop/base, which gives the input from-base: {before} became {now}")
    );
    assert!(
        standing(&app(now.as_str()), &[&base])
            .changed_since
            .is_empty()
    );
}

#[test]
fn between_two_runs_their_objects_say_what_has_changed_and_the_status_where_they_do_not() {
    let status = json!({
        "currentRun": run(2, &Value::Null, &json!({ "Runnable/shop/base": "c" })),
        "unfinishedRuns": [run(1, &Value::Null, &json!({ "Runnable/shop/base": "a" }))],
    });
    let app = runnable("app", &["base"], &status);
    let runs = crate::live::runs::runs(&app);
    let told = |earlier: Option<&Value>, current: Option<&Value>| {
        let changes = between(&app, (&runs[1], earlier), (&runs[0], current));
        changes
            .iter()
            .map(SourceChange::describe)
            .collect::<Vec<_>>()
    };
    let base = "Runnable shop/base, which gives the input from-base";
    assert_eq!(told(None, None), [format!("{base}: a became c")]);
    let object =
        |sources: &str| json!({ "metadata": { "annotations": { SOURCES_ANNOTATION: sources } } });
    let current = object(r#"{"Runnable/shop/base":"b"}"#);
    assert_eq!(told(None, Some(&current)), [format!("{base}: a became b")]);
    // An ancestor is named if no direct source has changed.
    let earlier = object(r#"{"Runnable/shop/base":"b","ConfigMap/shop/m/k":"1"}"#);
    let now = object(r#"{"Runnable/shop/base":"b","ConfigMap/shop/m/k":"2"}"#);
    assert_eq!(
        told(Some(&earlier), Some(&now)),
        ["ConfigMap shop/m, key k: 1 became 2"]
    );
    // An annotation that someone else has replaced is no failure.
    for odd in ["", "[]", r#"{"a":1}"#, "null"] {
        assert_eq!(
            told(None, Some(&object(odd))),
            [format!("{base}: a became c")]
        );
    }
}

#[test]
fn an_object_of_any_kind_is_known_by_the_path_of_its_revision() {
    let key = "GitRepository.source.toolkit.fluxcd.io/shop/app/{.status.artifact.revision}";
    let status = json!({
        "currentRun": run(2, &Value::Null, &json!({ key: "main@2" })),
        "unfinishedRuns": [run(1, &Value::Null, &json!({ key: "main@1" }))],
    });
    let mut app = serde_json::to_value(runnable("app", &[], &status)).unwrap();
    app["spec"]["inputsFrom"] = json!([{ "name": "digest", "objectRef": {
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "name": "app",
        "path": ".status.artifact.digest", "revisionPath": ".status.artifact.revision",
    } }]);
    let app: Runnable = serde_json::from_value(app).unwrap();
    let runs = crate::live::runs::runs(&app);
    let changes = between(&app, (&runs[1], None), (&runs[0], None));
    assert_eq!(changes[0].inputs, ["digest"]);
    assert_eq!(
        cartouche_authoring::graph::edges(&app)[0].used.as_deref(),
        Some("main@2")
    );
}

/// Returns a Runnable with one input from a key of a `ConfigMap`, and one from an object found by labels.
fn of_objects(before: &Value, after: &Value) -> Runnable {
    let status = json!({
        "currentRun": run(2, &Value::Null, after),
        "unfinishedRuns": [run(1, &Value::Null, before)],
    });
    let mut app = serde_json::to_value(runnable("app", &[], &status)).unwrap();
    app["spec"]["inputsFrom"] = json!([
        { "name": "size", "configMapKeyRef": { "name": "sizes", "key": "small" } },
        { "name": "release", "objectRef": {
            "apiVersion": "example.com/v1", "kind": "Release", "matchingLabels": { "app": "shop" },
            "path": ".spec.image", "revisionPath": ".spec.version",
        } },
    ]);
    serde_json::from_value(app).unwrap()
}

#[test]
fn an_object_that_labels_found_is_told_with_its_input_beside_others_that_have_changed() {
    let sources = |size: &str, release: &str| json!({ "ConfigMap/shop/sizes/small": size, format!("Release.example.com/shop/{release}/{{.spec.version}}"): "v" });
    let app = of_objects(&sources("a", "one"), &sources("b", "two"));
    let runs = crate::live::runs::runs(&app);
    let changes = between(&app, (&runs[1], None), (&runs[0], None));
    let told: Vec<String> = changes.iter().map(SourceChange::describe).collect();
    assert_eq!(
        told,
        [
            "ConfigMap shop/sizes, key small, which gives the input size: a became b",
            "Release.example.com shop/one, by .spec.version, which gives the input release: it was v, and no longer exists",
            "Release.example.com shop/two, by .spec.version, which gives the input release: it is new: v",
        ]
    );
    // It is unknown which of the two: one may be an ancestor of a source.
    let mut two = sources("a", "one");
    two["Release.example.com/shop/other/{.spec.version}"] = json!("v");
    let app = of_objects(&sources("a", "one"), &two);
    let runs = crate::live::runs::runs(&app);
    let changes = between(&app, (&runs[1], None), (&runs[0], None));
    assert_eq!(changes[0].inputs, [""; 0]);
}

#[test]
fn what_an_object_gives_by_now_is_told_beside_what_was_taken() {
    let (size, release) = (
        "ConfigMap/shop/sizes/small",
        "Release.example.com//one/{.spec.version}",
    );
    let app = of_objects(
        &json!({}),
        &json!({ size: "a", release: "1", "Runnable/shop/root": "0" }),
    );
    let told = |now: &[(&str, &str)]| {
        let changed = standing_beside(&app, &[], now).changed_since;
        changed
            .iter()
            .map(SourceChange::describe)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        told(&[(size, "b"), (release, "2")]),
        [
            "ConfigMap shop/sizes, key small, which gives the input size: a became b",
            "Release.example.com one, by .spec.version, which gives the input release: 1 became 2",
        ]
    );
    assert!(told(&[(size, "a"), (release, "1")]).is_empty());
    assert!(
        told(&[]).is_empty(),
        "no change is shown to a user who may not read it"
    );
}

#[test]
fn where_inputs_need_not_be_coherent_what_a_run_has_no_entry_of_is_not_told_as_new() {
    let (size, password) = ("ConfigMap/shop/sizes/small", "Secret/shop/db/password");
    let app = |coherence: &str, before: &Value| {
        let mut app = serde_json::to_value(of_objects(before, before)).unwrap();
        app["spec"]["coherence"] = coherence.into();
        let inputs = app["spec"]["inputsFrom"].as_array_mut().unwrap();
        inputs.push(
            json!({ "name": "password", "secretKeyRef": { "name": "db", "key": "password" } }),
        );
        app["status"]["currentRun"] = run(2, &Value::Null, before);
        serde_json::from_value::<Runnable>(app).unwrap()
    };
    let now = [(size, "b"), (password, "2")];
    let told = |app: &Runnable| {
        let changed = standing_beside(app, &[], &now).changed_since;
        let secrets = changed_secrets(app, &now.map(|(key, it)| (key.into(), it.into())).into());
        (changed.len(), secrets.len())
    };
    let traced = json!({ size: "a", password: "1" });
    assert_eq!(told(&app("Ignored", &json!({}))), (0, 0));
    assert_eq!(told(&app("Ignored", &traced)), (2, 1));
    assert_eq!(told(&app("Required", &json!({}))), (2, 1));
}
