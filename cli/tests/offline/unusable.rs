//! Files that are no objects yet, or have no name: one error at its place in every command, and nothing that only
//! follows from it.

use crate::support::{Output, cartouche_in, copy_of, edit};

const TEMPLATE: &str = "apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: {name: greet}
spec:
  template:
    apiVersion: batch/v1
    kind: Job
    metadata: {generateName: $(runnable.metadata.name)$-}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: busybox}]}}}
";

const RUNNABLE: &str = "apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: {name: hello, namespace: team}
spec: {runTemplateRef: {name: greet}, serviceAccountName: runner}
";

/// Runs a command on a template and a Runnable in files of their own.
fn run(command: &[&str], template: &str, runnable: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("template.yaml"), template).unwrap();
    std::fs::write(folder.path().join("runnable.yaml"), runnable).unwrap();
    cartouche_in(folder.path(), command)
}

/// Runs `validate`, which finds one error and nothing else, and returns the output.
fn only_error(template: &str, runnable: &str) -> String {
    let output = run(&["validate", "."], template, runnable);
    assert_eq!(output.code, 1, "{}", output.out);
    assert!(
        output.err.ends_with(": 1 error\n"),
        "{}{}",
        output.out,
        output.err
    );
    output.out
}

fn is_said(text: &str, sentences: &[&str]) {
    for sentence in sentences {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
}

#[test]
fn a_name_that_is_missing_null_empty_or_of_another_type_is_one_error_at_its_place() {
    for (metadata, said, place) in [
        ("{namespace: team}", "metadata.name is missing", "3:1"),
        ("", "metadata.name is missing", "3:1"),
        ("{name: , namespace: team}", "metadata.name is null", "3:12"),
        ("{name: ''}", "metadata.name is empty", "3:12"),
        ("{name: 12}", "has to be a string, and is 12", "3:12"),
        ("{name: [a]}", "has to be a string, and is a list", "3:12"),
    ] {
        let of = |text: &str, old: &str| text.replace(old, metadata);
        let runnable = of(RUNNABLE, "{name: hello, namespace: team}");
        let text = only_error(TEMPLATE, &runnable);
        is_said(&text, &[said, &format!("runnable.yaml:{place}")]);
        let text = only_error(&of(TEMPLATE, "{name: greet}"), RUNNABLE);
        is_said(&text, &[said, &format!("template.yaml:{place}")]);
    }
    let profile =
        "apiVersion: carto.run/v1alpha1\nkind: ClusterRunProfile\nspec: {rules: [{}]}\n---\n";
    let text = only_error(TEMPLATE, &format!("{profile}{RUNNABLE}"));
    is_said(&text, &["metadata.name is missing", "runnable.yaml:2:1"]);
}

#[test]
fn a_runnable_without_a_name_is_rendered_and_drawn_by_no_command() {
    let nameless = RUNNABLE.replace("name: hello, ", "");
    for command in [
        &["render", "."][..],
        &["graph", "-f", "."],
        &["rbac", "-f", "."],
    ] {
        let output = run(command, TEMPLATE, &nameless);
        assert_ne!(output.code, 0, "{command:?}");
        assert_eq!(output.out, "", "{command:?}");
        is_said(
            &output.err,
            &["metadata.name is missing", "runnable.yaml:3:1"],
        );
        assert_eq!(output.err.matches("error[").count(), 1, "{}", output.err);
        assert!(!output.err.contains("\\u001b"), "{}", output.err);
    }
}

#[test]
fn a_runnable_with_only_a_generate_name_is_warned_of_and_checked() {
    let prefixed = RUNNABLE.replace("name: hello", "generateName: hello-");
    let output = run(&["validate", "."], TEMPLATE, &prefixed);
    assert_eq!(output.code, 0, "{}", output.out);
    is_said(
        &output.out,
        &["`kubectl apply` refuses it", "runnable.yaml:3:12"],
    );
    assert!(output.err.ends_with(": 1 warning\n"), "{}", output.err);
}

#[test]
fn a_generate_name_that_is_null_empty_or_a_number_is_one_error_at_its_place() {
    for (name, said) in [
        ("", "the runs have no name"),
        ("''", "the runs have no name"),
        ("12", "put it in quotes: \"12\""),
    ] {
        let template = TEMPLATE.replace("$(runnable.metadata.name)$-", name);
        let text = only_error(&template, RUNNABLE);
        let place = if name == "12" { "8:30" } else { "8:16" };
        is_said(&text, &[said, &format!("template.yaml:{place}")]);
    }
}

#[test]
fn ytt_that_was_not_run_is_one_error_and_nothing_follows_from_it() {
    let ytt = "#@ load(\"@ytt:data\", \"data\")
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata:
  name: #@ data.values.workload.metadata.name
  labels: #@ merge_labels({\"app.kubernetes.io/component\": \"test\"})
spec:
  #@ if/end hasattr(data.values.workload.spec, \"serviceAccountName\"):
  serviceAccountName: #@ data.values.workload.spec.serviceAccountName
  runTemplateRef:
    name: greet
  inputs:
    url: #@ data.values.source.url
";
    let said = "metadata.name is null: `#@ data.values.workload.metadata.name` is ytt, which was not run: give the output of ytt";
    is_said(&only_error(TEMPLATE, ytt), &[said, "runnable.yaml:6:3"]);
    let output = run(&["render", "."], TEMPLATE, ytt);
    is_said(&output.err, &[said]);
    assert_eq!(output.err.matches("error").count(), 1, "{}", output.err);
    // A list, a template that a Runnable refers to, a text, and invalid YAML.
    let list = RUNNABLE.replace("runner}", "runner, inputs: {a: [\n  #@ x\n  ]}}");
    assert_eq!(run(&["validate", "."], TEMPLATE, &list).code, 0);
    let item = RUNNABLE.replace(
        "spec: {runTemplateRef: {name: greet}, serviceAccountName: runner}",
        "spec:\n  runTemplateRef: {name: greet}\n  inputs:\n    a:\n    - #@ data.values.a",
    );
    is_said(
        &only_error(TEMPLATE, &item),
        &["spec.inputs.a[0] is null", "runnable.yaml:8:"],
    );
    let named = TEMPLATE.replace("{name: greet}", "\n  name: #@ data.values.name");
    is_said(&only_error(&named, RUNNABLE), &["template.yaml:4:3"]);
    let text = RUNNABLE.replace("name: hello", "name: \"(@= data.values.name @)-x\"");
    is_said(
        &only_error(TEMPLATE, &text),
        &[
            "metadata.name holds `(@= data.values.name @)`",
            "give the output of ytt",
        ],
    );
    let twice = format!("{RUNNABLE}#@ if data.values.x:\nspec: {{}}\n#@ end\n");
    // The key stands twice, with or without ytt: that it is ytt is a guess.
    is_said(
        &only_error(TEMPLATE, &twice),
        &[
            "duplicate mapping key: spec",
            "perhaps this is a ytt template: give the output of ytt",
            "runnable.yaml:6:1",
        ],
    );
    let unclosed = RUNNABLE.replace("name: hello", "name: a: b} #@ x");
    is_said(
        &only_error(TEMPLATE, &unclosed),
        &["error[manifest]: this is a ytt template: give the output of ytt"],
    );
}

#[test]
fn ytt_that_does_not_stand_behind_a_null_is_none_of_it() {
    let quoted = RUNNABLE.replace(
        "runner}",
        "runner, inputs: {a: [{name: x, value: null, args: [\"tr -d '#@'\"]}]}}",
    );
    let output = run(&["validate", "."], TEMPLATE, &quoted);
    assert_eq!(output.code, 0, "{}", output.out);
    assert!(!output.out.contains("ytt"), "{}", output.out);
    let behind = RUNNABLE.replace("runner}", "runner, inputs: {a: ~}} #@ data.values.a");
    is_said(
        &only_error(TEMPLATE, &behind),
        &[
            "spec.inputs.a is null: `#@ data.values.a` is ytt",
            "runnable.yaml:4:",
        ],
    );
}

#[test]
fn a_mistake_beside_what_only_may_be_of_a_generator_stays_at_its_place() {
    let metadata = "metadata: {name: hello, namespace: team}";
    let colon = RUNNABLE.replace(metadata, "metadata: name: hello");
    is_said(
        &only_error(TEMPLATE, &format!("#@ ours\n{colon}")),
        &[
            "this is not valid YAML: mapping values are not allowed in this context",
            "put the value in quotes if it contains a colon followed by a space; perhaps this is a ytt template",
            "runnable.yaml:4:15",
        ],
    );
    for tag in ["\"\\\"{{ .Name }}\"", "'it''s {{ .Name }}'"] {
        let bracket = RUNNABLE.replace(metadata, &format!("metadata: {{a: [{tag}}}"));
        is_said(
            &only_error(TEMPLATE, &bracket),
            &[
                "this is not valid YAML: did not find expected ',' or ']'",
                "perhaps this is a Helm template: give the output of helm template",
                "runnable.yaml:3:",
            ],
        );
    }
}

#[test]
fn each_other_expression_of_a_file_is_told_and_the_same_one_once() {
    let named = |name: &str| RUNNABLE.replace("hello", name);
    let all = ["'{{ .A }}'", "'{{ .A }}'", "'${B}'"].map(named);
    let output = run(&["validate", "."], TEMPLATE, &all.join("---\n"));
    is_said(&output.out, &["holds `{{ .A }}`", "holds `${B}`"]);
    assert_eq!(output.out.matches("error[").count(), 2, "{}", output.out);
}

#[test]
fn a_comment_that_looks_like_ytt_is_a_comment() {
    let runnable = format!("#@ load(\"@ytt:data\", \"data\")\n---\n{RUNNABLE}");
    let output = run(&["validate", "."], TEMPLATE, &runnable);
    assert_eq!(output.code, 0, "{}", output.out);
}

#[test]
fn a_helm_template_is_one_error_with_or_without_its_chart() {
    let whole = "{{- if .Values.enabled }}
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata:
  name: {{ .Release.Name }}-migrate
spec:
  runTemplateRef:
    name: {{ .Values.template }}
  inputs:
    tag: {{ .Values.image.tag | quote }}
{{- end }}
";
    let said = "this is a Helm template: give the output of helm template";
    is_said(&only_error(TEMPLATE, whole), &[said, "runnable.yaml:1:1"]);
    let without_dash = format!("{{{{ if .Values.x }}}}\n{RUNNABLE}{{{{ end }}}}\n");
    let text = only_error(TEMPLATE, &without_dash);
    is_said(&text, &[said, "runnable.yaml:1:1"]);
    let output = run(&["render", "."], TEMPLATE, whole);
    is_said(&output.err, &[said]);
    assert_eq!(output.err.matches("error").count(), 1, "{}", output.err);
    for (line, place) in [
        ("metadata:\n  name: {{ .Release.Name }}-migrate", "4:9"),
        ("metadata:\n  name: {{ .Values.name }}", "4:9"),
        ("metadata:\n  name: {{ include \"x.name\" . }}", "4:9"),
        (
            "metadata:\n  name: hello\n  labels:\n    {{- include \"x.labels\" . | nindent 4 }}",
            "6:5",
        ),
        ("metadata:\n  name: hello\n{{ if .Values.x }}", "5:1"),
        ("{{/* a */}}\nmetadata: {name: hello}", "3:1"),
    ] {
        let runnable = RUNNABLE.replace("metadata: {name: hello, namespace: team}", line);
        is_said(
            &only_error(TEMPLATE, &runnable),
            &[said, &format!("runnable.yaml:{place}")],
        );
        // The template cannot be read: its absence is no second error.
        let template = TEMPLATE.replace("metadata: {name: greet}", line);
        is_said(&only_error(&template, RUNNABLE), &[said]);
    }
    for command in [
        &["graph", "-f", "."][..],
        &["rbac", "-f", "."],
        &["explain", "-f", "."],
    ] {
        is_said(&run(command, TEMPLATE, whole).err, &[said]);
    }
    let folder = tempfile::tempdir().unwrap();
    let templates = folder.path().join("templates");
    std::fs::create_dir(&templates).unwrap();
    std::fs::write(templates.join("runnable.yaml"), whole).unwrap();
    let chart = "apiVersion: v2\nname: shop\nversion: 0.1.0\n";
    std::fs::write(folder.path().join("Chart.yaml"), chart).unwrap();
    std::fs::write(folder.path().join("values.yaml"), "enabled: true\n").unwrap();
    let output = cartouche_in(folder.path(), &["validate", "."]);
    let text = format!("{}{}", output.out, output.err);
    is_said(&text, &[said, "templates/runnable.yaml:1:1"]);
    assert_eq!(text.matches("error").count(), 2, "{text}");
    assert!(!text.contains("Chart.yaml"), "{text}");
}

#[test]
fn a_name_in_quotes_that_helm_or_envsubst_was_to_fill_in_is_one_error() {
    for (name, said) in [
        (
            "\"{{ .Release.Name }}-a\"",
            "metadata.name holds `{{ .Release.Name }}`, as a Helm template does: give the output of helm template",
        ),
        (
            "\"{{name}}\"",
            "metadata.name holds `{{name}}`, which another tool was to fill in",
        ),
        (
            "\"${APP}-a\"",
            "metadata.name holds `${APP}`, which was not filled in: give the output of envsubst",
        ),
        ("\"${APP:=shop}\"", "metadata.name holds `${APP:=shop}`"),
    ] {
        let text = only_error(TEMPLATE, &RUNNABLE.replace("hello", name));
        is_said(&text, &[said, "runnable.yaml:3:18"]);
    }
    let text = only_error(
        TEMPLATE,
        &RUNNABLE.replace("{name: greet}", "{name: \"${T}\"}"),
    );
    is_said(&text, &["spec.runTemplateRef.name holds `${T}`"]);
    let text = only_error(
        &TEMPLATE.replace("$(runnable.metadata.name)$-", "\"${APP}-\""),
        RUNNABLE,
    );
    is_said(
        &text,
        &[
            "spec.template.metadata.generateName holds `${APP}`",
            "template.yaml:8:30",
        ],
    );
}

#[test]
fn text_of_other_tools_where_it_may_stand_is_left_alone() {
    let inputs = RUNNABLE.replace(
        "runner}",
        "runner, inputs: {a: \"${HOME}\", b: \"{{ .Values.x }}\", c: \"(@= x @)\"}}",
    );
    let output = run(&["validate", "."], TEMPLATE, &inputs);
    assert_eq!(output.code, 0, "{}", output.out);
}

#[test]
fn text_in_braces_that_yaml_does_not_read_is_to_be_put_in_quotes() {
    let text = only_error(TEMPLATE, &RUNNABLE.replace("name: hello", "name: ${APP}"));
    is_said(
        &text,
        &[
            "this is not valid YAML",
            "put it in quotes; if envsubst fills in `${APP}`, give its output",
        ],
    );
    let argo = RUNNABLE.replace("runner}", "runner, inputs: {a: {{workflow.name}}}}");
    let text = only_error(TEMPLATE, &argo);
    is_said(
        &text,
        &[
            "this is not valid YAML",
            "put the text with {{ }} in quotes",
        ],
    );
}

#[test]
fn a_test_of_what_a_generator_was_to_read_says_that() {
    for (name, said) in [
        (" {{ .Values.name }}", "this is a Helm template"),
        (
            " #@ data.values.name",
            "metadata.name is null: `#@ data.values.name` is ytt",
        ),
        ("", "metadata.name is null"),
    ] {
        let folder = copy_of("job");
        edit(
            &folder,
            "runnable.yaml",
            "name: hello",
            &format!("name:{name}"),
        );
        let output = cartouche_in(folder.path(), &["test"]);
        assert_ne!(output.code, 0, "{}", output.out);
        let all = format!("{}{}", output.out, output.err);
        is_said(&all, &[said]);
    }
}
