//! Log lines for people, enabled on request.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use std::{fs, process::Command};

/// Returns the output of a dry run of the program.
fn printed(dev_mode: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let owner = "{apiVersion: v1, kind: Runnable, name: it, uid: u}";
    let context = format!(
        "{{name: it-1, dryRun: true, platform: {{namespace: shop, serviceAccountName: worker, ownerRef: {owner}}}}}"
    );
    let said = folder.path().join("said");
    let output = Command::new(env!("CARGO_BIN_EXE_runner"))
        .env("RUNNER_CONTEXT_PATH", file("context.yaml", &context))
        .env("RUNNER_ARGS_PATH", file("args.yaml", "{command: [none]}"))
        .env("TERMINATION_LOG_PATH", &said)
        .env("RUNNER_LOGGER_DEV_MODE", dev_mode)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let said = fs::read_to_string(said).unwrap();
    assert!(said.contains("\"wouldRun\":[\"none\"]"), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_step_is_told_where_people_ask_for_it_and_else_only_what_matters() {
    let told = printed("true");
    for part in ["DEBUG", "it-1", "it was started", "it has ended"] {
        assert!(told.contains(part), "{told}");
    }
    assert!(!printed("false").contains("DEBUG"));
}
