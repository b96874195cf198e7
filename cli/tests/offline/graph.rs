//! `cartouche graph` of files, and of a server that plays an API server.

use std::fs;

use crate::support::{self, cartouche_in, played::Played};
use serde_json::{Value, json};

/// A Runnable that takes inputs from these.
fn runnable(name: &str, namespace: &str, references: &[&str]) -> String {
    let from = if references.is_empty() {
        String::new()
    } else {
        format!("  inputsFrom:\n  - {}\n", references.join("\n  - "))
    };
    let namespace = if namespace.is_empty() {
        String::new()
    } else {
        format!(", namespace: {namespace}")
    };
    format!(
        "---\napiVersion: carto.run/v1alpha1\nkind: Runnable\nmetadata: {{name: {name}{namespace}}}\nspec:\n  runTemplateRef: {{name: t}}\n{from}"
    )
}

/// `base` gives to `build` and `scan`, and both to `release`.
fn diamond() -> String {
    [
        runnable(
            "release",
            "",
            &[
                "{name: image, runnableRef: {name: build, output: digest}}",
                "{name: report, runnableRef: {name: scan, output: report, waitFor: Succeeded}}",
            ],
        ),
        runnable(
            "build",
            "",
            &["{name: base, runnableRef: {name: base, output: digest}}"],
        ),
        runnable(
            "scan",
            "",
            &[
                "{name: base, runnableRef: {name: base, output: digest}}",
                "{name: rules, optional: true, configMapKeyRef: {name: rules, key: strict}}",
                "{name: token, secretKeyRef: {name: scanner, key: token}}",
            ],
        ),
        runnable("base", "", &[]),
        runnable("other", "", &[]),
    ]
    .concat()
}

fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("all.yaml"), text).unwrap();
    folder
}

fn graph(text: &str, arguments: &[&str]) -> support::Output {
    let folder = folder(text);
    cartouche_in(folder.path(), &[&["graph", "-f", "."], arguments].concat())
}

#[test]
fn sources_stand_before_those_who_read_them_and_every_runnable_once() {
    let shown = graph(&diamond(), &["-n", "shop"]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    insta::assert_snapshot!("graph-text", shown.out);
}

#[test]
fn whose_outputs_are_in_what_is_read_is_shown_and_makes_a_cycle() {
    let first = runnable("first", "", &[]);
    let first = format!(
        "{first}  writeOutputsTo: [{{kind: ConfigMap, name: sizes}}, {{kind: Secret, name: unread}}]\n"
    );
    let second = runnable(
        "second",
        "",
        &["{name: size, configMapKeyRef: {name: sizes, key: small}}"],
    );
    let all = [first.as_str(), &second].concat();
    let shown = graph(&all, &["-n", "shop"]);
    assert_eq!(shown.code, 0);
    assert!(
        shown.out.contains(
            "size: key small of ConfigMap shop/sizes (has outputs of Runnable shop/first)"
        ),
        "{}",
        shown.out
    );
    assert!(shown.out.find("Runnable shop/first") < shown.out.find("Runnable shop/second"));
    assert!(!shown.out.contains("unread"), "{}", shown.out);
    let written: Value =
        serde_json::from_str(&graph(&all, &["-n", "shop", "-o", "json"]).out).unwrap();
    let outputs = json!([{ "from": "Runnable/shop/first", "to": "ConfigMap/shop/sizes" }]);
    assert_eq!(written["outputsTo"], outputs);
    let dot = graph(&all, &["-n", "shop", "-o", "dot"]).out;
    assert!(
        dot.contains("\"Runnable/shop/first\" -> \"ConfigMap/shop/sizes\" [label=\"outputs\"]"),
        "{dot}"
    );
    let mermaid = graph(&all, &["-n", "shop", "-o", "mermaid"]).out;
    assert!(mermaid.contains("-->|\"outputs\"|"), "{mermaid}");
    let round = "{name: x, runnableRef: {name: second, output: a}}";
    let cycle = all.replace(
        "kind: Runnable\nmetadata: {name: first}\nspec:\n",
        &format!("kind: Runnable\nmetadata: {{name: first}}\nspec:\n  inputsFrom: [{round}]\n"),
    );
    let shown = graph(&cycle, &["-n", "shop", "first"]);
    assert_eq!(shown.code, 1, "{}", shown.out);
    assert!(
        shown.out.contains("Runnable shop/first, which reads Runnable shop/second, which reads ConfigMap shop/sizes, which has outputs of Runnable shop/first"),
        "{}",
        shown.out
    );
}

#[test]
fn a_graph_is_drawn_by_other_programs() {
    insta::assert_snapshot!("graph-dot", graph(&diamond(), &["-o", "dot"]).out);
    insta::assert_snapshot!("graph-mermaid", graph(&diamond(), &["-o", "mermaid"]).out);
}

#[test]
fn a_graph_for_programs_has_nodes_edges_and_cycles() {
    let shown = graph(&diamond(), &["-o", "json"]);
    let all: Value = serde_json::from_str(&shown.out).unwrap();
    let ids: Vec<_> = all["nodes"].as_array().unwrap().iter().collect();
    let ids: Vec<_> = ids.iter().map(|it| it["id"].as_str().unwrap()).collect();
    let expected = [
        "Runnable/default/base",
        "Runnable/default/build",
        "ConfigMap/default/rules",
        "Secret/default/scanner",
        "Runnable/default/scan",
        "Runnable/default/release",
    ];
    assert_eq!(ids, expected);
    let of_scan = all["edges"].as_array().unwrap();
    let of_scan = of_scan.iter().find(|it| it["input"] == "report").unwrap();
    assert_eq!(
        *of_scan,
        json!({
            "from": "Runnable/default/scan", "to": "Runnable/default/release", "input": "report",
            "output": "report", "waitFor": "Succeeded", "optional": false,
        })
    );
    assert_eq!(all["cycles"], json!([]));
}

#[test]
fn the_order_of_files_changes_nothing() {
    let documents = diamond();
    let mut reversed: Vec<&str> = documents.split("---\n").collect();
    reversed.reverse();
    let reversed = reversed.join("---\n");
    for format in ["text", "dot", "mermaid"] {
        let (one, other) = (
            graph(&documents, &["-o", format]).out,
            graph(&reversed, &["-o", format]).out,
        );
        assert_eq!(one, other, "{format}");
    }
}

#[test]
fn of_one_runnable_its_ancestors_and_descendants_are_shown() {
    let of = |name: &str| {
        let shown = graph(&diamond(), &[name]);
        let lines = shown.out.lines().filter(|it| it.starts_with("Runnable "));
        let names = lines.map(|it| it.split(['/', ' ']).nth(2).unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(of("build"), ["base", "build", "release"]);
    assert_eq!(of("release"), ["base", "build", "scan", "release"]);
    assert_eq!(of("runnable/base"), ["base", "build", "scan", "release"]);
    let alone = graph(&diamond(), &["other"]);
    assert_eq!((alone.code, alone.out.as_str()), (0, ""));
    assert!(alone.err.contains("reads no other object"), "{}", alone.err);
    let unknown = graph(&diamond(), &["biuld"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.err.contains("did you mean 'build'"),
        "{}",
        unknown.err
    );
}

#[test]
fn a_circle_is_told_and_found_wrong() {
    let circle = [
        runnable(
            "a",
            "shop",
            &["{name: i, runnableRef: {name: b, namespace: other, output: o}}"],
        ),
        runnable(
            "b",
            "other",
            &["{name: i, runnableRef: {name: a, namespace: shop, output: o}}"],
        ),
        runnable(
            "c",
            "shop",
            &["{name: i, runnableRef: {name: a, output: o}}"],
        ),
        runnable(
            "itself",
            "shop",
            &["{name: i, runnableRef: {name: itself, output: o}}"],
        ),
    ]
    .concat();
    let shown = graph(&circle, &[]);
    assert_eq!(shown.code, 1, "{}", shown.err);
    let cycles: Vec<&str> = shown
        .out
        .lines()
        .filter(|it| it.starts_with("cycle: "))
        .collect();
    assert_eq!(cycles.len(), 2, "{}", shown.out);
    assert!(
        cycles[0].ends_with(
            "Runnable other/b, which reads Runnable shop/a, which reads Runnable other/b"
        ),
        "{}",
        cycles[0]
    );
    for format in ["dot", "mermaid", "json"] {
        assert_eq!(graph(&circle, &["-o", format]).code, 1);
    }
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let broken = runnable("a", "", &[]).replace("runTemplateRef", "runTemplate");
    let shown = graph(&broken, &[]);
    assert_eq!((shown.code, shown.out.as_str()), (2, ""));
    assert!(
        shown
            .err
            .contains("the Runnable a in all.yaml cannot be read"),
        "{}",
        shown.err
    );
    let nothing = graph(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        &[],
    );
    assert_eq!((nothing.code, nothing.out.as_str()), (0, ""));
    assert_eq!(nothing.err, "there is no Runnable\n");
    let both = graph(&diamond(), &["-A"]);
    assert_eq!(both.code, 2, "{}", both.err);
}

#[test]
fn names_that_a_file_makes_up_are_nothing_but_names() {
    let odd = runnable(
        "'a\"]; x [label=\"\\u001b[31m|`'",
        "",
        &["{name: 'i\"|--> n0', configMapKeyRef: {name: m, key: k}}"],
    );
    let dot = graph(&odd, &["-o", "dot"]);
    assert_eq!(dot.code, 0, "{}", dot.err);
    assert!(dot.out.contains("\\\"]; x [label=\\\""), "{}", dot.out);
    let mermaid = graph(&odd, &["-o", "mermaid"]).out;
    assert!(mermaid.contains("|\"i#34;#124;--#62; n0\"|"), "{mermaid}");
}

/// A live Runnable with this status.
fn live(name: &str, namespace: &str, references: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": name, "namespace": namespace, "generation": 1 },
        "spec": { "runTemplateRef": { "name": "t" }, "inputsFrom": references },
        "status": status,
    })
}

/// `app` of the namespace demo reads three of other namespaces, of which one may be read.
fn server() -> Played {
    let refers = |name: &str, namespace: &str| {
        let reference = json!({ "name": name, "namespace": namespace, "output": "digest" });
        json!({ "name": name, "runnableRef": reference })
    };
    Played::serve(move |request| {
        let references = json!([
            refers("base", "ci"),
            refers("hidden", "audit"),
            refers("gone", "ci")
        ]);
        let ready = |status: &str, reason: &str| {
            json!([{
                "type": "Ready", "status": status, "reason": reason, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }, {
                "type": "RunTemplateReady", "status": status, "reason": reason,
                "message": "the next run waits: a run of Runnable ci/base has not ended; to do: nothing",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }])
        };
        let app = live(
            "app",
            "demo",
            &references,
            &json!({
                "observedGeneration": 1, "conditions": ready("Unknown", "DependencyNotReady"),
                "pending": { "sequence": 2, "inputHash": "v1:b", "reason": "DependencyNotReady", "since": "2026-01-01T00:00:00Z" },
                "currentRun": {
                    "sequence": 1, "inputHash": "v1:a", "phase": "Created", "apiVersion": "v1", "kind": "ConfigMap",
                    "name": "app-1", "sources": { "Runnable/ci/base": "0000000000000000" },
                },
            }),
        );
        let path = request.path.split('?').next().unwrap_or_default();
        match path.strip_prefix("/apis/carto.run/v1alpha1/namespaces/") {
            Some("demo/runnables") => Some(json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "RunnableList", "metadata": {}, "items": [app],
            })),
            Some("ci/runnables/base") => Some(live(
                "base",
                "ci",
                &json!([refers("root", "ci")]),
                &json!({
                    "observedGeneration": 1, "conditions": ready("True", "Ready"),
                    "outputs": { "digest": "top-secret-value" },
                }),
            )),
            Some("audit/runnables/hidden") => Some(json!({
                "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden",
                "message": "no",
            })),
            _ => None,
        }
    })
}

#[test]
fn what_is_in_other_namespaces_is_looked_up_and_what_may_not_be_read_is_not_visible() {
    let played = server();
    let shown = played.cartouche(&["graph", "-n", "demo"]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""), "{}", shown.out);
    insta::assert_snapshot!("graph-live", shown.out);
    for format in ["text", "dot", "mermaid", "json"] {
        let shown = played.cartouche(&["graph", "-n", "demo", "-o", format]);
        assert!(!shown.out.contains("top-secret-value"), "{}", shown.out);
    }
}
