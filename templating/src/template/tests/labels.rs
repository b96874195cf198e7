//! Labels whose tags yield no text.

use super::*;

fn rendered(labels: Value, inputs: Value) -> Result<Rendered, Diagnostics> {
    let mut template = template(json!({}));
    template["metadata"]["labels"] = labels;
    let runnable =
        json!({ "metadata": { "name": "r", "namespace": "ns" }, "spec": { "inputs": inputs } });
    compile(template)?.render(&Context::new(&runnable, None).unwrap())
}

#[test]
fn a_label_that_a_tag_makes_something_else_than_a_text_is_an_error_and_takes_no_other_with_it() {
    let labels = json!({ "queue": "builds", "build": "$(runnable.spec.inputs.build)$" });
    for (given, named) in [
        (json!(3), "a number"),
        (json!(null), "null"),
        (json!(true), "true or false"),
        (json!({ "a": "b" }), "an object"),
        (json!(["a"]), "a list"),
    ] {
        let problems = rendered(labels.clone(), json!({ "build": given })).unwrap_err();
        let said = problems.to_string();
        let named = format!(
            "metadata.labels.build: the tag $(runnable.spec.inputs.build)$ makes it {named}, and a label is a text"
        );
        assert!(said.starts_with(&named), "{said}");
    }
    let given = rendered(labels, json!({ "build": "3" })).unwrap();
    let labels = &given.document()["metadata"]["labels"];
    assert_eq!(*labels, json!({ "queue": "builds", "build": "3" }));
}

#[test]
fn so_is_an_annotation_and_what_is_wrong_with_both_is_told_at_once() {
    let mut template = template(json!({}));
    let tag = "$(runnable.spec.inputs.n)$";
    template["metadata"]["labels"] =
        json!({ "l": tag, "text": "$('')$$(runnable.spec.inputs.n)$" });
    template["metadata"]["annotations"] = json!({ "a": tag });
    let spec: ClusterRunTemplateSpec =
        serde_json::from_value(json!({ "template": template })).unwrap();
    let context = context(&json!({ "n": 3 }));
    let live = Template::compile(&spec)
        .unwrap()
        .render(&context)
        .unwrap_err();
    let at = |problems: &[Diagnostic]| problems.iter().map(Diagnostic::path).collect::<Vec<_>>();
    assert_eq!(at(&live), ["metadata.annotations.a", "metadata.labels.l"]);
    // The command reports the same for files.
    let offline = Draft::new(&spec).attempt(&context, &[]);
    assert_eq!(offline.problems, live.to_vec());
    assert_eq!(offline.document["metadata"]["labels"]["text"], "3");
    let unknown = Draft::new(&spec).attempt(&context, &["n"]);
    assert_eq!(unknown.problems, []);
}

#[test]
fn labels_that_are_one_tag_may_be_missing_and_are_texts_otherwise() {
    let all = || json!("$(runnable.spec.inputs.labels)$");
    let none = rendered(all(), json!({ "labels": null })).unwrap();
    assert_eq!(none.document()["metadata"].get("labels"), None);
    assert!(rendered(all(), json!({ "labels": { "a": 1 } })).is_err());
    assert!(rendered(all(), json!({ "labels": ["a"] })).is_err());
}

#[test]
fn labels_that_the_template_itself_gives_as_no_texts_are_dropped_as_ever() {
    let labels = json!({ "good": "$(runnable.metadata.name)$", "bad": 3 });
    let dropped = rendered(labels, json!({})).unwrap();
    assert_eq!(dropped.document()["metadata"].get("labels"), None);
}
