//! Properties that hold for any template and any Runnable.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

use std::collections::BTreeMap;

use cartouche_crds::ClusterRunTemplateSpec;
use cartouche_language::{Diagnostics, MAX_RUN_NAME, Owner, label_value, name_suffix};
use cartouche_templating::{Context, Rendered, Stamp, Template, contains, stamp};
use proptest::prelude::*;
use serde_json::{Value, json};

fn spec(template: Value) -> ClusterRunTemplateSpec {
    ClusterRunTemplateSpec {
        unknown_fields: Vec::new(),
        profile: None,
        runner: None,
        requires: None,
        template,
        outputs: None,
        input_schema: None,
        optional_outputs: None,
        sensitive_outputs: None,
        failure_outputs: None,
        health_rule: None,
        retry: None,
        timeout: None,
        concurrency_policy: None,
        approval: None,
        start: None,
        stop: None,
    }
}

fn config_map(data: Value) -> Value {
    let mut template = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "x-" },
    });
    template["data"] = data;
    template
}

fn context(input: &Value) -> Context {
    let runnable = json!({
        "metadata": { "name": "rn", "namespace": "ns" },
        "spec": { "runTemplateRef": { "name": "t" }, "inputs": { "in": input } },
    });
    Context::new(&runnable, None).unwrap()
}

fn render(data: Value, input: &Value) -> Result<Rendered, Diagnostics> {
    Template::compile(&spec(config_map(data)))?.render(&context(input))
}

/// Texts with many markers, and any others.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("$("),
        Just(")$"),
        Just("$('"),
        Just("')$"),
        Just("'"),
        Just("("),
        Just("$"),
        Just("runnable"),
        Just(".metadata.name"),
        Just("runnable.spec.inputs.in"),
        Just("[0]"),
        Just("[?(@.a==\"b\")]"),
        Just(" "),
        Just("\\"),
        Just("é"),
        Just("{"),
        Just("}"),
    ];
    prop_oneof![
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 30, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Returns the same value, its keys inserted in the opposite order and its integral numbers as floats.
fn written_otherwise(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(written_otherwise).collect(),
        Value::Object(map) => {
            let reversed = map.iter().rev();
            reversed
                .map(|(key, value)| (key.clone(), written_otherwise(value)))
                .collect()
        }
        Value::Number(number) => match number.as_i64().map(i32::try_from) {
            Some(Ok(integer)) => json!(f64::from(integer)),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

fn is_subdomain(name: &str) -> bool {
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty()
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.split('.').all(is_label)
}

proptest! {
    #[test]
    fn no_text_in_a_template_panics(text in text(), input in json_value()) {
        let _ = render(json!(text), &input);
    }

    #[test]
    fn no_document_panics_as_template_as_runnable_or_as_run(
        template in json_value(),
        runnable in json_value(),
        path in text(),
    ) {
        let _ = Template::compile(&spec(template.clone()));
        let _ = Context::new(&runnable, Some(&template));
        let outputs = BTreeMap::from([("o".to_owned(), path)]);
        let mut spec = spec(config_map(json!({})));
        let without = Template::compile(&spec).unwrap();
        let _ = without.health(&runnable);
        spec.outputs = Some(outputs);
        if let Ok(template) = Template::compile(&spec) {
            let _ = template.outputs(&runnable);
        }
    }

    #[test]
    fn a_tag_alone_keeps_the_value_and_its_type(input in json_value()) {
        let rendered = render(json!("$(runnable.spec.inputs.in)$"), &input).unwrap();
        prop_assert_eq!(&rendered.document()["data"], &input);
    }

    #[test]
    fn a_text_from_a_tag_is_never_read_again(input in text()) {
        let rendered = render(json!("<$(runnable.spec.inputs.in)$>"), &json!(input)).unwrap();
        prop_assert_eq!(&rendered.document()["data"], &json!(format!("<{input}>")));
    }

    #[test]
    fn quoted_text_is_emitted_as_it_is(input in text()) {
        prop_assume!(!input.contains("')$") && !input.ends_with('\''));
        let rendered = render(json!(format!("$('{input}')$")), &json!(null)).unwrap();
        prop_assert_eq!(&rendered.document()["data"], &json!(input));
    }

    #[test]
    fn a_text_without_an_end_marker_is_untouched(text in text()) {
        prop_assume!(!text.contains(")$"));
        let rendered = render(json!(text), &json!(null)).unwrap();
        prop_assert_eq!(&rendered.document()["data"], &json!(text));
    }

    #[test]
    fn rendering_twice_gives_the_same(text in text(), input in json_value()) {
        prop_assert_eq!(render(json!(text), &input), render(json!(text), &input));
    }

    #[test]
    fn the_hash_does_not_depend_on_how_a_value_is_written(input in json_value()) {
        let tag = json!("$(runnable.spec.inputs.in)$");
        let one = render(tag.clone(), &input).unwrap();
        let other = render(tag, &written_otherwise(&input)).unwrap();
        prop_assert_eq!(one.input_hash(), other.input_hash());
        prop_assert!(contains(other.document(), &one));
    }

    #[test]
    fn the_hash_depends_on_the_value(one in json_value(), other in json_value()) {
        prop_assume!(written_otherwise(&one) != written_otherwise(&other));
        let tag = json!("$(runnable.spec.inputs.in)$");
        let one = render(tag.clone(), &one).unwrap();
        let other = render(tag, &other).unwrap();
        prop_assert_ne!(one.input_hash(), other.input_hash());
    }

    #[test]
    fn the_name_of_a_run_is_valid_and_at_most_52_characters(
        prefix in prop_oneof![any::<String>(), "[a-z0-9.-]{1,80}", "[A-Za-z:_-]{1,260}"],
        uid in any::<String>(),
        sequence in any::<i64>(),
    ) {
        prop_assume!(!prefix.is_empty());
        let mut template = config_map(json!({}));
        template["metadata"]["generateName"] = json!(format!("$('{}')$", prefix.replace("')$", "")));
        prop_assume!(Template::compile(&spec(template.clone())).is_ok());
        let template = Template::compile(&spec(template)).unwrap();
        if let Ok(rendered) = template.render(&context(&json!(null))) {
            let name = rendered.run_name(&uid, sequence);
            prop_assert!(is_subdomain(&name), "{name}");
            prop_assert!(name.len() <= MAX_RUN_NAME, "{name}");
            prop_assert!(name.ends_with(&name_suffix(&uid, sequence)));
        }
    }

    #[test]
    fn the_name_of_a_resource_is_a_label_of_at_most_63_characters(
        name in "[a-z0-9]([a-z0-9-]{0,60}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,60}[a-z0-9])?){0,3}",
    ) {
        let label = label_value(&name);
        prop_assert!(label.len() <= 63);
        prop_assert!(is_subdomain(&label), "{label}");
        prop_assert_eq!(label == name, name.len() <= 63);
    }

    #[test]
    fn a_run_contains_what_was_rendered_for_it(input in json_value()) {
        let rendered = render(json!("$(runnable.spec.inputs.in)$"), &input).unwrap();
        let run = stamp(&rendered, &Stamp {
            owner: Owner { name: "rn", namespace: "ns", uid: "u" },
            template_name: "t",
            name: "x-1",
            sequence: 1,
            input_hash: rendered.input_hash(),
            rerun_token: Some("token"),
            rerun_request: None, sources: None, profile: None, profile_refresh: None,
        });
        prop_assert!(contains(&run.unwrap(), &rendered));
    }
}
