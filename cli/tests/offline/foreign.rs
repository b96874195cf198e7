//! Texts of others, as the commands for people show them, against a server that plays an API server.

use crate::support::played::Played;
use serde_json::{Value, json};

/// Clears the screen, and makes a line of its own.
const COMMAND: &str = "all\u{1b}[2J\nis well\u{9b}2J\u{202e}";

fn condition(name: &str, status: &str, reason: &str) -> Value {
    json!({
        "type": name, "status": status, "reason": reason, "message": COMMAND,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

/// A Runnable whose template is warned of, and reads an input that is not given.
fn played() -> Played {
    let runnable = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": "hello", "namespace": "demo", "uid": "u" },
        "spec": { "runTemplateRef": { "name": "greet" } },
        "status": {
            "conditions": [condition("StampedObjectCondition", "False", "R"), condition("Ready", "False", "R")],
            "outputs": { "said": COMMAND },
        },
    });
    let template = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
        "metadata": { "name": "greet" },
        "spec": { "template": {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "a-" },
            "data": { "a": "$(runnable.spec.inputs.missing)$" },
        } },
        "status": { "conditions": [condition("Accepted", "True", "AcceptedWithWarnings")] },
    });
    Played::serve(move |request| {
        let path = request.path.split('?').next().unwrap_or_default();
        match path.rsplit('/').next().unwrap_or_default() {
            "hello" => Some(runnable.clone()),
            "greet" => Some(template.clone()),
            _ => None,
        }
    })
}

#[test]
fn nothing_of_it_is_a_command_to_the_terminal_or_a_line_of_its_own() {
    let played = played();
    for command in ["get", "why", "tree"] {
        let shown = played.cartouche(&["--color", "always", command, "hello"]);
        assert_eq!(shown.code, 0, "{}", shown.err);
        assert!(shown.out.contains("all"), "{command}: {}", shown.out);
        assert!(
            !shown.out.contains("\u{1b}[2J"),
            "{command}: {:?}",
            shown.out
        );
        assert!(
            !shown.out.contains(['\u{9b}', '\u{202e}']),
            "{command}: {:?}",
            shown.out
        );
        let own_line = shown
            .out
            .lines()
            .any(|line| line.trim().starts_with("is well"));
        assert!(!own_line, "{command}: {}", shown.out);
    }
    // A script gets what there is.
    let output = played.cartouche(&["--color", "always", "outputs", "hello", "said"]);
    assert_eq!(output.out, format!("{COMMAND}\n"));
}

#[test]
fn a_template_that_does_not_render_is_warned_of_all_the_same() {
    let why = played().cartouche(&["why", "hello", "-o", "json"]);
    let why: Value = serde_json::from_str(&why.out).unwrap();
    assert_eq!(why["next"]["due"], "Unknown", "{why}");
    assert_eq!(why["warnings"], COMMAND, "{why}");
}

#[test]
fn what_cannot_be_rendered_is_told_in_the_words_of_conditions() {
    let played = played();
    let wrong = "ClusterRunTemplate \"greet\" cannot be rendered for this Runnable: \
        data.a: the tag $(runnable.spec.inputs.missing)$ leads to no value";
    let diff = played.cartouche(&["diff", "hello"]);
    let cure = "look for a misspelt name in the path, or give it a value";
    let told = format!("error: {wrong}\nhint: {cure}\n");
    assert_eq!((diff.code, diff.err), (2, told));
    let why = played.cartouche(&["why", "hello"]).out;
    let told = format!("the next run is unknown: {wrong}\n");
    assert!(why.ends_with(&told), "{why}");
}

#[test]
fn a_file_that_holds_several_is_told_what_it_is_to_hold() {
    let several = ["diff", "hello", "-t", "examples/two-steps"];
    let diff = played().cartouche(&several);
    let told = "error: examples/two-steps must have exactly one ClusterRunTemplate, but has 2\n";
    assert!(diff.err.starts_with(told), "{}", diff.err);
}
