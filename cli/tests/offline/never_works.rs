//! Findings of `cartouche validate` about files that kubectl takes, and that never work as they are written.

use crate::support::{cartouche_in, copy_of, edit};

/// Returns the findings about an example with a change in one of its files.
fn said(example: &str, file: &str, from: &str, to: &str) -> String {
    let folder = copy_of(example);
    edit(&folder, file, from, to);
    let output = cartouche_in(folder.path(), &["validate", "."]);
    assert_eq!(output.code, 1, "{to}: {}", output.out);
    output.out
}

fn is_said(text: &str, sentences: &[&str]) {
    for sentence in sentences {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
}

#[test]
fn a_key_that_kubectl_takes_for_something_else_is_told_with_its_place() {
    let inputs = "name: world\n    y: a\n    \"n\": b\n    'on': c\n    1.10: d\n    x: e";
    let text = said("job", "runnable.yaml", "name: world", inputs);
    is_said(
        &text,
        &[
            "runnable.yaml:12:5",
            "kubectl reads the key y as \"true\"",
            "put it in quotes: \"y\"",
            "kubectl reads the key 1.10 as \"1.1\"",
            "put it in quotes: \"1.10\"",
        ],
    );
    assert_eq!(text.matches("error[yaml]").count(), 2, "{text}");
}

#[test]
fn values_that_are_taken_for_something_else_are_told_with_their_place() {
    let folder = copy_of("job");
    let inputs = "name: world\n    version: 1.10\n    mode: 0755\n    date: 2024.10\n    commit: 3185e12\n    revision: 1234e56\n    address: 0x1F\n    build: 2024_10\n    most: 1_000_000\n    long: 00012345\n    snake: a_1\n    debug: no\n    plain: 10\n    pi: 3.14159265358979\n    big: 18446744073709551615\n    sha: 83e2010\n    zero: 0_820\n    exp: 1e6\n    typed: !!str 1.10\n    block: |\n      1.10\n    folded: >-\n      no\n    text: \"1.10\"\n    tag: a $(runnable.metadata.name)$";
    edit(&folder, "runnable.yaml", "name: world", inputs);
    let annotated = "metadata:\n  annotations: { carto.run/rerun_token: a, example.com/other: b }";
    edit(&folder, "runnable.yaml", "metadata:", annotated);
    let output = cartouche_in(folder.path(), &["validate", "."]);
    assert_eq!(output.code, 0, "{}", output.out);
    is_said(
        &output.out,
        &[
            "kubectl reads 1.10 as 1.1",
            "put it in quotes: \"1.10\"",
            "kubectl reads 0755 as 493",
            "kubectl reads 2024.10 as 2024.1",
            "kubectl reads 3185e12 as 3185000000000000",
            "kubectl reads 1234e56 as 1.234e+59",
            "kubectl reads 0x1F as 31",
            "kubectl reads 2024_10 as 202410",
            "kubectl reads 00012345 as 5349",
            "kubectl reads no as false",
            "the API server keeps 18446744073709551615 as 18446744073709552000",
            "put it in quotes: \"18446744073709551615\"",
            "83e2010 looks like a number",
            "kubectl reads 0_820 as 820",
            "tags in inputs are not read",
            "Cartouche reads no annotation carto.run/rerun_token of a Runnable",
            "did you mean 'carto.run/rerun-token'?",
        ],
    );
    assert_eq!(
        output.out.matches("warning[surprise]").count(),
        14,
        "{}",
        output.out
    );
}

#[test]
fn an_integer_of_a_template_that_loses_digits_is_warned_of() {
    let folder = copy_of("job");
    let text = "name: greet\n  annotations: {example.com/large: 18446744073709551615}\nspec:";
    edit(&folder, "template.yaml", "name: greet\nspec:", text);
    let output = cartouche_in(folder.path(), &["validate", "."]);
    let said = "the API server keeps 18446744073709551615 as 18446744073709552000";
    is_said(&output.out, &[said, "put it in quotes"]);
}

#[test]
fn a_status_that_no_condition_has_is_told() {
    let folder = copy_of("job");
    let rule = "name: greet\nspec:\n  healthRule: {multiMatch: {healthy: {matchConditions: [{type: Complete, status: \"true\"}]}, unhealthy: {matchConditions: [{type: Failed, status: \"True\"}]}}}";
    edit(&folder, "template.yaml", "name: greet\nspec:", rule);
    let output = cartouche_in(folder.path(), &["validate", "."]);
    let said = "a condition has the status True, False or Unknown, never \"true\"";
    is_said(&output.out, &[said, "did you mean 'True'?"]);
    assert_eq!(
        output.out.matches("never matches").count(),
        1,
        "{}",
        output.out
    );
}

#[test]
fn what_is_rendered_has_the_keys_that_kubectl_makes_and_warns_of_them() {
    let folder = copy_of("job");
    edit(
        &folder,
        "runnable.yaml",
        "name: world",
        "name: world\n    yes: a\n    \"off\": b",
    );
    let command = "$(runnable.spec.inputs.name)$";
    let read = "$(runnable.spec.inputs.true)$ $(runnable.spec.inputs.off)$";
    edit(&folder, "template.yaml", command, read);
    let output = cartouche_in(folder.path(), &["render", "."]);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.contains("Hello, a b!"), "{}", output.out);
    is_said(&output.err, &["kubectl reads the key yes as \"true\""]);
}

#[test]
fn what_is_rendered_can_be_read_again_with_the_keys_that_it_has() {
    let folder = copy_of("job");
    let labels = "labels: {\"y\": a, \"on\": b, \"1.10\": c, \"0755\": d}\n      generateName:";
    edit(&folder, "template.yaml", "generateName:", labels);
    let output = cartouche_in(folder.path(), &["render", "."]);
    assert_eq!(output.code, 0, "{}", output.err);
    for key in ["y", "on", "1.10", "0755"] {
        let quoted = [format!("\"{key}\":"), format!("'{key}':")];
        assert!(
            quoted.iter().any(|it| output.out.contains(it)),
            "{key}: {}",
            output.out
        );
    }
}

#[test]
fn an_account_that_the_controller_refuses_is_refused_in_files() {
    let text = said("job", "runnable.yaml", "greeter", "Greeter");
    is_said(
        &text,
        &[
            "spec.serviceAccountName \"Greeter\" is not the name of a ServiceAccount",
            "runnable.yaml:7:23",
        ],
    );
}

#[test]
fn a_pause_without_a_unit_is_to_be_a_duration_and_not_in_quotes() {
    let text = said("retry", "runnable.yaml", "initial: 30s", "initial: 5");
    is_said(
        &text,
        &[
            "spec.retry.backoff.initial has to be a duration, and is a number 5",
            "write a duration such as \"5s\"",
        ],
    );
    assert!(!text.contains("put it in quotes"), "{text}");
}

#[test]
fn a_condition_that_no_job_has_is_refused_as_a_health_rule() {
    let rule =
        |condition| format!("  healthRule: {{singleConditionType: {condition}}}\n  outputs:");
    let text = said("job", "template.yaml", "  outputs:", &rule("Completed"));
    is_said(
        &text,
        &[
            "a Job never has the condition 'Completed'",
            "did you mean 'Complete'?",
        ],
    );
    for condition in ["Complete", "SuccessCriteriaMet"] {
        let folder = copy_of("job");
        edit(&folder, "template.yaml", "  outputs:", &rule(condition));
        let output = cartouche_in(folder.path(), &["validate", "."]);
        assert_eq!(output.code, 0, "{condition}: {}", output.out);
    }
}

#[test]
fn an_output_path_that_begins_with_a_blank_or_a_dollar_leads_nowhere() {
    for (path, with) in [
        ("\" .status.succeeded\"", "begins with a blank"),
        ("$.status.succeeded", "begins with $"),
    ] {
        let text = said("job", "template.yaml", ".status.succeeded", path);
        is_said(&text, &[with, "write .status.succeeded"]);
    }
}

#[test]
fn a_word_that_approves_no_run_is_told_and_an_approval_is_not() {
    let said = |value: &str| {
        let folder = copy_of("job");
        let annotated = format!("metadata:\n  annotations: {{ carto.run/approved: {value} }}");
        edit(&folder, "runnable.yaml", "metadata:", &annotated);
        let output = cartouche_in(folder.path(), &["validate", "."]);
        assert_eq!(output.code, 0, "{}", output.out);
        output.out
    };
    let parts = [
        "the annotation carto.run/approved approves nothing",
        "it is not <number>:<hash>",
    ];
    is_said(&said("'true'"), &parts);
    let approval = said("'4:v1:00ff'");
    assert!(!approval.contains("approved"), "{approval}");
}

#[test]
fn both_may_want_a_person_and_what_is_rendered_stays_the_same() {
    let folder = copy_of("job");
    let render = || cartouche_in(folder.path(), &["render", "."]).out;
    let before = render();
    edit(
        &folder,
        "runnable.yaml",
        "spec:\n",
        "spec:\n  approval: Manual\n",
    );
    let manual = "name: greet\nspec:\n  approval: Manual\n";
    edit(&folder, "template.yaml", "name: greet\nspec:\n", manual);
    let checked = cartouche_in(folder.path(), &["validate", "."]);
    assert_eq!(checked.code, 0, "{}", checked.out);
    assert_eq!(render(), before);
}
