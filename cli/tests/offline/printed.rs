//! Output of the commands that need no cluster.

use std::{fs, io::Write as _, path::Path, process::Stdio};

use crate::support::{
    self, Output, cartouche, cartouche_in, command, copy_of, edit, finish, replace, repository,
};

#[test]
fn a_run_is_shown_with_owner_labels_hash_and_a_placeholder_for_the_uid() {
    let output = cartouche(&["render", "examples/job"]);
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    insta::assert_snapshot!(output.out);
}

#[test]
fn every_value_is_traced_to_the_line_that_gave_it() {
    let output = cartouche(&["render", "examples/selector", "--explain"]);
    let comments = output.out.split_once("# where").unwrap().1.to_owned();
    insta::assert_snapshot!(comments);
}

#[test]
fn json_of_several_runs_is_a_list_that_kubectl_takes() {
    let output = cartouche(&["render", "examples/two-steps", "-o", "json"]);
    let list: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(list["kind"], "List");
    let names: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["kind"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["Pod", "Job"]);
}

#[test]
fn a_token_that_the_controller_shortens_is_shown_shortened() {
    let folder = copy_of("job");
    let token = "a".repeat(2_000);
    let annotations = format!("metadata:\n  annotations: {{ carto.run/rerun-token: {token} }}\n");
    let runnable = folder.path().join("runnable.yaml");
    replace(&runnable, "metadata:\n", &annotations);
    let out = cartouche_in(folder.path(), &["render", "."]).out;
    assert!(out.contains("carto.run/rerun-token: sha256:"), "{out}");
    assert!(!out.contains(&token), "{out}");
}

#[test]
fn a_runnable_may_come_from_standard_input() {
    let runnable = fs::read(repository().join("examples/job/runnable.yaml")).unwrap();
    let mut command = command(
        &repository(),
        &["render", "-t", "examples/job/template.yaml", "-r", "-"],
    );
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&runnable).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        cartouche(&["render", "examples/job"]).out
    );
}

#[test]
fn an_object_that_the_selector_does_not_pick_is_named_with_the_reason() {
    let folder = copy_of("selector");
    edit(&folder, "release-record.yaml", "app: shop", "app: bakery");
    let arguments = [
        "render",
        "-t",
        "template.yaml",
        "-r",
        "runnable.yaml",
        "--selected",
        "release-record.yaml",
    ];
    let output = cartouche_in(folder.path(), &arguments);
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    insta::assert_snapshot!(output.err);
}

#[test]
fn two_writings_of_one_number_have_one_hash() {
    let folder = copy_of("inputs");
    let hash = |folder: &Path| {
        let out = cartouche_in(folder, &["render", "."]).out;
        out.lines()
            .find(|line| line.starts_with("# input hash"))
            .unwrap()
            .to_owned()
    };
    let before = hash(folder.path());
    edit(&folder, "runnable.yaml", "workers: 3", "workers: 3.0");
    assert_eq!(hash(folder.path()), before);
    edit(&folder, "runnable.yaml", "workers: 3.0", "workers: 4");
    assert_ne!(hash(folder.path()), before);
}

#[test]
fn a_hash_that_depends_on_the_uid_is_marked_as_such() {
    let folder = copy_of("job");
    edit(
        &folder,
        "template.yaml",
        "Hello, ",
        "$(runnable.metadata.uid)$ ",
    );
    let output = cartouche_in(folder.path(), &["render", "."]);
    assert!(
        output.out.contains("on a cluster the hash is another"),
        "{}",
        output.out
    );
    let reads = "the template reads runnable.metadata.uid";
    assert!(output.out.contains(reads), "{}", output.out);
    // The context of a runner has the uid, too.
    let folder = copy_of("job");
    edit(
        &folder,
        "template.yaml",
        "  template:\n    apiVersion",
        "  runner: {context: true}\n  template:\n    apiVersion",
    );
    let output = cartouche_in(folder.path(), &["render", "."]);
    let reads = "the template reads the uid of the Runnable, in runner.context";
    assert!(output.out.contains(reads), "{}", output.out);
}

#[test]
fn every_example_is_valid() {
    let output = cartouche(&["validate", "examples", "--deny-warnings", "--notes"]);
    assert_eq!(output.code, 0, "{}", output.out);
    assert!(output.err.contains(": no errors ("), "{}", output.err);
    // The command reports what it does not check: kinds without a known schema.
    assert!(
        output
            .out
            .contains("tekton.dev/v1 TaskRun were not checked"),
        "{}",
        output.out
    );
}

#[test]
fn a_definition_beside_the_template_is_used_to_check_it() {
    let folder = copy_of("health-rule");
    edit(&folder, "template.yaml", "database: $(", "databse: $(");
    edit(
        &folder,
        "template.yaml",
        ".status.location",
        ".status.loction",
    );
    let output = cartouche_in(folder.path(), &["validate", "."]);
    insta::assert_snapshot!(output.out);
    fs::create_dir(folder.path().join("schemas")).unwrap();
    fs::rename(
        folder.path().join("crd.yaml"),
        folder.path().join("schemas/crd.yaml"),
    )
    .unwrap();
    let given = cartouche_in(
        folder.path(),
        &[
            "validate",
            "template.yaml",
            "runnable.yaml",
            "--schemas",
            "schemas",
        ],
    );
    assert_eq!(given.code, 1);
    assert!(
        given.out.contains("did you mean 'database'?"),
        "{}",
        given.out
    );
}

#[test]
fn schemas_may_be_open_api_of_a_cluster() {
    let folder = copy_of("health-rule");
    fs::remove_file(folder.path().join("crd.yaml")).unwrap();
    fs::create_dir(folder.path().join("schemas")).unwrap();
    let document = serde_json::json!({ "openapi": "3.0.0", "components": { "schemas": {
        "com.example.v1.Spec": { "type": "object", "properties": { "db": { "type": "string" } } },
        "com.example.v1.Backup": {
            "type": "object",
            "properties": {
                "apiVersion": { "type": "string" }, "kind": { "type": "string" },
                "metadata": { "type": "object" },
                "spec": { "allOf": [{ "$ref": "#/components/schemas/com.example.v1.Spec" }] },
            },
            "x-kubernetes-group-version-kind": [{ "group": "example.com", "version": "v1", "kind": "Backup" }],
        },
    } } });
    fs::write(folder.path().join("schemas/api.json"), document.to_string()).unwrap();
    let output = cartouche_in(
        folder.path(),
        &["validate", "template.yaml", "--schemas", "schemas"],
    );
    assert!(
        output.out.contains("unknown field 'database' in spec"),
        "{}",
        output.out
    );
}

#[test]
fn findings_are_written_for_machines_too() {
    let folder = repository().join("cli/tests/broken");
    for format in ["json", "sarif", "github"] {
        let output = cartouche_in(
            &folder,
            &[
                "validate",
                "misspelt-input.yaml",
                "fixed-name.yaml",
                "--output",
                format,
            ],
        );
        assert_eq!((output.code, output.err.as_str()), (1, ""));
        let shown = match format {
            // The list of rules is long and says nothing about findings.
            "sarif" => {
                let mut sarif: serde_json::Value = serde_json::from_str(&output.out).unwrap();
                assert_eq!(
                    sarif["runs"][0]["tool"]["driver"]["rules"]
                        .as_array()
                        .unwrap()
                        .len(),
                    19
                );
                sarif["runs"][0]["tool"] = "removed".into();
                format!("{sarif:#}")
            }
            _ => output.out,
        };
        insta::assert_snapshot!(format!("findings-as-{format}"), shown);
    }
}

#[test]
fn warnings_fail_only_when_they_are_denied() {
    let folder = repository().join("cli/tests/broken");
    assert_eq!(
        cartouche_in(&folder, &["validate", "fixed-name.yaml"]).code,
        0
    );
    assert_eq!(
        cartouche_in(&folder, &["validate", "fixed-name.yaml", "--deny-warnings"]).code,
        1
    );
}

#[test]
fn there_is_no_colour_off_a_terminal_unless_it_is_asked_for() {
    let folder = repository().join("cli/tests/broken");
    let has_colour = |output: &Output| output.out.contains('\u{1b}');
    assert!(!has_colour(&cartouche_in(
        &folder,
        &["validate", "no-name.yaml"]
    )));
    assert!(has_colour(&cartouche_in(
        &folder,
        &["validate", "no-name.yaml", "--color", "always"]
    )));
    let mut silent = command(&folder, &["validate", "no-name.yaml"]);
    assert!(!has_colour(&finish(
        silent.env("NO_COLOR", "1").env("CLICOLOR_FORCE", "0")
    )));
}

#[test]
fn help_shows_examples_for_every_command() {
    let help = cartouche(&["--help"]).out;
    let commands = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    let mut seen = 0;
    // A long line is wrapped, and the rest is indented further.
    let first_lines = commands
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '));
    for name in first_lines.filter_map(|line| line.split_whitespace().next()) {
        let arguments = match name {
            "help" => continue,
            "migrate" => vec!["migrate", "check", "--help"],
            "profile" => vec!["profile", "refresh", "--help"],
            name => vec![name, "--help"],
        };
        let text = cartouche(&arguments).out;
        assert!(text.contains("Examples:\n  cartouche"), "{name}: {text}");
        seen += 1;
    }
    assert!(seen > 10, "{help}");
}

#[test]
fn as_a_plugin_of_kubectl_it_calls_itself_so() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("kubectl-cartouche");
    // A copy could still be open for writing in a process that another test starts.
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cartouche"), &plugin).unwrap();
    let output = std::process::Command::new(&plugin)
        .args(["render", "--help"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Usage: kubectl cartouche render"), "{text}");
}

#[test]
fn man_pages_know_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let pages = cartouche_in(folder.path(), &["man", "pages"]);
    assert_eq!(pages.code, 0, "{}", pages.err);
    for name in ["render", "validate", "test", "why", "rerun", "rbac", "init"] {
        let page = folder.path().join(format!("pages/cartouche-{name}.1"));
        assert!(page.is_file(), "{name}");
    }
}

#[test]
fn without_a_cluster_it_says_what_is_missing() {
    let output = cartouche(&["get"]);
    assert_eq!(output.code, 2);
    assert!(
        output.err.contains("hint: set KUBECONFIG"),
        "{}",
        output.err
    );
}

#[test]
fn a_kubeconfig_that_is_not_there_is_named_once() {
    let told = "error: no cluster is configured: the kubeconfig /no/such cannot be read: \
        No such file or directory (os error 2)\n\
        hint: set KUBECONFIG, or use --kubeconfig and --context\n";
    let named = cartouche(&["get", "--kubeconfig", "/no/such"]);
    assert_eq!((named.code, named.err.as_str()), (2, told));
    let mut command = support::command(&support::repository(), &["get"]);
    let set = support::finish(command.env("KUBECONFIG", "/no/such"));
    assert_eq!((set.code, set.err.as_str()), (2, told));
}

#[test]
fn manifests_of_cartographer_are_looked_through() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("all.yaml"),
        "apiVersion: carto.run/v1alpha1\nkind: ClusterRunTemplate\nmetadata: {name: old}\nspec:\n  template:\n    \
         apiVersion: batch/v1\n    kind: Job\n    metadata: {name: fixed, finalizers: [x]}\n  outputs: {pods: .status.succeeded}\n\
         ---\napiVersion: carto.run/v1alpha1\nkind: Runnable\nmetadata: {name: app}\nspec:\n  runTemplateRef: {name: old}\n  \
         inputs: {a: null}\n---\napiVersion: carto.run/v1alpha1\nkind: Workload\nmetadata: {name: w}\nspec: {}\n",
    )
    .unwrap();
    let output = cartouche_in(folder.path(), &["migrate", "check", "all.yaml"]);
    assert_eq!(output.code, 1, "{}", output.err);
    insta::assert_snapshot!(output.out);
}

#[test]
fn what_a_migration_could_not_look_at_is_unknown_and_not_the_same() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("all.yaml"),
        "apiVersion: carto.run/v1alpha1\nkind: Runnable\nmetadata: {name: app}\nspec:\n  \
         runTemplateRef: {name: elsewhere}\n",
    )
    .unwrap();
    let check = ["migrate", "check", "all.yaml"];
    let output = cartouche_in(folder.path(), &check);
    assert_eq!(output.code, 0, "{}", output.err);
    let text = "its template is not among these files, so it was not checked";
    let said = format!("Runnable app\n  unknown  {text}\n0 to change, 0 that differ, 1 unknown\n");
    assert_eq!(output.out, said);
    let output = cartouche_in(folder.path(), &[check.as_slice(), &["-o", "json"]].concat());
    let entries: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    let remark = serde_json::json!({ "level": "unknown", "text": text });
    assert_eq!(entries[0]["remarks"], serde_json::json!([remark]));
    fs::write(
        folder.path().join("all.yaml"),
        "apiVersion: carto.run/v1alpha1\nkind: ClusterRunTemplate\nmetadata: {name: x}\nspec: {}\n",
    )
    .unwrap();
    let output = cartouche_in(folder.path(), &check);
    assert_eq!(output.code, 1, "{}", output.out);
    assert!(!output.out.contains("works as before"), "{}", output.out);
}
