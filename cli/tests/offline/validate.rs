//! Findings of `cartouche validate` in files that belong together.

use std::fs;

use crate::support::{cartouche_in, copy_of, edit, replace};

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

/// Two Runnables of one template, of which the second selects the first and reads this output.
fn selecting(output: &str) -> tempfile::TempDir {
    let folder = copy_of("job");
    let template = fs::read_to_string(folder.path().join("template.yaml")).unwrap();
    let reads = template.replace("name: greet\n", "name: relay\n").replace(
        "runnable.spec.inputs.name",
        &format!("selected.status.outputs.{output}"),
    );
    fs::write(folder.path().join("relay-template.yaml"), reads).unwrap();
    let relay = "apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: {name: relay, namespace: cartouche-examples}
spec:
  runTemplateRef: {name: relay}
  selector:
    resource: {apiVersion: carto.run/v1alpha1, kind: Runnable}
    matchingLabels: {example.com/link: first}
";
    fs::write(folder.path().join("relay.yaml"), relay).unwrap();
    let labels = "metadata:\n  labels: {example.com/link: first}\n";
    edit(&folder, "runnable.yaml", "metadata:\n", labels);
    folder
}

#[test]
fn a_runnable_among_the_files_is_picked_by_the_selector_of_another() {
    let good = cartouche_in(selecting("pods").path(), &["validate", ".", "--notes"]);
    assert_eq!(good.code, 0, "{}", good.out);
    assert!(
        good.out
            .contains("it reads the status of Runnable hello, which only a cluster knows"),
        "{}",
        good.out
    );
}

#[test]
fn an_output_that_the_selected_runnable_will_never_have_is_an_error() {
    let output = cartouche_in(selecting("pod").path(), &["validate", "."]);
    assert_eq!(output.code, 1, "{}", output.out);
    assert!(
        output.out.contains("reads the output 'pod'")
            && output.out.contains("did you mean 'pods'?"),
        "{}",
        output.out
    );
}

/// Follows the help of the first finding for a path, and returns the recommended path.
fn follow(folder: &std::path::Path, written: &str) -> String {
    let template = folder.join("template.yaml");
    let output = cartouche_in(folder, &["validate", "."]);
    assert_eq!(output.code, 1, "{}", output.out);
    let help = output
        .out
        .lines()
        .find_map(|line| line.split_once("= help: "));
    let (_, meant) = help.unwrap().1.rsplit_once("\\.: ").unwrap();
    replace(&template, written, meant);
    let output = cartouche_in(folder, &["validate", "."]);
    assert_eq!(output.code, 0, "{}", output.out);
    meant.to_owned()
}

const COMMAND: &str = r#"command: [echo, "Hello, $(runnable.spec.inputs.name)$!"]"#;

/// The same with another path, without quotes around it.
fn command(path: &str) -> String {
    format!("command:\n                - echo\n                - Hello, $({path})$!")
}

#[test]
fn whoever_follows_the_hint_about_dots_gets_the_value() {
    for written in [
        "runnable.metadata.labels['app.kubernetes.io/name']",
        "runnable.metadata.labels.app.kubernetes.io/name",
    ] {
        let folder = copy_of("job");
        let template = folder.path().join("template.yaml");
        replace(&template, COMMAND, &command(written));
        edit(
            &folder,
            "runnable.yaml",
            "metadata:\n",
            "metadata:\n  labels: { app.kubernetes.io/name: shop }\n",
        );
        assert_eq!(
            follow(folder.path(), written),
            r"runnable.metadata.labels.app\.kubernetes\.io/name"
        );
        let rendered = cartouche_in(folder.path(), &["render", "."]).out;
        assert!(rendered.contains("Hello, shop"), "{rendered}");
    }
}

#[test]
fn the_hint_about_dots_holds_for_inputs_and_outputs_too() {
    let folder = copy_of("job");
    let template = folder.path().join("template.yaml");
    edit(&folder, "runnable.yaml", "name: world", "full.name: world");
    let written = command("runnable.spec.inputs['full.name']");
    replace(&template, COMMAND, &written);
    assert_eq!(
        follow(folder.path(), "runnable.spec.inputs['full.name']"),
        r"runnable.spec.inputs.full\.name"
    );
    let rendered = cartouche_in(folder.path(), &["render", "."]).out;
    assert!(rendered.contains("Hello, world"), "{rendered}");
    replace(
        &template,
        ".status.succeeded",
        ".metadata.labels['batch.kubernetes.io/job-name']",
    );
    let meant = follow(
        folder.path(),
        ".metadata.labels['batch.kubernetes.io/job-name']",
    );
    assert_eq!(meant, r".metadata.labels.batch\.kubernetes\.io/job-name");
}

#[test]
fn an_escaped_dot_in_double_quotes_is_told_how_yaml_wants_it() {
    let folder = copy_of("job");
    let template = folder.path().join("template.yaml");
    replace(&template, "inputs.name", "inputs.full\\.name");
    let output = cartouche_in(folder.path(), &["validate", "."]);
    assert_eq!(output.code, 1);
    let help = "in double quotes a backslash is written twice";
    assert!(output.out.contains(help), "{}", output.out);
    replace(&template, "full\\.name", "full\\\\.name");
    edit(&folder, "runnable.yaml", "name: world", "full.name: world");
    let output = cartouche_in(folder.path(), &["validate", "."]);
    assert_eq!(output.code, 0, "{}", output.out);
}

/// A template and its Runnable with a mistake of every kind, none of which follows from another.
const TEMPLATE: &str = r#"apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata:
  name: broken
spec:
  inputSchema:
    type: object
    required: [name]
    additionalProperties: false
    properties:
      name: { type: string }
      label: { type: string, default: fine }
      retries: { type: integer, default: one }
      seconds: { type: integer }
  template:
    apiVersion: batch/v1
    kind: Job
    metadata:
      generateName: $(runnable.metadata.name)$-
      labels:
        own: $(runnable.spec.inputs.label)$
        selected: $(selected.metadata.name)$
    spec:
      backoffLimit: $(runnable.metadata.name)$
      paralelism: 1
      activeDeadlineSeconds: $(runnable.spec.inputs.seconds)$
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: one
              image: $(runnable.spec.inputs.image)$
              command: [echo, "$(runnable.spec.inputs.name[)$ $(runnable.metadata.labels.app)$"]
  outputs:
    broken: .status[
    misspelt: .status.suceeded
    number: 3
  healthRule:
    singleConditionType: Complete
    alwaysHealthy: {}
"#;
const RUNNABLE: &str = r#"apiVersion: carto.run/v1alpha1
kind: Runnable
metadata:
  name: hello
  namespace: demo
spec:
  runTemplateRef: { name: broken }
  retentionPolicy: { maxFailedRuns: many }
  inputs:
    name: world
    label: "not a label!"
    seconds: soon
    colour: red
"#;

#[test]
fn every_mistake_of_two_files_is_told_in_one_run() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("template.yaml"), TEMPLATE).unwrap();
    std::fs::write(folder.path().join("runnable.yaml"), RUNNABLE).unwrap();
    let output = cartouche_in(folder.path(), &["validate", "."]);
    assert_eq!(output.code, 1);
    insta::assert_snapshot!(output.out + &output.err);
}

/// The controller refuses what the engine refuses, and no more: other kinds of the group are Cartographer's.
#[test]
fn a_kind_that_cannot_be_run_is_refused_offline_where_the_engine_refuses_it() {
    for (api_version, kind, refused) in [
        ("carto.run/v1alpha1", "Runnable", true),
        ("carto.run/v1", "Runnable", true),
        ("carto.run/v1alpha1", "ClusterRunTemplate", true),
        ("carto.run/v1alpha1", "Workload", false),
        ("example.com/v1", "Runnable", false),
    ] {
        let folder = copy_of("job");
        edit(
            &folder,
            "template.yaml",
            "apiVersion: batch/v1\n    kind: Job",
            &format!("apiVersion: {api_version}\n    kind: {kind}"),
        );
        let validated = cartouche_in(folder.path(), &["validate", ".", "--notes"]).out;
        let rendered = cartouche_in(folder.path(), &["render", "."]).err;
        let message = format!("a run cannot be a {kind} of carto.run");
        assert_eq!(validated.contains(&message), refused, "{validated}");
        assert_eq!(rendered.contains(&message), refused, "{rendered}");
        let note = format!("the fields of {api_version} {kind} were not checked");
        assert_eq!(validated.contains(&note), !refused, "{validated}");
    }
}

/// A kind that is written as quoted text is that kind.
#[test]
fn the_kind_of_a_template_is_what_the_engine_takes_it_for() {
    let folder = copy_of("job");
    let template = folder.path().join("template.yaml");
    replace(&template, "batch/v1", "$('batch/v1')$");
    let output = cartouche_in(folder.path(), &["validate", "."]);
    assert_eq!((output.code, output.out.as_str()), (0, ""));
    replace(&template, "backoffLimit", "backofLimit");
    let out = cartouche_in(folder.path(), &["validate", "."]).out;
    assert!(out.contains("did you mean 'backoffLimit'?"), "{out}");
}

/// The wrong type of a tag is reported only if it is known; an unreadable path is one mistake.
#[test]
fn a_path_that_is_followed_only_in_part_has_no_type() {
    for (path, errors) in [
        ("runnable.metadata.labels['team','squad']", 0),
        ("runnable.metadata.labels.*", 0),
        ("runnable.metadata.labels..team", 0),
        ("runnable.metadata.labels", 1),
        ("runnable.metadata.labels[", 1),
        ("runnable.metadata.labels.team['.x']", 1),
    ] {
        let folder = copy_of("job");
        edit(
            &folder,
            "template.yaml",
            COMMAND,
            &format!("command:\n                - $({path})$"),
        );
        edit(
            &folder,
            "runnable.yaml",
            "metadata:\n",
            "metadata:\n  labels: { team: x }\n",
        );
        let output = cartouche_in(folder.path(), &["validate", "."]);
        let found = output.out.matches("error[").count();
        assert_eq!(found, errors, "{path}: {}", output.out);
    }
}

#[test]
fn the_hint_about_dots_is_given_only_where_they_are_what_is_wrong() {
    for (path, hint) in [
        ("runnable.spec.inputs.meta.metadata.labels.a.b", None),
        (r#"runnable.spec.inputs["a.b"]"#, Some(r".a\.b")),
        ("runnable.metadata.lables['a.b']", None),
        ("runnable.metadata.labels['a.b']", Some(r"labels.a\.b")),
    ] {
        let folder = copy_of("job");
        let template = folder.path().join("template.yaml");
        replace(&template, COMMAND, &command(path));
        let out = cartouche_in(folder.path(), &["validate", "."]).out;
        assert!(out.contains("= help: "), "{out}");
        assert!(!out.contains(r"\.") || hint.is_some(), "{out}");
        assert!(hint.is_none_or(|hint| out.contains(hint)), "{out}");
    }
}

/// A check that checks nothing must not be green because a path is wrong.
#[test]
fn nothing_to_check_is_an_error_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n";
    std::fs::write(folder.path().join("other.yaml"), other).unwrap();
    for path in ["empty", "other.yaml", "."] {
        let output = cartouche_in(folder.path(), &["validate", path]);
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{path}");
        let message = format!(
            "error: there is no ClusterRunTemplate, no Runnable and no ClusterRunProfile in {path}\n"
        );
        assert!(output.err.starts_with(&message), "{}", output.err);
        assert!(output.err.contains("\nhint: name files"), "{}", output.err);
    }
    // No terminal and no file: there is nothing to read.
    let output = cartouche_in(folder.path(), &["validate", "-"]);
    assert_eq!(output.code, 2);
    assert!(
        output.err.contains(" in standard input\n"),
        "{}",
        output.err
    );
    for (format, said) in [
        ("json", "/findings/0/message"),
        ("sarif", "/runs/0/results/0/message/text"),
    ] {
        let output = cartouche_in(folder.path(), &["validate", "empty", "-o", format]);
        assert_eq!(output.code, 2, "{format}");
        assert!(output.err.starts_with("error: "), "{}", output.err);
        let document: serde_json::Value = serde_json::from_str(&output.out).unwrap();
        let said = document.pointer(said).unwrap().as_str().unwrap();
        assert!(said.starts_with("there is no ClusterRunTemplate"), "{said}");
    }
    let output = cartouche_in(folder.path(), &["validate", "empty", "-o", "github"]);
    assert_eq!(output.code, 2);
    let annotation = "::error title=cartouche unchecked::there is no ClusterRunTemplate";
    assert!(output.out.starts_with(annotation), "{}", output.out);
}

#[test]
fn a_misspelt_kind_is_said_where_nothing_else_is_to_be_checked() {
    let folder = tempfile::tempdir().unwrap();
    let misspelt = "apiVersion: carto.run/v1alpha1\nkind: Runable\nmetadata: {name: x}\n";
    std::fs::write(folder.path().join("hello.yaml"), misspelt).unwrap();
    let output = cartouche_in(folder.path(), &["validate", "."]);
    assert_eq!(output.code, 2);
    let hint = "hint: hello.yaml holds a Runable: did you mean 'Runnable'?\n";
    assert!(output.err.ends_with(hint), "{}", output.err);
}
