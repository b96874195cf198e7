use serde_json::json;

use super::*;
use crate::{
    bounds::{MAX_RENDERED_BYTES, Work},
    context::Context,
};
use split::{END, QUOTED_END, QUOTED_START};

fn compile(text: &str) -> (Leaf, Vec<BadTag>) {
    Leaf::compile(text, &|_| Ok(false))
}

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
    let (leaf, errors) = compile(text);
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
fn quoted_text_joins_the_text_around_it() {
    let (Leaf::Plain(text), _) = compile("a $('$(b)$')$ c") else {
        panic!("it holds no tag");
    };
    assert_eq!(text, "a $(b)$ c");
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
fn a_path_over_a_kilobyte_is_refused() {
    let (_, errors) = compile(&format!("$(runnable.{})$", "x".repeat(1024)));
    assert!(
        errors[0]
            .kind
            .to_string()
            .ends_with("evaluate: the path is 1033 bytes long, more than 1024")
    );
    let (_, errors) = compile(&format!("$(runnable.{})$", "é".repeat(100_000)));
    assert!(errors[0].kind.to_string().len() < 1200 && errors[0].tag.len() < 1200);
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

#[test]
fn a_tag_that_is_not_closed_is_noticed() {
    for text in [
        "$(runnable.metadata.name)",
        "a $(selected.x) $(runnable.metadata.name)$",
    ] {
        assert!(!unclosed(text).is_empty(), "{text}");
    }
    for text in [
        "$(params.x)",
        "$(runnable.metadata.name)$",
        "$('$(runnable.metadata.name)')$",
        "$(runnable.metadata.name)$)$",
    ] {
        assert!(unclosed(text).is_empty(), "{text}");
    }
}

/// If each marker were searched anew from every other one, these would take hours.
#[test]
fn millions_of_markers_that_close_late_or_never_are_read_once() {
    const MANY: usize = 2_000_000;
    for (text, is_tag) in [
        (START.repeat(MANY), false),
        (START.repeat(MANY) + END, true),
        (QUOTED_START.repeat(MANY) + END, true),
        (QUOTED_START.repeat(MANY), false),
        (format!("{START} ").repeat(MANY) + QUOTED_END, false),
        (format!("{START}'{END}").repeat(MANY), true),
        (format!("{START}a{END}").repeat(MANY), false),
        (END.repeat(MANY), false),
    ] {
        assert_eq!(has_tag(&text), is_tag);
    }
}
