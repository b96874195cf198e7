//! Inputs from `ConfigMaps` and Secrets that are in files.

use std::{fs, path::Path};

use crate::support::{Output, cartouche_in};

const TEMPLATE: &str = "\
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: {name: migrate}
spec:
  inputSchema:
    type: object
    required: [size, password]
    additionalProperties: false
    properties:
      size:
        type: object
        properties: {cpu: {type: integer}}
      password:
        type: object
        properties: {name: {type: string}, key: {type: string}}
      level: {type: string, default: info}
  template:
    apiVersion: v1
    kind: Pod
    metadata: {generateName: migrate-}
    spec:
      restartPolicy: Never
      containers:
        - name: migrate
          image: docker.io/library/busybox:1.37
          command: [echo, \"$(runnable.spec.inputs.size.cpu)$ $(runnable.spec.inputs.level)$\"]
          env:
            - name: PASSWORD
              valueFrom: {secretKeyRef: $(runnable.spec.inputs.password)$}
";

const RUNNABLE: &str = "\
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: {name: migrate, namespace: demo}
spec:
  runTemplateRef: {name: migrate}
  inputsFrom:
    - name: size
      configMapKeyRef: {name: sizes, key: small, as: JSON}
    - name: password
      secretKeyRef: {name: db, key: password}
    - name: level
      optional: true
      configMapKeyRef: {name: extras, key: level}
";

const SOURCES: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: sizes}
data: {small: '{\"cpu\": 2}'}
---
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {password: hunter2}
";

/// A folder with the template, the Runnable and these objects.
fn folder(sources: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("template.yaml", TEMPLATE),
        ("runnable.yaml", RUNNABLE),
        ("objects.yaml", sources),
    ] {
        if !text.is_empty() {
            fs::write(folder.path().join(file), text).unwrap();
        }
    }
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let output = cartouche_in(folder, arguments);
    let all = format!("{}{}", output.out, output.err);
    // Neither the value nor its base64.
    assert!(
        !all.contains("hunter") && !all.contains("aHVudGVy"),
        "{all}"
    );
    output
}

#[test]
fn what_is_rendered_has_the_values_and_the_reference_and_says_where_they_are_from() {
    let folder = folder(SOURCES);
    let output = run(folder.path(), &["render", ".", "--explain"]);
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    insta::assert_snapshot!(output.out);
}

#[test]
fn the_value_of_a_secret_is_a_part_of_the_hash_and_another_uid_is_another_hash() {
    let hash = |sources: &str| {
        let output = run(folder(sources).path(), &["render", "."]);
        let line = output.out.lines().find(|line| line.contains("input hash"));
        line.unwrap().to_owned()
    };
    let known = SOURCES.replace("{name: db}", "{name: db, uid: u}");
    let first = hash(&known);
    assert_ne!(first, hash(&known.replace("hunter2", "hunter3")));
    assert_ne!(first, hash(&known.replace("uid: u", "uid: v")));
    let encoded = known.replace(
        "stringData: {password: hunter2}",
        "data: {password: aHVudGVyMg==}",
    );
    assert_eq!(first, hash(&encoded));
    // With a public uid, a short value could be found by trying.
    assert_eq!(hash(SOURCES), hash(&SOURCES.replace("hunter2", "hunter3")));
}

#[test]
fn what_is_not_among_the_files_cannot_be_rendered_and_all_of_it_is_named() {
    let folder = folder("");
    let output = run(folder.path(), &["render", "."]);
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    insta::assert_snapshot!(output.err);
}

#[test]
fn what_is_not_among_the_files_is_no_error_of_the_check_and_leaves_open_what_reads_it() {
    let output = run(folder("").path(), &["validate", ".", "--notes"]);
    assert_eq!(output.code, 0, "{}", output.out);
    let unchecked = output.out.matches("was not checked: ConfigMap").count();
    assert_eq!(
        (unchecked, output.out.matches("error[").count()),
        (2, 0),
        "{}",
        output.out
    );
    let all = run(folder(SOURCES).path(), &["validate", ".", "--notes"]);
    assert_eq!(all.out.matches("was not checked").count(), 1, "{}", all.out);
}

#[test]
fn what_is_wrong_is_told_beside_what_is_not_known() {
    let folder = folder("");
    let runnable = folder.path().join("runnable.yaml");
    // No input of the template, and one that is there in both.
    let text = RUNNABLE.replace("- name: level", "- name: levle") + "  inputs: {password: x}\n";
    fs::write(runnable, text).unwrap();
    let output = run(folder.path(), &["validate", ".", "--notes"]);
    assert_eq!(output.code, 1, "{}", output.out);
    for part in [
        "there is no input 'levle'",
        "did you mean 'level'?",
        "input password is given twice",
    ] {
        assert!(output.out.contains(part), "{part}: {}", output.out);
    }
    assert_eq!(output.out.matches("error[").count(), 2, "{}", output.out);
    // An input that no tag reads does not have to be known.
    let unchecked = output.out.matches("was not checked: ConfigMap sizes");
    assert_eq!(unchecked.count(), 1, "{}", output.out);
    assert!(!output.out.contains("ConfigMap extras"), "{}", output.out);
}

#[test]
fn a_value_that_does_not_fit_is_told_where_it_is_taken_from() {
    let folder = folder(&SOURCES.replace("\"cpu\": 2", "\"cpu\": \"two\""));
    for command in ["validate", "render"] {
        let output = run(folder.path(), &[command, "."]);
        let all = output.out + &output.err;
        assert_eq!(output.code, 1, "{all}");
        assert!(
            all.contains("spec.inputs.size.cpu has to be an integer"),
            "{all}"
        );
        assert!(all.contains("runnable.yaml:7:13"), "{all}");
    }
}

/// A case of `cartouche test` with these sources, if there are any.
fn case(sources: &str) -> tempfile::TempDir {
    let folder = folder("");
    let case = folder.path().join("tests/case");
    fs::create_dir_all(&case).unwrap();
    fs::write(case.join("case.yaml"), "description: a case\n").unwrap();
    if !sources.is_empty() {
        fs::write(case.join("sources.yaml"), sources).unwrap();
    }
    folder
}

#[test]
fn a_case_has_its_sources_and_no_others() {
    let with = case(SOURCES);
    let update = run(with.path(), &["test", "--update"]);
    assert_eq!(update.code, 0, "{}{}", update.out, update.err);
    let expected = fs::read_to_string(with.path().join("tests/case/expected.yaml")).unwrap();
    assert!(
        expected.contains("2 info") && expected.contains("name: db"),
        "{expected}"
    );
    assert_eq!(run(with.path(), &["test"]).code, 0);
    // A manifest beside the case is not part of the case.
    fs::rename(
        with.path().join("tests/case/sources.yaml"),
        with.path().join("objects.yaml"),
    )
    .unwrap();
    assert_eq!(run(with.path(), &["test"]).code, 1);
    let without = case("");
    let update = run(without.path(), &["test", "--update"]);
    assert_eq!(update.code, 0, "{}", update.err);
    let expected =
        fs::read_to_string(without.path().join("tests/case/expected-error.txt")).unwrap();
    assert_eq!(
        expected,
        "input size comes from ConfigMap sizes, which is not there\n\
         input password comes from Secret db, which is not there\n"
    );
}

#[test]
fn a_case_whose_sources_cannot_be_used_is_not_played() {
    for (sources, told) in [
        (
            SOURCES.replace("kind: Secret", "kind: Pod"),
            "holds a Pod of v1",
        ),
        (
            SOURCES.replace(
                "stringData: {password: hunter2}",
                "data: {password: hunter2!}",
            ),
            "is not base64",
        ),
        (
            format!("{SOURCES}---\n{SOURCES}"),
            "there are 2 of ConfigMap sizes",
        ),
    ] {
        let output = run(case(&sources).path(), &["test"]);
        let all = format!("{}{}", output.out, output.err);
        assert!(output.code != 0 && all.contains(told), "{told}: {all}");
    }
}

/// A case whose Runnable takes its size from an output of another one.
fn chained_case(sources: &str) -> tempfile::TempDir {
    let folder = case(sources);
    let file = folder.path().join("runnable.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let chained = text.replace(
        "configMapKeyRef: {name: sizes, key: small, as: JSON}",
        "runnableRef: {name: sizing, namespace: ci, output: size}",
    );
    assert_ne!(chained, text);
    fs::write(&file, chained).unwrap();
    folder
}

#[test]
fn a_case_takes_outputs_of_the_runnables_among_its_sources() {
    let (_, secret) = SOURCES.split_once("---\n").unwrap();
    let sizing = |rest: &str| {
        format!(
            "{secret}---\napiVersion: carto.run/v1alpha1\nkind: Runnable\nmetadata: {{name: sizing, namespace: ci}}\n{rest}"
        )
    };
    let played = |sources: &str| {
        let output = run(chained_case(sources).path(), &["test"]);
        format!("{}{}", output.out, output.err)
    };
    let given = played(&sizing("status: {outputs: {size: {cpu: 2}}}\n"));
    assert!(
        given.contains("- 2 info") || given.contains("1 passed"),
        "{given}"
    );
    for (sources, told) in [
        (
            secret.to_owned(),
            "input size comes from Runnable ci/sizing, which is not there",
        ),
        (
            sizing("spec: {}\n"),
            "input size comes from output size of Runnable ci/sizing, which has given none yet",
        ),
        (
            sizing("status: {outputs: {sise: 2}}\n"),
            "input size comes from output size of Runnable ci/sizing, which gives no such output",
        ),
        (
            sizing("status: {outputs: [1]}\n"),
            "which cannot be read in its file",
        ),
        (
            sizing("status: {outputs: {size: 2}}\n").replace("carto.run/v1alpha1", "carto.run/v1"),
            "holds a Runnable of carto.run/v1",
        ),
    ] {
        let all = played(&sources);
        assert!(all.contains(told), "{told}: {all}");
    }
}
