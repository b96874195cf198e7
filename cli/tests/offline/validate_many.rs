//! Findings of `cartouche validate` about a template and its Runnables, even very many.

use crate::support::{Output, cartouche_in};

/// Returns the findings about a template and its Runnable.
fn validated(template: &str, runnable: &str) -> String {
    validated_as("text", template, runnable).out
}

fn validated_as(format: &str, template: &str, runnable: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("template.yaml"), template).unwrap();
    std::fs::write(folder.path().join("runnable.yaml"), runnable).unwrap();
    cartouche_in(folder.path(), &["validate", ".", "--output", format])
}

#[test]
fn nothing_follows_from_an_input_that_does_not_fit() {
    let template = r"apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: { name: one }
spec:
  inputSchema:
    type: object
    properties:
      env: { type: string, maxLength: 3 }
      kind: { type: string, maxLength: 3 }
  template:
    apiVersion: carto.run/v1alpha1
    kind: $(runnable.spec.inputs.kind)$
    metadata:
      generateName: x-
      namespace: $(runnable.spec.inputs.env)$
";
    let runnable = r"apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: { name: hello, namespace: demo }
spec:
  runTemplateRef: { name: one }
  inputs: { env: prod, kind: Runnable }
";
    let out = validated(template, runnable);
    assert_eq!(out.matches("error[").count(), 2, "{out}");
    assert_eq!(out.matches("error[input]").count(), 2, "{out}");
    let number = template
        .replace("maxLength: 3", "")
        .replace("namespace: $(runnable.spec.inputs.env)$", "namespace: 3");
    let out = validated(
        &number,
        &runnable.replace("kind: Runnable }", "kind: Workload }"),
    );
    assert!(!out.contains("cannot set metadata.namespace"), "{out}");
}

/// A template of which every tag reads another input, and some Runnables that give none.
fn missing_inputs(tags: usize, runnables: usize) -> (String, String) {
    let mut template = String::from(
        "apiVersion: carto.run/v1alpha1\nkind: ClusterRunTemplate\nmetadata: { name: many }\n\
         spec:\n  template:\n    apiVersion: v1\n    kind: ConfigMap\n    \
         metadata: { generateName: x- }\n    data:\n",
    );
    template.extend((0..tags).map(|i| format!("      k{i}: $(runnable.spec.inputs.i{i})$\n")));
    let runnable = |i| {
        format!(
            "apiVersion: carto.run/v1alpha1\nkind: Runnable\n\
             metadata: {{ name: r{i}, namespace: demo }}\n\
             spec: {{ runTemplateRef: {{ name: many }} }}\n"
        )
    };
    let runnables: Vec<_> = (0..runnables).map(runnable).collect();
    (template, runnables.join("---\n"))
}

#[test]
fn a_hundred_mistakes_of_a_file_are_shown_and_the_others_counted() {
    let (template, runnables) = missing_inputs(60, 2);
    for (format, listed, left_out) in [
        (
            "text",
            "error[value]",
            "and 20 more in template.yaml that are not listed: correct these first\n",
        ),
        ("json", "\"rule\": \"value\"", "\"count\": 20"),
        (
            "sarif",
            "\"ruleId\": \"value\"",
            "\"text\": \"and 20 more in template.yaml",
        ),
        (
            "github",
            "::error title=cartouche value,",
            "::notice title=cartouche,file=template.yaml::and 20 more in template.yaml",
        ),
    ] {
        let output = validated_as(format, &template, &runnables);
        assert_eq!(output.code, 1, "{format}");
        assert_eq!(output.out.matches(listed).count(), 100, "{}", output.out);
        assert!(output.out.contains(left_out), "{}", output.out);
        assert_eq!(output.err.contains("120 errors"), format == "text");
    }
    let (template, runnables) = missing_inputs(50, 2);
    for format in ["text", "json", "sarif", "github"] {
        let out = validated_as(format, &template, &runnables).out;
        for left_out in [" more in ", "leftOut", "invocations", "::notice"] {
            assert!(!out.contains(left_out), "{out}");
        }
    }
}

#[test]
fn a_template_with_too_many_tags_is_tried_with_no_runnable() {
    let (template, runnables) = missing_inputs(1_001, 3);
    let out = validated(&template, &runnables);
    assert_eq!(out.matches("error[").count(), 1, "{out}");
    assert!(out.contains("1001 tags, more than 1000"), "{out}");
}

/// No template may have two megabytes: the command reports that at once, and not after many minutes.
#[test]
fn a_text_with_very_many_tags_is_read_once() {
    let tags = (0..50_000)
        .map(|i| format!("        $(runnable.metadata.labels.l{i})$ $(runnable.metadata.name)$\n"));
    let template = format!(
        "apiVersion: carto.run/v1alpha1\nkind: ClusterRunTemplate\nmetadata: {{ name: many }}\n\
         spec:\n  template:\n    apiVersion: v1\n    kind: ConfigMap\n    \
         metadata: {{ generateName: x- }}\n    data:\n      all: |\n{}",
        tags.collect::<String>()
    );
    assert!(template.len() > 2_000_000);
    let out = validated(&template, "");
    assert!(out.contains("it is larger than 262144 bytes"), "{out}");
}
