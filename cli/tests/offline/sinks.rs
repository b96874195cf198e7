//! Objects that outputs go to, in files.

use std::fs;

use crate::support::{cartouche_in, validated};

const TEMPLATE: &str = "\
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: {name: user}
spec:
  template:
    apiVersion: v1
    kind: Pod
    metadata: {generateName: user-}
    spec:
      restartPolicy: Never
      containers:
        - {name: user, image: docker.io/library/busybox:1.37, command: [echo, x]}
  outputs:
    user: .terminationMessage.user
    password: .terminationMessage.password
  sensitiveOutputs: [password]
";

/// Runs `validate` on a Runnable with these sinks.
fn told(sinks: &str) -> (i32, String) {
    told_of(TEMPLATE, sinks, "[]")
}

fn runnable(sinks: &str, sources: &str) -> String {
    format!(
        "\
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: {{name: r, namespace: demo}}
spec:
  runTemplateRef: {{name: user}}
  inputsFrom: {sources}
  writeOutputsTo: {sinks}
"
    )
}

fn told_of(template: &str, sinks: &str, sources: &str) -> (i32, String) {
    let runnable = runnable(sinks, sources);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("template.yaml"), template).unwrap();
    fs::write(folder.path().join("runnable.yaml"), runnable).unwrap();
    let output = cartouche_in(folder.path(), &["validate", "."]);
    (output.code, format!("{}{}", output.out, output.err))
}

const SECRET: &str = "{kind: Secret, name: db, keys: {password: PASSWORD}}";

#[test]
fn objects_that_can_take_outputs_are_no_mistake() {
    let (code, told) = told(&format!("[{SECRET}, {{kind: ConfigMap, name: db}}]"));
    assert_eq!(code, 0, "{told}");
}

#[test]
fn an_object_of_the_files_is_not_made_by_the_runnable() {
    let template = TEMPLATE.replace("  sensitiveOutputs: [password]\n", "");
    let beside = |metadata: &str| {
        format!(
            "{template}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: db{metadata}}}\n"
        )
    };
    let sinks = "[{kind: ConfigMap, name: db}]";
    for metadata in ["", ", namespace: demo"] {
        let (code, told) = told_of(&beside(metadata), sinks, "[]");
        let message =
            "outputs go to ConfigMap db, which is in these files, so this Runnable did not make it";
        assert!(code == 0 && told.contains(message), "{told}");
        assert!(told.contains("= help: remove it from the files"), "{told}");
    }
    for metadata in [
        ", namespace: other",
        ", annotations: {carto.run/outputs-of: uid}",
    ] {
        let (_, told) = told_of(&beside(metadata), sinks, "[]");
        assert!(told.contains("no errors"), "{told}");
    }
}

#[test]
fn the_line_of_a_secret_of_the_files_is_not_shown() {
    let secret = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"},"data":{"password":"aHVudGVy"}}"#;
    let (code, told) = told_of(
        &format!("{TEMPLATE}---\n{secret}\n"),
        &format!("[{SECRET}]"),
        "[]",
    );
    assert!(
        code == 0 && told.contains("outputs go to Secret db, which is in these files"),
        "{told}"
    );
    assert!(
        told.contains("= note: it is in the files (template.yaml:"),
        "{told}"
    );
    assert!(!told.contains("aHVudGVy"), "{told}");

    // Another object in the same line.
    let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"db"}}"#;
    let list = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{map},{secret}]}}"#);
    let sinks = format!("[{{kind: ConfigMap, name: db}}, {SECRET}]");
    let (code, text) = told_of(&format!("{TEMPLATE}---\n{list}\n"), &sinks, "[]");
    assert!(
        code == 0 && text.contains("outputs go to ConfigMap db, which is in these files"),
        "{text}"
    );
    assert!(!text.contains("aHVudGVy"), "{text}");
    // The same where the Runnable is in that file.
    let runnable = runnable(&sinks, "[]");
    let (_, text) = validated(&format!("{TEMPLATE}---\n{runnable}---\n{list}\n"));
    assert!(text.contains("outputs go to ConfigMap db"), "{text}");
    assert!(!text.contains("aHVudGVy"), "{text}");
}

#[test]
fn what_can_never_be_written_is_told_at_its_place() {
    for (sinks, part) in [
        (
            format!("[{SECRET}, {{kind: Secret, name: a, keys: {{usr: USER}}}}]"),
            "declares no such output",
        ),
        (
            "[{kind: ConfigMap, name: db}]".to_owned(),
            "the sensitive outputs password are stored nowhere",
        ),
        (
            "[]".to_owned(),
            "the sensitive outputs password are stored nowhere",
        ),
        (format!("[{SECRET}, {SECRET}]"), "Secret db occurs twice"),
        (
            format!("[{SECRET}, {{kind: ConfigMap, name: db, keys: {{password: P}}}}]"),
            "output password is sensitive",
        ),
        (
            "[{kind: Secret, name: Upper}]".to_owned(),
            "which is not a valid name of a Secret",
        ),
        (
            "[{kind: Secret, name: db, keys: {user: ..}}]".to_owned(),
            "no object can have this key",
        ),
        (
            "[{kind: Secret, name: db, keys: {user: A, password: A}}]".to_owned(),
            "key A of Secret db is given to two outputs",
        ),
    ] {
        let (code, told) = told(&sinks);
        assert!(code == 1 && told.contains(part), "{sinks}: {told}");
        assert!(told.contains("runnable.yaml"), "{told}");
    }
}

#[test]
fn inputs_that_come_from_what_outputs_go_to_are_a_cycle_however_they_are_read() {
    let map = "{kind: ConfigMap, name: db}";
    for (sinks, sources, object) in [
        (
            SECRET.to_owned(),
            "[{name: x, secretKeyRef: {name: db, key: PASSWORD}}]",
            "Secret demo/db",
        ),
        (
            format!("{SECRET}, {map}"),
            "[{name: x, configMapKeyRef: {name: db, key: user}}]",
            "ConfigMap demo/db",
        ),
        (
            format!("{SECRET}, {map}"),
            "[{name: x, objectRef: {apiVersion: v1, kind: ConfigMap, name: db, path: .data.user}}]",
            "ConfigMap demo/db",
        ),
    ] {
        let (code, told) = told_of(TEMPLATE, &format!("[{sinks}]"), sources);
        let round =
            format!("Runnable demo/r, which reads {object}, which has outputs of Runnable demo/r");
        assert!(code == 1 && told.contains(&round), "{told}");
        assert!(told.contains("and Runnable r writes to this"), "{told}");
    }
}

#[test]
fn a_cycle_by_way_of_what_another_one_writes_to_is_told_once_with_its_places() {
    let two = "\
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: {name: a, namespace: demo}
spec:
  runTemplateRef: {name: user}
  inputsFrom: [{name: x, configMapKeyRef: {name: of-b, key: user}}]
  writeOutputsTo: [{kind: Secret, name: a, keys: {password: P}}]
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: {name: b, namespace: demo}
spec:
  runTemplateRef: {name: user}
  inputsFrom: [{name: x, runnableRef: {name: a, output: user}}]
  writeOutputsTo: [{kind: Secret, name: b, keys: {password: P}}, {kind: ConfigMap, name: of-b}]
";
    let told_of = |two: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("template.yaml"), TEMPLATE).unwrap();
        fs::write(folder.path().join("two.yaml"), two).unwrap();
        let output = cartouche_in(folder.path(), &["validate", "."]);
        (output.code, format!("{}{}", output.out, output.err))
    };
    let (code, told) = told_of(two);
    let round = "Runnable demo/a, which reads ConfigMap demo/of-b, which has outputs of Runnable demo/b, which reads Runnable demo/a";
    assert!(code == 1 && told.contains(round), "{told}");
    assert_eq!(told.matches("which has outputs of").count(), 1, "{told}");
    assert!(told.contains("and Runnable b writes to this"), "{told}");
    // A file that names no namespace is shown as it is.
    let (_, told) = told_of(&two.replace(", namespace: demo", ""));
    assert!(told.contains(&round.replace("demo/", "")), "{told}");
    let (code, told) = told_of(&two.replace("name: of-b, key", "name: of-another, key"));
    assert_eq!(code, 0, "{told}");
}

#[test]
fn a_sensitive_output_is_one_of_the_outputs_and_no_other_one_shows_it() {
    let unknown = TEMPLATE.replace("[password]", "[pasword]");
    let (code, told) = told_of(&unknown, &format!("[{SECRET}]"), "[]");
    assert!(code == 1 && told.contains("'pasword'"), "{told}");
    let shown = TEMPLATE.replace(
        "user: .terminationMessage.user",
        "user: .terminationMessage",
    );
    let (code, told) = told_of(&shown, &format!("[{SECRET}]"), "[]");
    assert!(
        code == 1 && told.contains("it shows the sensitive output password"),
        "{told}"
    );
}
