//! Tags with the values of a context.

use cartouche_language::tag::{BadTag, Leaf, RenderRoom, paid};

use super::*;

fn context() -> Context {
    let runnable = json!({
        "metadata": { "name": "rn", "namespace": "ns" },
        "spec": {
            "runTemplateRef": { "name": "t" },
            "inputs": { "nil": null, "large": "x".repeat(MAX_RENDERED_BYTES / 2) },
        },
    });
    Context::new(&runnable, None).unwrap()
}

fn render(text: &str) -> Result<Value, Vec<BadTag>> {
    let mut room = RenderRoom::new();
    let (leaf, errors) = Leaf::compile(text, &|_| Ok(false));
    if !errors.is_empty() {
        return Err(errors);
    }
    let (context, mut work) = (context(), Work::new());
    let replaced = leaf.render(&mut |path| paid(context.find(path, &mut work)?, &mut room));
    replaced.map(|(value, _)| value)
}

#[test]
fn every_bad_tag_of_one_string_is_reported_from_left_to_right() {
    let errors = render("$(run.a)$ $(runnable.metadata.name)$ $(runnable.b[)$").unwrap_err();
    let tags: Vec<_> = errors.iter().map(|error| error.tag.as_str()).collect();
    assert_eq!(tags, ["run.a", "runnable.b["]);
    let errors = render("$(runnable.spec.inputs.nil)$ $(selected.x)$").unwrap_err();
    let tags: Vec<_> = errors.iter().map(|error| error.tag.as_str()).collect();
    assert_eq!(tags, ["runnable.spec.inputs.nil", "selected.x"]);
}

#[test]
fn values_that_do_not_fit_into_the_document_end_the_rendering() {
    let large = "$(runnable.spec.inputs.large)$";
    let errors = render(&format!("{large}{large} $(selected)$")).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].is_final());
    assert!(
        errors[0]
            .kind
            .to_string()
            .ends_with("the rendered document is larger than 524288 bytes")
    );
}

#[test]
fn without_a_selector_selected_is_null_and_has_nothing_below() {
    assert_eq!(render("$(selected)$"), Ok(Value::Null));
    let errors = render("$(selected.metadata.name)$").unwrap_err();
    assert!(
        errors[0]
            .kind
            .to_string()
            .ends_with("jsonpath returned empty list: selected.metadata.name")
    );
}
