//! What is shipped makes no mistakes on demand.

use std::process::Command;

use anyhow::{Result, ensure};
use cartouche_tests::repository;

/// The features that a package has in a build of its own.
fn features(arguments: &[&str]) -> Result<String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(repository())
        .args(["tree", "--offline", "--locked", "--depth", "0"])
        .args(["--edges", "normal", "--format", "{p} [{f}]"])
        .args(["--package", "cartouche-controller"])
        .args(arguments)
        .output()?;
    let said = String::from_utf8(output.stderr)?;
    ensure!(output.status.success(), "cargo tree: {said}");
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn the_shipped_controller_is_built_without_deliberate_mistakes() -> Result<()> {
    let shipped = features(&[])?;
    assert!(shipped.contains("cartouche-controller"), "{shipped}");
    assert!(!shipped.contains("mutants"), "{shipped}");
    // The question is one that can be answered with yes.
    let mistaken = features(&["--features", "mutants"])?;
    assert!(mistaken.contains("mutants"), "{mistaken}");
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
