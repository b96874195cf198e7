use std::collections::BTreeMap;

use cartouche_crds::{ClusterRunTemplateSpec, InputSource, ReadAs};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{Context, Rendered, Template, contains};

fn template(data: &Value) -> Template {
    let spec = json!({ "template": {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "r-" }, "data": data,
    } });
    let spec: ClusterRunTemplateSpec = serde_json::from_value(spec).unwrap();
    Template::compile(&spec).unwrap()
}

fn context(sourced: &[(&str, Sourced)]) -> Context {
    let runnable = json!({
        "metadata": { "name": "r", "namespace": "ns" },
        "spec": { "runTemplateRef": { "name": "t" }, "inputs": { "own": 1 }, "inputsFrom": [{ "name": "x" }] },
    });
    let sourced = sourced.iter().cloned();
    let sourced = sourced.map(|(name, source)| (name.to_owned(), source));
    let context = Context::new(&runnable, None).unwrap();
    context.with_sources(&sourced.collect()).unwrap()
}

fn password(uid: &str, value: &str) -> (&'static str, Sourced) {
    let mark = secret_mark(uid, "password", value.as_bytes());
    ("password", Sourced::secret("db", "password", mark))
}

fn rendered(template: &Template, sourced: &[(&str, Sourced)]) -> Rendered {
    template.render(&context(sourced)).unwrap()
}

#[test]
fn a_sourced_input_stands_beside_those_that_the_runnable_gives() {
    let template = template(&json!({
        "own": "$(runnable.spec.inputs.own)$", "size": "$(runnable.spec.inputs.size)$",
    }));
    let size = ("size", Sourced::plain(json!({ "cpu": 2 })));
    let document = rendered(&template, &[size]);
    let data = &document.document()["data"];
    assert_eq!(*data, json!({ "own": 1, "size": { "cpu": 2 } }));
    assert!(!document.has_secrets());
}

#[test]
fn an_input_from_a_secret_is_a_reference_and_its_value_counts() {
    let template = template(&json!({ "from": "$(runnable.spec.inputs.password)$" }));
    let before = rendered(&template, &[password("uid", "1234")]);
    let from = &before.document()["data"]["from"];
    assert_eq!(*from, json!({ "name": "db", "key": "password" }));
    let same = rendered(&template, &[password("uid", "1234")]);
    assert_eq!(before.input_hash(), same.input_hash());
    for (uid, value) in [("uid", "1235"), ("another", "1234")] {
        let after = rendered(&template, &[password(uid, value)]);
        assert_eq!(after.document(), before.document());
        assert_ne!(after.input_hash(), before.input_hash(), "{uid} {value}");
    }
}

#[test]
fn what_a_run_that_reads_a_secret_was_made_with_its_object_does_not_say() {
    let template = template(&json!({ "from": "$(runnable.spec.inputs.password.name)$" }));
    let rendered = rendered(&template, &[password("uid", "1234")]);
    assert!(rendered.has_secrets());
    assert!(!contains(rendered.document(), &rendered));
}

#[test]
fn a_secret_that_the_template_does_not_read_changes_no_hash() {
    let own = template(&json!({ "own": "$(runnable.spec.inputs.own)$" }));
    let without = rendered(&own, &[]);
    let with = rendered(&own, &[password("uid", "1234")]);
    assert_eq!(without, with);
}

#[test]
fn whatever_may_read_an_input_reads_it() {
    let reads =
        |tag: &str| template(&json!({ "x": format!("a $({tag})$") })).reads_input("password");
    for tag in [
        "runnable.spec.inputs.password",
        "runnable.spec.inputs.password.key",
        "runnable.spec.inputs['password']",
        "runnable.spec.inputs",
        "runnable.spec",
        "runnable",
        "runnable..password",
        "runnable.spec.inputs.*",
        "runnable.*.inputs.own",
        "..password",
    ] {
        assert!(reads(tag), "{tag}");
    }
    for tag in [
        "runnable.spec.inputs.own",
        "runnable.spec.inputs.passwords",
        "runnable.metadata.name",
        "runnable.metadata..password",
    ] {
        assert!(!reads(tag), "{tag}");
    }
}

#[test]
fn where_inputs_come_from_no_template_sees() {
    let whole = template(&json!({ "spec": "$(runnable.spec)$" }));
    let rendered = rendered(&whole, &[]);
    assert!(
        rendered.document()["data"]["spec"]
            .get("inputsFrom")
            .is_none()
    );
    let tag = json!({ "template": { "metadata": { "name": "$(runnable.spec.inputsFrom)$" } } });
    let spec: ClusterRunTemplateSpec = serde_json::from_value(tag).unwrap();
    let refused = Template::compile(&spec).unwrap_err().to_string();
    assert!(
        refused.contains("read runnable.spec.inputs.<name>"),
        "{refused}"
    );
}

#[test]
fn the_mark_of_a_secret_is_pinned() {
    // RFC 4231, test case 2.
    assert_eq!(
        hmac(b"Jefe", &[b"what do ya ", b"want for nothing?"]),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
    let rendered = rendered(
        &template(&json!({ "from": "$(runnable.spec.inputs.password)$" })),
        &[password("7f8a1c52-0d4b-4a58-9a42-1d3f6f0a1b2c", "1234")],
    );
    assert_eq!(
        rendered.input_hash(),
        "v1:e639fac848f20d98ecd8dfaf8621339a5ce912b1587e2d1dc6bceadd5b78bd23"
    );
}

#[test]
fn a_text_is_read_as_what_the_source_says() {
    let read_text = |text: &str, read_as| read_text(text, read_as, &mut Room::default());
    assert_eq!(read_text("1", ReadAs::Text), Ok(json!("1")));
    assert_eq!(
        read_text(" {\"a\": [1]}\n", ReadAs::Json),
        Ok(json!({ "a": [1] }))
    );
    let wrong = read_text("{\"a\": hunter2}", ReadAs::Json).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "it cannot be read as JSON: line 1, column 7"
    );
    assert!(read_text("", ReadAs::Json).is_err());
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    assert_eq!(read_text(&deep, ReadAs::Json), Err(UnreadableText::TooDeep));
    let endless = "[".repeat(100_000);
    assert!(read_text(&endless, ReadAs::Json).is_err());
}

#[test]
fn a_value_that_makes_all_of_it_too_deep_or_too_large_is_refused() {
    let runnable = json!({ "metadata": {}, "spec": {} });
    let with = |value: Value| {
        let sourced = BTreeMap::from([("x".to_owned(), Sourced::plain(value))]);
        Context::new(&runnable, None)
            .unwrap()
            .with_sources(&sourced)
    };
    let deep = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    assert!(with(read_text(&deep, ReadAs::Json, &mut Room::default()).unwrap()).is_err());
    assert!(with("x".repeat(2 << 20).into()).is_err());
    assert!(with("x".into()).is_ok());
}

#[test]
fn all_texts_together_have_room_for_so_much_before_any_is_read() {
    let mut room = Room::default();
    let half = "x".repeat(MAX_CONTEXT_BYTES / 2);
    for fits in [true, true, false] {
        assert_eq!(read_text(&half, ReadAs::Text, &mut room).is_ok(), fits);
    }
    let many = format!("[{}0]", "{\"\":0},".repeat(MAX_LEAVES / 4));
    let mut room = Room::default();
    for fits in [true, false] {
        let read = read_text(&many, ReadAs::Json, &mut room);
        assert_eq!(read.is_ok(), fits);
        assert!(fits || read == Err(UnreadableText::TooLarge));
    }
    assert!(read_text(&many, ReadAs::Text, &mut Room::default()).is_ok());
}

fn source(name: &str) -> InputSource {
    InputSource {
        name: name.to_owned(),
        ..InputSource::default()
    }
}

#[test]
fn each_name_that_is_given_twice_is_named_once() {
    let inputs = BTreeMap::from([("a".to_owned(), json!(1)), ("b".to_owned(), json!(2))]);
    let sources = ["c", "b", "c", "b", "d"].map(source);
    assert_eq!(given_twice(Some(&inputs), &sources), ["b", "c"]);
    assert!(given_twice(None, &["a", "b"].map(source)).is_empty());
}

proptest! {
    #[test]
    fn no_error_repeats_what_it_could_not_read(text in "[a-zA-Z0-9 {}\\[\\]:,\"]{0,40}") {
        if let Err(error) = read_text(&text, ReadAs::Json, &mut Room::default()) {
            let told = error.to_string();
            let words = text.split(|c: char| !c.is_ascii_alphabetic());
            for word in words.filter(|word| word.len() > 7) {
                prop_assert!(!told.contains(word), "{told}");
            }
        }
    }

    #[test]
    fn marks_differ_with_their_values(one in ".{0,8}", other in ".{0,8}") {
        let mark = |value: &str| secret_mark("uid", "key", value.as_bytes());
        let same = mark(&one) == mark(&other);
        prop_assert_eq!(same, one == other);
    }
}

fn attempt(schema: &Value, data: &Value, unknown: &[&str]) -> crate::Attempt {
    let spec = json!({ "inputSchema": schema, "template": {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "r-" }, "data": data,
    } });
    let spec: ClusterRunTemplateSpec = serde_json::from_value(spec).unwrap();
    crate::Draft::new(&spec).attempt(&context(&[]), unknown)
}

#[test]
fn an_unknown_input_is_given_and_leaves_open_what_reads_it() {
    let schema = json!({
        "type": "object", "required": ["own", "size", "other"],
        "properties": {
            "own": { "type": "integer" }, "other": { "type": "string" },
            "size": { "type": "object", "properties": { "cpu": { "type": "integer" } }, "default": { "cpu": 1 } },
        },
        "oneOf": [{ "properties": { "size": { "not": {} } } }],
    });
    let data = json!({
        "own": "$(runnable.spec.inputs.own)$", "cpu": "$(runnable.spec.inputs.size.cpu)$",
        "all": "$(runnable.spec.inputs)$",
    });
    let attempt = attempt(&schema, &data, &["size"]);
    let said: Vec<String> = attempt.problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("the input 'other' is missing"), "{said:?}");
    assert_eq!(attempt.document["data"]["own"], json!(1));
    let open: Vec<String> = attempt
        .open
        .iter()
        .map(|at| cartouche_language::field_path(at))
        .collect();
    assert_eq!(open, ["data.all", "data.cpu"]);
}

#[test]
fn that_there_is_no_such_input_is_known_of_an_unknown_one() {
    let schema = json!({
        "type": "object", "additionalProperties": false, "properties": { "own": { "type": "integer" } },
    });
    let attempt = attempt(&schema, &json!({}), &["size"]);
    let said: Vec<String> = attempt.problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("there is no such input"), "{said:?}");
}
