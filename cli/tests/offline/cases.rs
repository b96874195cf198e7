//! `cartouche test`, and with it the examples.

use std::fs;

use crate::support::{cartouche, cartouche_in, copy_of, edit};

#[test]
fn every_example_passes_its_tests() {
    let output = cartouche(&["test", "examples"]);
    assert_eq!(output.code, 0, "{}", output.out);
    assert!(
        output.out.ends_with(" passed, 0 failed\n"),
        "{}",
        output.out
    );
}

#[test]
fn a_test_that_fails_shows_what_differs() {
    let folder = copy_of("job");
    edit(&folder, "template.yaml", "Hello, ", "Good morning, ");
    edit(
        &folder,
        "template.yaml",
        ".status.succeeded",
        ".status.failed",
    );
    let output = cartouche_in(folder.path(), &["test", "--filter", "the-input"]);
    assert_eq!(output.code, 1);
    insta::assert_snapshot!(output.out);
}

#[test]
fn update_makes_expectations_of_what_comes_and_they_then_pass() {
    let folder = copy_of("job");
    let case = folder.path().join("tests/another");
    fs::create_dir_all(case.join("played")).unwrap();
    fs::write(case.join("case.yaml"), "inputs: {name: moon}\n").unwrap();
    fs::write(
        case.join("played/1.yaml"),
        "status: {conditions: [{type: Complete, status: \"True\"}]}\n",
    )
    .unwrap();
    assert_eq!(
        cartouche_in(folder.path(), &["test", "--filter", "another"]).code,
        1
    );
    assert_eq!(
        cartouche_in(folder.path(), &["test", "--filter", "another", "--update"]).code,
        0
    );
    let expected = fs::read_to_string(case.join("expected.yaml")).unwrap();
    assert!(expected.contains("Hello, moon!"), "{expected}");
    assert!(case.join("played/1.expected.yaml").is_file());
    assert_eq!(cartouche_in(folder.path(), &["test"]).code, 0);
}

#[test]
fn results_are_written_as_junit() {
    let folder = copy_of("job");
    edit(
        &folder,
        "tests/the-input-is-greeted/expected.yaml",
        "Hello, world!",
        "<Hello>",
    );
    cartouche_in(folder.path(), &["test", "--junit", "results.xml"]);
    let text = fs::read_to_string(folder.path().join("results.xml")).unwrap();
    assert!(text.contains("tests=\"3\" failures=\"1\""), "{text}");
    assert!(text.contains("&lt;Hello&gt;"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn no_case_at_all_is_an_error_and_not_a_success() {
    let folder = tempfile::tempdir().unwrap();
    let output = cartouche_in(folder.path(), &["test"]);
    assert_eq!(output.code, 2);
    insta::assert_snapshot!(output.err);
}

#[test]
fn the_last_words_of_a_job_can_be_played() {
    let folder = copy_of("job");
    edit(
        &folder,
        "template.yaml",
        ".status.succeeded",
        ".terminationMessage.digest",
    );
    let played = folder.path().join("tests/the-input-is-greeted/played");
    let text = fs::read_to_string(played.join("2-complete.yaml")).unwrap();
    fs::write(
        played.join("2-complete.yaml"),
        format!("terminationMessage: {{digest: abc}}\n{text}"),
    )
    .unwrap();
    cartouche_in(folder.path(), &["test", "--update"]);
    let expected = fs::read_to_string(played.join("2-complete.expected.yaml")).unwrap();
    assert!(expected.contains("pods: abc"), "{expected}");
}

#[test]
fn a_run_that_lacks_an_optional_output_is_played_with_the_others() {
    let folder = copy_of("job");
    edit(
        &folder,
        "template.yaml",
        "  outputs:\n",
        "  optionalOutputs: [failures]\n  outputs:\n    failures: .status.failed\n",
    );
    let output = cartouche_in(folder.path(), &["test", "--filter", "the-input"]);
    assert_eq!(output.code, 0, "{}", output.out);
    edit(
        &folder,
        "template.yaml",
        "  optionalOutputs: [failures]\n",
        "",
    );
    let output = cartouche_in(folder.path(), &["test", "--filter", "the-input"]);
    assert_eq!(output.code, 1, "{}", output.out);
    assert!(
        output.out.contains("output \\\"failures\\\" has no value"),
        "{}",
        output.out
    );
}
