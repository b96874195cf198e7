//! Rules for health that no run of a kind can meet, by its schema and for users who come from Cartographer; and labels.

use std::{fs, path::Path};

use crate::support::{Output, cartouche_in};

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Backup, plural: backups, singular: backup, listKind: BackupList}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {source: {type: string}}}
            status:
              type: object
              properties:
                phase: {type: string, enum: [Running, Done, Broken]}
                ready: {type: boolean}
";

/// Runs `validate` on a template of that kind with this rule, with its definition.
fn said(rule: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("crd.yaml"), DEFINITION).unwrap();
    let template = format!(
        "apiVersion: carto.run/v1alpha1\nkind: ClusterRunTemplate\nmetadata: {{name: backup}}\nspec:\n{rule}  template:\n    apiVersion: example.com/v1\n    kind: Backup\n    metadata: {{generateName: a-}}\n    spec: {{source: a}}\n"
    );
    fs::write(folder.path().join("template.yaml"), template).unwrap();
    cartouche_in(
        folder.path(),
        &["validate", "template.yaml", "--schemas", "crd.yaml"],
    )
}

fn by_field(field: &str) -> String {
    let unhealthy = "{key: .status.phase, operator: In, values: [Broken]}";
    format!(
        "  healthRule: {{multiMatch: {{healthy: {{matchFields: [{field}]}}, unhealthy: {{matchFields: [{unhealthy}]}}}}}}\n"
    )
}

#[test]
fn what_the_schema_of_a_kind_cannot_have_is_refused_in_a_rule() {
    for (rule, part) in [
        (String::new(), "no rule says when a Backup has succeeded"),
        (
            "  healthRule: {singleConditionType: Ready}\n".to_owned(),
            "a Backup has no status.conditions",
        ),
        (
            by_field("{key: .status.phase, operator: In, values: [Don]}"),
            ".status.phase of a Backup is never Don",
        ),
        (
            by_field("{key: .status.phase, operator: In, values: [Don]}"),
            "did you mean 'Done'?",
        ),
        (
            by_field("{key: .status.ready, operator: In, values: [\"yes\"]}"),
            ".status.ready of a Backup is never yes",
        ),
    ] {
        let output = said(&rule);
        assert_eq!(output.code, 1, "{rule}: {}", output.out);
        assert!(output.out.contains(part), "{part}: {}", output.out);
        assert_eq!(output.out.matches("error[").count(), 1, "{}", output.out);
    }
    for rule in [
        by_field("{key: .status.phase, operator: In, values: [Done, Finished]}"),
        by_field("{key: .status.ready, operator: In, values: [\"true\"]}"),
        "  healthRule: {alwaysHealthy: {}}\n".to_owned(),
    ] {
        let output = said(&rule);
        assert_eq!(output.code, 0, "{rule}: {}", output.out);
    }
}

fn migrated(folder: &Path, text: &str) -> Output {
    fs::write(folder.join("all.yaml"), text).unwrap();
    cartouche_in(folder, &["migrate", "check", "all.yaml"])
}

#[test]
fn who_comes_from_cartographer_is_told_of_rules_and_labels_that_counted_for_nothing_there() {
    let folder = tempfile::tempdir().unwrap();
    let ruled = include_str!("../broken/health-rule-of-another-kind.yaml");
    let output = migrated(folder.path(), ruled);
    assert_eq!(output.code, 1, "{}", output.out);
    for part in [
        "change   healthRule.singleConditionType: a TaskRun never has the condition 'Ready'",
        "differs  Cartographer ignored spec.healthRule",
    ] {
        assert!(output.out.contains(part), "{part}: {}", output.out);
    }
    let labelled = include_str!("../broken/label-of-a-number.yaml");
    let output = migrated(folder.path(), labelled);
    assert_eq!(output.code, 1, "{}", output.out);
    let part = "change   nothing runs: metadata.labels.port: the tag $(runnable.spec.inputs.port)$ makes it a number";
    assert!(output.out.contains(part), "{}", output.out);
}

#[test]
fn what_is_rendered_has_its_labels_or_is_refused_with_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let labelled = include_str!("../broken/label-of-a-number.yaml");
    fs::write(folder.path().join("all.yaml"), labelled).unwrap();
    let output = cartouche_in(folder.path(), &["render", "."]);
    assert_eq!(output.code, 1, "{}", output.out);
    for part in ["metadata.labels.port", "an integer 8080", "\"8080\""] {
        assert!(output.err.contains(part), "{part}: {}", output.err);
    }
    let quoted = labelled.replace("port: 8080", "port: \"8080\"");
    fs::write(folder.path().join("all.yaml"), quoted).unwrap();
    let output = cartouche_in(folder.path(), &["render", "."]);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.contains("kueue.x-k8s.io/queue-name: small"));
}
