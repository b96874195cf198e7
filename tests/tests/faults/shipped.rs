//! The shipped binaries make no mistakes on demand.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use cartouche_tests::repository;

/// Returns the features that the controller has when these packages are built together.
fn features(arguments: &[&str]) -> Result<String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(repository())
        .args(["tree", "--offline", "--locked"])
        .args(["--format", "{p} [{f}]", "--prefix", "none"])
        .args(arguments)
        .output()?;
    let said = String::from_utf8(output.stderr)?;
    ensure!(output.status.success(), "cargo tree: {said}");
    let tree = String::from_utf8(output.stdout)?;
    let mut lines = tree.lines();
    let line = lines.find(|line| line.starts_with("cartouche-controller "));
    Ok(line.context("no controller in the tree")?.to_owned())
}

#[test]
fn no_build_but_that_of_tests_has_mutants() -> Result<()> {
    // `cargo build --release` of the whole workspace, the shipped controller and the measured one.
    for packages in [
        &["--workspace"][..],
        &["--package", "cartouche-controller"],
        &["--package", "cartouche-bench"],
    ] {
        let built = features(&[&["--edges", "normal,build"], packages].concat())?;
        assert!(!built.contains("mutants"), "{packages:?}: {built}");
    }
    // The check can find the feature.
    let tested = features(&["--workspace"])?;
    assert!(tested.contains("mutants"), "{tested}");
    Ok(())
}

#[test]
fn the_recipe_of_the_image_builds_the_controller_alone() -> Result<()> {
    let recipes = std::fs::read_to_string(repository().join("justfile"))?;
    let build = recipes.split("\nbuild:").nth(1).unwrap_or_default();
    let build = build.split("\n\n").next().unwrap_or_default();
    assert!(build.contains("--package cartouche-controller"), "{build}");
    assert!(!build.contains("features"), "{build}");
    Ok(())
}
