//! Choice of a profile by its rules.

use std::fs;

use super::{BASE, TEAM, example, render};

#[test]
fn the_rules_choose_as_the_controller_does() {
    let folder = example(&[TEAM, BASE]);
    let made_with = |arguments: &[&str]| {
        let output = render(&folder, arguments);
        let mut lines = output.out.lines();
        let line = lines.find(|line| line.contains("carto.run/profile:"));
        line.map(|line| line.trim().to_owned())
    };
    let of_team = Some("carto.run/profile: team@7".to_owned());
    let of_base = Some("carto.run/profile: base@1".to_owned());
    assert_eq!(
        made_with(&["--namespace-labels", "env=production"]),
        of_team
    );
    assert_eq!(made_with(&["--namespace-labels", "env=test,a=b"]), of_base);
    assert_eq!(made_with(&["--namespace-labels", ""]), of_base);
    // A named one is used regardless of its rules.
    assert_eq!(made_with(&["--profile", "team"]), of_team);
    // The namespace may be among the files.
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: cartouche-examples, labels: {env: production}}}";
    fs::write(folder.path().join("namespace.yaml"), namespace).unwrap();
    assert_eq!(made_with(&[]), of_team);
    assert_eq!(made_with(&["--namespace-labels", "env=test"]), of_base);
}

#[test]
fn a_rule_may_select_the_name_that_every_namespace_has_as_a_label() {
    let rule = "kubernetes.io/metadata.name: cartouche-examples";
    let folder = example(&[&TEAM.replace("env: production", rule)]);
    let output = render(&folder, &["--namespace-labels", "env=test"]);
    assert!(
        output.out.contains("carto.run/profile: team@7"),
        "{}",
        output.err
    );
}
