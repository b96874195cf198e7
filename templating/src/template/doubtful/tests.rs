use cartouche_crds::ClusterRunTemplateSpec;
use serde_json::json;

use super::*;
use crate::Sourced;

fn template(spec: Value) -> Template {
    let spec: ClusterRunTemplateSpec = serde_json::from_value(spec).unwrap();
    Template::compile(&spec).unwrap()
}

fn stamps(text: impl Into<Value>) -> Value {
    json!({ "template": {
        "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "a-" }, "spec": { "text": text.into() },
    } })
}

fn context(inputs: &Value) -> Context {
    let runnable = json!({
        "metadata": { "name": "a", "namespace": "b" },
        "spec": { "runTemplateRef": { "name": "a" }, "inputs": inputs },
    });
    Context::new(&runnable, None).unwrap()
}

fn doubts(text: impl Into<Value>, inputs: &Value) -> Vec<Doubt> {
    let found = template(stamps(text)).doubtful_values(&context(inputs));
    found.into_iter().map(|it| it.doubt).collect()
}

#[test]
fn a_number_where_a_version_stands_is_doubtful() {
    let inputs = json!({
        "version": 1.1, "imageTag": 2.5, "GO_VERSION": 1.2, "JDKVersion": 1.2, "versions": [3.1],
        "ratio": 0.5, "below": -1.5, "exact": 1.25, "whole": 2, "text": "1.1", "stage": 1.5,
        "percentage": 0.1, "conversionRate": 1.5, "releaseTimeout": 1.5, "branchCoverage": 0.8,
        "release": { "cpu": 0.5 },
    });
    for text in [
        "echo $(runnable.spec.inputs.version)$",
        "echo $(runnable.spec.inputs.imageTag)$",
        "echo $(runnable.spec.inputs.GO_VERSION)$",
        "echo $(runnable.spec.inputs.JDKVersion)$",
        "echo $(runnable.spec.inputs.versions[0])$",
        "registry.example/app:$(runnable.spec.inputs.ratio)$",
        "app@$(runnable.spec.inputs.ratio)$",
        "pip install django==$(runnable.spec.inputs.ratio)$",
        "PYTHON_VERSION=$(runnable.spec.inputs.ratio)$",
    ] {
        assert_eq!(doubts(text, &inputs), [Doubt::Number], "{text}");
    }
    for text in [
        "$(runnable.spec.inputs.version)$",
        "--at-most=$(runnable.spec.inputs.ratio)$",
        "--offset=-$(runnable.spec.inputs.ratio)$",
        r#"{"ratio":$(runnable.spec.inputs.ratio)$}"#,
        "memory:1,cpu:$(runnable.spec.inputs.ratio)$",
        "app:$(runnable.spec.inputs.below)$",
        "a b:$(runnable.spec.inputs.ratio)$",
        "lr-$(runnable.spec.inputs.ratio)$",
        "1/$(runnable.spec.inputs.ratio)$",
        "echo $(runnable.spec.inputs.stage)$",
        "echo $(runnable.spec.inputs.percentage)$",
        "echo $(runnable.spec.inputs.conversionRate)$",
        "echo $(runnable.spec.inputs.releaseTimeout)$",
        "echo $(runnable.spec.inputs.branchCoverage)$",
        "echo $(runnable.spec.inputs.release.cpu)$",
        "app:$(runnable.spec.inputs.exact)$",
        "app:$(runnable.spec.inputs.whole)$",
        "app:$(runnable.spec.inputs.text)$",
    ] {
        assert_eq!(doubts(text, &inputs), [], "{text}");
    }
}

#[test]
fn a_template_that_declares_its_inputs_says_which_are_numbers() {
    let mut spec = stamps("app:$(runnable.spec.inputs.version)$");
    let inputs = json!({ "version": 1.1 });
    assert_eq!(
        template(spec.clone())
            .doubtful_values(&context(&inputs))
            .len(),
        1
    );
    spec["inputSchema"] =
        json!({ "type": "object", "properties": { "version": { "type": "number" } } });
    assert_eq!(template(spec).doubtful_values(&context(&inputs)), []);
}

#[test]
fn a_name_that_no_tool_filled_in_is_doubtful() {
    for (text, expected) in [
        ("${VERSION}", true),
        ("v${version}", true),
        ("${TAG:=1}", true),
        ("${TAG:-1}", true),
        ("{{ .Values.tag }}", true),
        ("{{- .Values.tag | default \"x\" -}}", true),
        ("echo ${HOME}", false),
        ("${HOME}/.cache", false),
        ("registry.example/app:${TAG}", true),
        ("app@${digest}", true),
        ("at noon: ${TAG}", false),
        ("image is x:${TAG}", false),
        ("${A}${B}", false),
        ("${}", false),
        ("${1}", false),
        ("$HOME", false),
        ("{{workflow.name}}", false),
        ("{{.Image}}", false),
        ("{{ .ProjectName }}_{{ .Version }}", false),
        ("{{ .Values.x", false),
        ("${A", false),
        ("é${A}", false),
    ] {
        let expected = if expected {
            &[Doubt::Unfilled][..]
        } else {
            &[]
        };
        for tag in [
            "$(runnable.spec.inputs.a)$",
            "app:$(runnable.spec.inputs.a)$",
        ] {
            assert_eq!(doubts(tag, &json!({ "a": text })), expected, "{text}");
        }
    }
    let long = format!("${{{}}}", "x".repeat(LONGEST));
    assert!(!is_unfilled(&long));
}

#[test]
fn a_name_in_a_list_is_found_if_it_is_not_too_far() {
    let tag = "$(runnable.spec.inputs.command)$";
    let command = |before: usize| {
        let mut command = vec![json!("x"); before];
        command.push(json!("${TAG}"));
        json!({ "command": command })
    };
    assert_eq!(doubts(tag, &command(INSIDE - 1)), [Doubt::Unfilled]);
    assert_eq!(doubts(tag, &command(INSIDE)), []);
    // A whole document may have such names of its own.
    assert_eq!(
        doubts(tag, &json!({ "command": { "uid": "${DS_PROMETHEUS}" } })),
        []
    );
}

#[test]
fn files_of_a_runner_are_looked_at() {
    let mut spec = stamps("x");
    spec["template"] = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "a-" },
        "spec": { "template": { "spec": { "containers": [{ "name": "a", "image": "b" }] } } },
    });
    spec["runner"] = json!({ "args": { "tag": "$(runnable.spec.inputs.tag)$" } });
    let context = context(&json!({ "tag": "${TAG}" }));
    assert_eq!(template(spec).doubtful_values(&context).len(), 1);
}

#[test]
fn a_reference_to_a_secret_inside_a_text_is_doubtful() {
    let texts = json!([
        "$(runnable.spec.inputs.password.name)$ of it",
        "$(runnable.spec.inputs.password)$",
        "p=$(runnable.spec.inputs.password)$ $(runnable.spec.inputs.map)$",
    ]);
    let secret = Sourced {
        value: json!({ "name": "db", "key": "password" }),
        secret: Some("mark".to_owned()),
    };
    let sourced = [("password".to_owned(), secret)].into();
    let context = context(&json!({ "map": { "name": "x", "key": "y" } }));
    let context = context.with_sources(&sourced).unwrap();
    let found = template(stamps(texts)).doubtful_values(&context);
    let expected = DoubtfulValue {
        path: "runnable.spec.inputs.password".to_owned(),
        doubt: Doubt::Reference,
    };
    assert_eq!(found, [expected]);
}

#[test]
fn each_path_is_named_once_and_only_some_are() {
    let names = ["a", "b", "c", "d"];
    let inputs = names.map(|name| (name.to_owned(), json!("${A}")));
    let inputs = Value::Object(inputs.into_iter().collect());
    let tags = names.map(|name| format!("x $(runnable.spec.inputs.{name})$"));
    let texts = [&tags[..1], &tags[..]].concat();
    let found = template(stamps(json!(texts))).doubtful_values(&context(&inputs));
    let paths: Vec<_> = found.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(
        paths,
        ["a", "b", "c"].map(|name| format!("runnable.spec.inputs.{name}"))
    );
}

#[test]
fn the_sentences_name_the_path_and_what_to_do() {
    let found = template(stamps("app:$(runnable.spec.inputs.v)$"))
        .doubtful_values(&context(&json!({ "v": 1.1 })));
    assert_eq!(
        found[0].to_string(),
        "$(runnable.spec.inputs.v)$ is a number where a version belongs, and YAML reads 1.10 as 1.1: write the version in quotes"
    );
    assert_eq!(
        Doubt::Unfilled.to_string(),
        "gives ${...} or {{ ... }} unchanged, since Cartouche fills in no such name: if another tool should have done that, write the value"
    );
    assert!(
        Doubt::Reference
            .to_string()
            .ends_with("valueFrom: {secretKeyRef: $(...)$}, or mount it")
    );
}
