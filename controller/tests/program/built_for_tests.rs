//! A controller that can make mistakes on demand does not start.

#![cfg(feature = "mutants")]

use std::process::Command;

#[test]
fn a_controller_with_mutants_does_not_start() {
    let output = Command::new(env!("CARGO_BIN_EXE_cartouche-controller"))
        .arg("--version")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("built for tests"), "{said}");
}
