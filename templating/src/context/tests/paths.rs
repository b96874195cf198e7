//! Paths that lead through a context.

use cartouche_language::syntax::{To, steps, with_escaped_dots};

use super::*;

fn below(value: &Value, to: &To) -> Option<Value> {
    match to {
        To::Key(key) => value.get(key).cloned(),
        To::Index(index) => {
            let items = value.as_array()?;
            let from_end = i64::try_from(items.len()).ok()?;
            let index = if *index < 0 { index + from_end } else { *index };
            items.get(usize::try_from(index).ok()?).cloned()
        }
        To::Elements => None,
    }
}

/// The report about a path and its evaluation cannot differ: both use the same parser.
#[test]
fn steps_lead_where_the_path_leads() {
    let runnable = json!({ "metadata": {
        "labels": { "a.b/c": "dotted", "a": "plain" },
        "annotations": { "with blank": "x", "curly{": "y" },
    }, "spec": { "inputs": { "list": [{ "n": 1 }, { "n": 2 }], "a": { "b": "nested" } } } });
    let context = Context::new(&runnable, None).unwrap();
    for path in [
        "runnable.metadata.labels.a",
        r"runnable.metadata.labels.a\.b/c",
        r"runnable.metadata.labels['a\.b/c']",
        r"runnable.metadata.annotations.with\ blank",
        r"runnable.metadata.annotations.curly\{",
        "runnable.spec.inputs['a.b']",
        "runnable.spec.inputs.list[-1].n",
        "{.runnable.spec['inputs'].list[0]['n']}",
    ] {
        let root = json!({ "runnable": runnable });
        let found = steps(path)
            .iter()
            .try_fold(root, |value, step| below(&value, &step.to));
        assert!(found.is_some(), "{path}");
        assert_eq!(context.value(path), found, "{path}");
    }
}

#[test]
fn the_path_that_was_meant_leads_to_the_name_with_dots() {
    let runnable = json!({ "metadata": { "labels": {
        "app.kubernetes.io/name": "shop", "two words.x": "y", "a.b.c": "z",
    } }, "spec": { "inputs": { "list": [{ "k.l": "m", "v": "found" }] } } });
    let context = Context::new(&runnable, None).unwrap();
    for (written, meant, value) in [
        (
            "runnable.metadata.labels['app.kubernetes.io/name']",
            r"runnable.metadata.labels.app\.kubernetes\.io/name",
            "shop",
        ),
        (
            "{.runnable.metadata.labels.app.kubernetes.io/name}",
            r"{.runnable.metadata.labels.app\.kubernetes\.io/name}",
            "shop",
        ),
        (
            "runnable['metadata'].labels.['two words.x']",
            r"runnable['metadata'].labels.two\ words\.x",
            "y",
        ),
        (
            r"{.runnable.metadata.labels['a\.b.c']}",
            r"{.runnable.metadata.labels.a\.b\.c}",
            "z",
        ),
        (
            "runnable.spec.inputs.list[?(@['k.l']==\"m\")].v",
            r#"runnable.spec.inputs.list[?(@.k\.l=="m")].v"#,
            "found",
        ),
    ] {
        assert_eq!(context.value(written), None, "{written}");
        assert_eq!(with_escaped_dots(written).unwrap().path, meant);
        assert_eq!(context.value(meant), Some(value.into()), "{meant}");
    }
    for path in [
        r"a['b\.c']['d'].e",
        "runnable.metadata.labels.a",
        "runnable.metadata.labels.a[0].b",
        "runnable.metadata.labels['a']['b']",
        "labels.a.b",
        "runnable.data.a.b",
        "selected.data.a",
        r"selected.data.a\.b",
        "runnable.metadata.labels['team.x/y','b']",
        r#"list[?(@.n=="['a.b']")].v"#,
    ] {
        assert_eq!(with_escaped_dots(path), None, "{path}");
    }
}
