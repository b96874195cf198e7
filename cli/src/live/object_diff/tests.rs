//! Tests of differences and their text.

use serde_json::json;

use super::*;

#[test]
fn every_field_that_differs_is_named_by_its_path() {
    let old = json!({ "spec": { "a": 1, "list": ["x", "y"], "gone": true } });
    let new = json!({ "spec": { "a": 2, "list": ["x", "z", "w"], "labels": { "a.b/c": "d" } } });
    let shown = anstream::adapter::strip_str(&format_changes(&changes(&old, &new))).to_string();
    assert_eq!(
        shown,
        "- spec.a: 1\n+ spec.a: 2\n- spec.gone: true\n+ spec.labels: {\"a.b/c\":\"d\"}\n\
         - spec.list[1]: \"y\"\n+ spec.list[1]: \"z\"\n+ spec.list[2]: \"w\"\n"
    );
}

#[test]
fn where_a_value_comes_from_is_said_of_now() {
    let mut changes = changes(&json!({ "a": "1" }), &json!({ "a": "2\u{9b}" }));
    changes[0].from = Some("ConfigMap rel .data.version".to_owned());
    let shown = format_changes(&changes);
    let from = "+ a: \"2\\u009b\"\u{1b}[0m  (now from ConfigMap rel .data.version)\n";
    assert!(shown.ends_with(from), "{shown:?}");
}

#[test]
fn what_the_api_server_drops_is_no_difference() {
    assert_eq!(
        changes(
            &json!({ "a": {}, "b": null, "c": [], "d": { "e": null } }),
            &json!({})
        ),
        []
    );
}

#[test]
fn a_run_that_was_asked_for_differs_in_nothing_that_its_template_renders() {
    let run = |annotations: Value| json!({ "metadata": { "annotations": annotations } });
    let asked = run(json!({
        "carto.run/input-hash": "v1:1",
        "carto.run/rerun-token": "2",
        "carto.run/rerun-request": r#"{"by":"ada","reason":"flaky"}"#,
    }));
    let first = run(json!({ "carto.run/input-hash": "v1:1" }));
    assert_eq!(changes(&comparable(&first), &comparable(&asked)), []);
}

#[test]
fn the_marks_of_a_run_are_not_compared() {
    let run = |name: &str, sequence: &str| {
        json!({
            "metadata": {
                "name": name,
                "uid": name,
                "labels": { "carto.run/run-sequence": sequence, "app": "x" },
            },
            "spec": {},
            "status": { "sequence": sequence },
        })
    };
    assert_eq!(
        changes(&comparable(&run("a", "1")), &comparable(&run("b", "2"))),
        []
    );
}

/// Returns a run whose container finds these two files.
pub(in crate::live) fn with_files(args: &str, text: &str) -> Value {
    let item = |name: &str, annotation: &str| {
        let field = format!("metadata.annotations['{annotation}']");
        json!({ "path": name, "fieldRef": { "fieldPath": field } })
    };
    let mount = |name: &str, path: &str| json!({ "name": "cartouche-runner", "subPath": name, "mountPath": path });
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {},
        "spec": { "template": {
            "metadata": { "annotations": { "carto.run/runner-args": args, "carto.run/runner-file-0": text } },
            "spec": {
                "containers": [{ "name": "a", "volumeMounts": [
                    mount("args", "/runner/args.yaml"), mount("file-0", "/cfg/main.tf"),
                ] }],
                "volumes": [{ "name": "cartouche-runner", "downwardAPI": { "items": [
                    item("args", "carto.run/runner-args"), item("file-0", "carto.run/runner-file-0"),
                ] } }],
            },
        } },
    })
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn files_of_containers_differ_by_members_and_by_lines() {
    let old = with_files(r#"{"a":{"b":1},"c":[]}"#, "one\ntwo\nthree\n");
    let new = with_files(
        r#"{"a":{"b":2},"d":null}"#,
        "one\n2\u{1b}[2J\nthree\nfour\n",
    );
    let found = changes(&old, &new);
    assert_eq!(
        plain(&format_changes(&found)),
        "- /runner/args.yaml: a.b: 1\n+ /runner/args.yaml: a.b: 2\n\
         - /runner/args.yaml: c: []\n+ /runner/args.yaml: d: null\n\
         - /cfg/main.tf:2: two\n+ /cfg/main.tf:2: 2\\u001b[2J\n+ /cfg/main.tf:4: four\n"
    );
    assert_eq!(
        json!(found[0]),
        json!({ "file": "/runner/args.yaml", "path": "a.b", "old": 1, "new": 2 })
    );
    assert_eq!(
        json!(found[3]),
        json!({ "file": "/cfg/main.tf", "path": "", "line": 2, "old": "two" })
    );
}

#[test]
fn a_text_that_differs_in_nothing_but_its_form_is_told_by_lines() {
    let [old, new] = ["{\"a\":1}", "{\n\"a\":1}"].map(|text| with_files("{}", text));
    assert_eq!(
        plain(&format_changes(&changes(&old, &new))),
        "- /cfg/main.tf:1: {\"a\":1}\n+ /cfg/main.tf:1: {\n+ /cfg/main.tf:2: \"a\":1}\n"
    );
}

#[test]
fn a_new_run_is_shown_with_its_files_behind_it() {
    let shown = plain(&shown_new(&with_files(r#"{"a":{"b":1}}"#, "one\n\ttwo\n")));
    let files = "\n+ file /runner/args.yaml:\n+   a:\n+     b: 1\n+ file /cfg/main.tf:\n+   one\n+   \ttwo\n";
    assert!(shown.ends_with(files), "{shown}");
    assert!(!shown.contains("runner-args:"), "{shown}");
}

#[test]
fn elements_with_names_are_compared_by_them() {
    let env = |names: &[(&str, &str)]| {
        let one = |(name, value): &(&str, &str)| json!({ "name": name, "value": value });
        json!({ "env": names.iter().map(one).collect::<Value>() })
    };
    let old = env(&[("A", "1"), ("B", "2"), ("C", "3")]);
    let told = |new: &Value| plain(&format_changes(&changes(&old, new)));
    assert_eq!(
        told(&env(&[("X", "0"), ("A", "1"), ("C", "4")])),
        "- env[1]: {\"name\":\"B\",\"value\":\"2\"}\n+ env[0]: {\"name\":\"X\",\"value\":\"0\"}\n\
         - env[2].value: \"3\"\n+ env[2].value: \"4\"\n"
    );
    // In another order, variables have another meaning.
    let swapped = told(&env(&[("B", "2"), ("A", "1"), ("C", "3")]));
    assert!(
        swapped.contains("- env[0].name: \"A\"\n+ env[0].name: \"B\"\n"),
        "{swapped}"
    );
}

#[test]
fn elements_with_another_merge_key_are_compared_by_it() {
    for (key, first, second, third) in [
        ("containerPort", json!(80), json!(81), json!(82)),
        (
            "ip",
            json!("10.0.0.1"),
            json!("10.0.0.2"),
            json!("10.0.0.3"),
        ),
        ("topologyKey", json!("zone"), json!("host"), json!("rack")),
        (
            "devicePath",
            json!("/dev/a"),
            json!("/dev/b"),
            json!("/dev/c"),
        ),
    ] {
        let one = |of: &Value, what: &str| json!({ key: of, "what": what });
        let old = json!({ "list": [one(&first, "a"), one(&second, "b")] });
        let new = json!({ "list": [one(&third, "n"), one(&second, "c")] });
        let found = changes(&old, &new);
        let paths: Vec<(&str, bool, bool)> = found
            .iter()
            .map(|it| (&*it.path, it.old.is_some(), it.new.is_some()))
            .collect();
        let wanted = [
            ("list[0]", true, false),
            ("list[0]", false, true),
            ("list[1].what", true, true),
        ];
        assert_eq!(paths, wanted, "{key}");
    }
    // Two ports of one number differ by their names.
    let ports = |names: [&str; 2]| {
        let one = |name: &str| json!({ "name": name, "containerPort": 53 });
        json!({ "ports": names.map(one) })
    };
    let found = changes(&ports(["tcp", "udp"]), &ports(["udp", "x"]));
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn of_long_texts_all_lines_between_those_that_are_the_same_are_told() {
    let text = |first: usize| {
        let lines = (first..first + 1500).map(|line| format!("{line}\n"));
        lines.collect::<String>()
    };
    let [old, new] = [text(0), text(1)].map(|text| with_files("{}", &text));
    let found = changes(&old, &new);
    assert_eq!(found.len(), 3000);
}
