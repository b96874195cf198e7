//! What `cartouche validate` finds in files that belong together.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod support;

use support::{cartouche, cartouche_in, copy_of, replace};

#[test]
fn last_words_are_outputs_of_jobs_and_pods_only() {
    let folder = copy_of("job");
    let template = folder.path().join("template.yaml");
    replace(&template, ".status.succeeded", ".terminationMessage.digest");
    let output = cartouche_in(folder.path(), &["validate", "."]);
    assert_eq!(output.code, 0, "{}", output.out);
    replace(
        &template,
        "apiVersion: batch/v1\n    kind: Job",
        "apiVersion: v1\n    kind: PodTemplate",
    );
    let output = cartouche_in(folder.path(), &["validate", "."]);
    assert!(
        output
            .out
            .contains("reads 'terminationMessage', which such a run does not have"),
        "{}",
        output.out
    );
}

#[test]
fn a_runnable_among_the_files_is_picked_by_the_selector_of_another() {
    let good = cartouche(&["validate", "examples/supply-chain"]);
    assert_eq!(good.code, 0, "{}", good.out);
    assert!(
        good.out
            .contains("it reads the status of Runnable cart-test, which only a cluster knows"),
        "{}",
        good.out
    );
}

#[test]
fn an_output_that_the_selected_runnable_will_never_have_is_an_error() {
    let folder = copy_of("supply-chain");
    replace(
        &folder.path().join("deploy-template.yaml"),
        "selected.status.outputs.commit",
        "selected.status.outputs.comit",
    );
    let output = cartouche_in(folder.path(), &["validate", "."]);
    assert_eq!(output.code, 1, "{}", output.out);
    assert!(
        output.out.contains("reads the output 'comit'")
            && output.out.contains("did you mean 'commit'?"),
        "{}",
        output.out
    );
}
