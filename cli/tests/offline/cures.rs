//! Cures of `cartouche validate` that can be followed word for word.

use std::fs;

use crate::support::{cartouche_in, validated as said};

const TEMPLATE: &str = "\
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: {name: t}
spec:
  template:
    apiVersion: batch/v1
    kind: Job
    metadata: {generateName: t-}
    spec:
      backoffLimit: 0
      template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'b:1', command: [echo, 'TEXT']}]}}
";

const RUNNABLE: &str = "\
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: {name: r, namespace: demo}
spec:
  runTemplateRef: {name: t}
  inputsFrom: [{name: x, configMapKeyRef: {name: c, key: k, as: JSON}}]
";

#[test]
fn the_termination_message_is_beside_the_status() {
    for path in [
        ".status.terminationMessage.x",
        "status.terminationMessage.x",
        "'{.status.terminationMessage.x}'",
        ".status['terminationMessage'].x",
    ] {
        let (code, text) = said(&format!("{TEMPLATE}  outputs:\n    a: {path}\n"));
        assert_eq!(code, 1, "{path}: {text}");
        let (_, cure) = text.split_once("not part of status: write ").unwrap();
        let cure = cure.lines().next().unwrap();
        assert_eq!(cure, ".terminationMessage.x", "{path}: {text}");
    }
}

#[test]
fn a_tag_without_the_part_that_its_field_is_in_names_that() {
    let of = |tag: &str| said(&TEMPLATE.replace("TEXT", &format!("$({tag})$")));
    for (tag, meant) in [
        ("runnable.inputs.x", "runnable.spec.inputs.x"),
        ("runnable.input.x", "runnable.spec.inputs.x"),
        ("runnable.name", "runnable.metadata.name"),
        ("runnable.namespace", "runnable.metadata.namespace"),
        ("runnable.labels.x", "runnable.metadata.labels.x"),
    ] {
        let (code, text) = of(tag);
        let help = format!("= help: did you mean {meant}?");
        assert!(code == 1 && text.contains(&help), "{tag}: {text}");
    }
    // The engine refuses these.
    for tag in [
        "runnable.timeout",
        "runnable.inputsFrom",
        "runnable.resourceVersion",
    ] {
        let (code, text) = of(tag);
        let is_silent = !text.contains("did you mean");
        assert!(code == 1 && is_silent, "{tag}: {text}");
    }
    let (_, text) = of("runnable.sepc.inputs.x");
    assert!(text.contains("did you mean 'spec'?"), "{text}");
}

#[test]
fn a_text_that_is_to_be_json_and_nearly_is() {
    let of = |value: &str| {
        said(&format!(
            "{TEMPLATE}---
{RUNNABLE}---
apiVersion: v1
kind: ConfigMap
metadata: {{name: c, namespace: demo}}
data:
  k: {value}
"
        ))
    };
    let quotes = "JSON has double quotes: write them instead of the single ones";
    for (value, help) in [
        ("|\n    {'a': 1}", format!("{quotes}\n")),
        (
            "\"{'a': 1}\"",
            format!("{quotes}, and put the value in single quotes\n"),
        ),
        (
            "|\n    a: 1\n    b: 2",
            "this is YAML: write it as JSON".to_owned(),
        ),
        ("'[a, b,]'", "this is YAML: write it as JSON".to_owned()),
        ("'{a: 1}'", "this is YAML: write it as JSON".to_owned()),
        ("no text", "correct the value".to_owned()),
    ] {
        let (code, text) = of(value);
        let help = format!("= help: {help}");
        assert!(code == 1 && text.contains(&help), "{value}: {text}");
    }
    assert!(of("'{\"a\": 1}'").1.contains("no errors"));

    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("t.yaml", &format!("{TEMPLATE}---\n{RUNNABLE}"));
    write(
        "c.json",
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"demo"},"data":{"k":"{'a': 1}"}}"#,
    );
    let text = cartouche_in(folder.path(), &["validate", "."]).out;
    let help = format!("= help: {quotes}, each with a \\ before it\n");
    assert!(text.contains(&help), "{text}");
}

#[test]
fn the_fields_of_a_kind_in_other_letters_are_named() {
    let kind = "did you mean 'kind' in the place of 'Kind'?";
    let version = "did you mean 'apiVersion' in the place of 'apiversion'?";
    let one = TEMPLATE.replace("    kind: Job", "    Kind: Job");
    let both = one.replace("    apiVersion:", "    apiversion:");
    for (template, message, help) in [
        (&one, "the template has no kind", kind.to_owned()),
        (
            &both,
            "the template has neither apiVersion nor kind",
            format!("{version} {kind}"),
        ),
    ] {
        let (code, text) = said(template);
        assert!(code == 1 && text.contains(message), "{text}");
        assert!(text.contains(&format!("= help: {help}")), "{text}");
    }
    let (head, _) = TEMPLATE.split_once("    apiVersion").unwrap();
    let empty = head.replace("  template:\n", "  template: {}\n");
    let (code, text) = said(&empty);
    assert!(
        code == 1 && text.contains("has neither apiVersion nor kind"),
        "{text}"
    );
}
