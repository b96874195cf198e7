//! Warnings of a template.

use super::*;

#[test]
fn texts_that_look_like_tags_are_warned_of() {
    let template = template(json!({
        "a": ["$(runnable.metadata.name)"],
        "$(runnable.metadata.name)$": "x",
        "b": "$(params.x) $(runnable.metadata.name)$",
        "c": "$(params.x)$(params.y)",
    }));
    assert_eq!(
        told(&compile(template).unwrap()),
        [
            "data['$(runnable.metadata.name)$']: tags in keys stay as they are",
            "data.a[0]: a tag is not closed and stays as it is: tags end with )$",
            "data.c: $(params.x)$ is not read as a tag and stays as it is; if it is text, write $('$')$( instead of its $(",
        ]
    );
}

#[test]
fn a_tag_in_the_key_of_a_label_or_an_annotation_is_an_error() {
    for field in ["labels", "annotations"] {
        let mut template = template(json!({}));
        template["metadata"][field] = json!({ "a/$(runnable.metadata.name)$": "x", "b": "c" });
        let problems = compile(template).unwrap_err();
        let [problem] = problems.iter().collect::<Vec<_>>()[..] else {
            panic!("{problems}");
        };
        let said = problem.to_string();
        assert!(
            said.contains("cannot hold a tag: write the key as it is"),
            "{said}"
        );
    }
    // Labels that are not texts are removed as a whole.
    let mut template = template(json!({}));
    template["metadata"]["labels"] = json!({ "$(runnable.metadata.name)$": 1 });
    compile(template).unwrap();
}

#[test]
fn tags_of_other_tools_are_warned_of_and_placeholders_of_engines_are_not() {
    let template = template(json!({
        "a": "${runnable.spec.inputs.x}",
        "b": "{{ .Values.x }}",
        "c": "{{runnable.spec.inputs.x}}",
        "d": "{{inputs.parameters.x}} ${HOME} {{workflow.name}} $(params.x)",
    }));
    let warning = |field: &str| {
        format!(
            "data.{field}: this is another tool's syntax and is not replaced; Cartouche tags look like $(path)$: write $(runnable.spec.inputs.x)$, or the path to what else is meant"
        )
    };
    assert_eq!(
        told(&compile(template).unwrap()),
        ["a", "b", "c"].map(warning)
    );
}

#[test]
fn the_search_for_tags_of_other_tools_takes_no_longer_where_there_are_very_many() {
    // Each would be read to the end of the text, in quadratic time: hours.
    let text = format!("{})", "$(".repeat(100_000));
    assert_eq!(
        told(&compile(template(json!({ "a": text }))).unwrap()),
        [""; 0]
    );
}
