#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

mod properties;

use cartouche_crds::ClusterRunTemplateSpec;
use cartouche_language::{Diagnostics, Owner, RunFacts, bounds::MAX_RENDERED_BYTES};
use serde_json::{Value, json};

use crate::{Context, Rendered, Stamp, StampError, Template, contains, stamp};

const FACTS: RunFacts<'static> = RunFacts {
    name: "x-7",
    sequence: 7,
    input_hash: "v1:ab",
    rerun_token: Some("again"),
};

fn spec(template: Value) -> ClusterRunTemplateSpec {
    serde_json::from_value(json!({ "template": template })).unwrap()
}

fn config_map(data: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "x-" }, "data": data,
    })
}

fn render_all(template: Value, inputs: Value) -> Result<Rendered, Diagnostics> {
    let runnable = json!({
        "metadata": { "name": "rn", "namespace": "ns" },
        "spec": { "runTemplateRef": { "name": "t" }, "inputs": inputs },
    });
    let context = Context::new(&runnable, None).unwrap();
    Template::compile(&spec(template))?.render(&context)
}

fn render(data: Value, inputs: Value) -> Rendered {
    render_all(config_map(data), inputs).unwrap()
}

fn filled(data: Value, values: Option<Value>) -> Result<Value, String> {
    let filled = render(data, json!({})).fill(&FACTS, values.as_ref());
    filled
        .map(|filled| filled.document()["data"].clone())
        .map_err(|problems| problems.to_string())
}

fn refused(template: Value) -> String {
    let compiled = Template::compile(&spec(template));
    compiled.unwrap_err().to_string()
}

#[test]
fn a_tag_alone_takes_the_value_with_its_type_and_one_in_a_text_becomes_text() {
    let values = json!({ "x": { "y": [1, null, { "z": true }] }, "n": 1.0 });
    let data = json!({
        "name": "$(run.name)$", "sequence": "$(run.sequence)$", "hash": "$(run.inputHash)$",
        "token": "$(run.rerunToken)$", "all": "$(profile.values)$", "one": "$(profile.values.x.y[2].z)$",
        "text": "a $(run.sequence)$ $(profile.values.x.y)$ $(profile.values.n)$", "list": ["$(run.name)$-$(run.name)$"],
    });
    assert_eq!(
        filled(data, Some(values.clone())).unwrap(),
        json!({
            "name": "x-7", "sequence": 7, "hash": "v1:ab", "token": "again", "all": values, "one": true,
            "text": "a 7 [1,null,{\"z\":true}] 1", "list": ["x-7-x-7"],
        })
    );
}

#[test]
fn the_document_keeps_open_tags_by_place_and_other_tags_are_replaced() {
    let data = json!({ "a/b~c": ["é $(runnable.metadata.name)$ $({.run.name})$", "$(run.name)$"] });
    let rendered = render(data, json!({}));
    assert_eq!(
        rendered.document()["data"]["a/b~c"],
        json!(["é rn $(run.name)$", "$(run.name)$"])
    );
    let places: Vec<_> = rendered
        .open()
        .iter()
        .map(|place| {
            let tag = &place.tags[0];
            (place.pointer(), tag.span.clone(), tag.alone)
        })
        .collect();
    assert_eq!(
        places,
        [
            ("/data/a~1b~0c/0".to_owned(), 6..18, false),
            ("/data/a~1b~0c/1".to_owned(), 0..12, true)
        ]
    );
}

#[test]
fn an_input_that_reads_like_an_open_tag_stays_as_it_is() {
    let inputs =
        json!({ "in": "$(run.name)$", "deep": { "$(run.name)$": ["$(profile.values.x)$"] } });
    let data = json!({
        "alone": "$(runnable.spec.inputs.in)$", "deep": "$(runnable.spec.inputs.deep)$",
        "beside": "$(runnable.spec.inputs.in)$$(run.name)$$(runnable.spec.inputs.in)$",
    });
    let filled = render(data, inputs.clone()).fill(&FACTS, None).unwrap();
    assert_eq!(
        filled.document()["data"],
        json!({
            "alone": "$(run.name)$", "deep": inputs["deep"], "beside": "$(run.name)$x-7$(run.name)$",
        })
    );
}

#[test]
fn a_value_that_is_filled_in_is_not_looked_at_for_tags() {
    let data = json!({ "a": "$(profile.values.a)$ $(profile.values.b)$" });
    let values = json!({ "a": "$(run.name)$", "b": "$(profile.values.a)$" });
    assert_eq!(
        filled(data, Some(values)).unwrap(),
        json!({ "a": "$(run.name)$ $(profile.values.a)$" })
    );
}

#[test]
fn hashes_of_documents_with_open_tags_never_change_between_releases() {
    let hash = |data, inputs| render(data, inputs).input_hash().to_owned();
    assert_eq!(
        hash(json!({ "a": "$(run.name)$" }), json!({})),
        "v1:1e30732fcad938bea4849f66c491f977ff9585e5243126344e30baa86934c0ce"
    );
    assert_eq!(
        hash(json!({ "a": "x $(run.name)$" }), json!({})),
        "v1:904ef4cab3697ca5a9cd35f2d9211c93d146799f452fb5c8186e3a132b74eeb0"
    );
}

#[test]
fn what_is_filled_in_otherwise_has_another_hash() {
    let inputs = json!({ "in": "$(run.name)$" });
    let hash = |text: &str| {
        render(json!({ "a": text }), inputs.clone())
            .input_hash()
            .to_owned()
    };
    let hashes = [
        "$(runnable.spec.inputs.in)$",
        "$(run.name)$",
        "$('')$$(run.name)$",
        "$(run.name)$$(run.name)$",
        "$(runnable.spec.inputs.in)$$(run.name)$",
        "$(run.name)$$(runnable.spec.inputs.in)$",
        "$(run.inputHash)$",
    ]
    .map(hash);
    for (index, one) in hashes.iter().enumerate() {
        assert!(!hashes[..index].contains(one), "{index}");
    }
    assert_eq!(hash("$({.run.name})$"), hash("$(run.name)$"));
    assert_eq!(
        hash("$('$(run.name)$')$"),
        hash("$(runnable.spec.inputs.in)$")
    );
}

#[test]
fn the_hash_does_not_know_what_is_filled_in() {
    let rendered = render(
        json!({ "a": "$(run.name)$ $(profile.values.x)$" }),
        json!({}),
    );
    let filled = rendered.fill(&FACTS, Some(&json!({ "x": 1 }))).unwrap();
    assert_eq!(filled.input_hash(), rendered.input_hash());
    assert_eq!(filled.document()["data"]["a"], "x-7 1");
    assert!(filled.open().is_empty());
}

#[test]
fn what_cannot_be_filled_in_is_told_with_its_place_and_its_tag() {
    let facts = RunFacts {
        rerun_token: None,
        ..FACTS
    };
    let data = json!({ "a": { "b": ["x $(profile.values.x.y)$ $(run.rerunToken)$"] }, "c": "$(profile.values.n)$ " });
    let rendered = render(data, json!({}));
    let said = |values: Option<Value>| {
        rendered
            .fill(&facts, values.as_ref())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        said(Some(json!({ "n": null }))),
        "failed to recursively evaluate template: failed to interpolate template at path [data.a.b.[0]]: \
         interpolate tag: evaluate jsonpath: jsonpath returned empty list: profile.values.x.y; \
         failed to recursively evaluate template: failed to interpolate template at path [data.a.b.[0]]: \
         interpolate tag: evaluate jsonpath: no re-run was requested, so there is no run.rerunToken; \
         failed to recursively evaluate template: failed to interpolate template at path [data.c]: \
         interpolate tag: tag must not point to nil value: profile.values.n"
    );
    let said = said(None);
    assert!(
        said.contains("the run has no profile, so there are no profile.values"),
        "{said}"
    );
    let problems = rendered.fill(&facts, None).unwrap_err();
    assert_eq!(problems[0].tag.as_deref(), Some("profile.values.x.y"));
    assert_eq!(problems[0].path(), "data.a.b[0]");
}

#[test]
fn an_open_tag_cannot_say_what_the_run_is_or_is_called() {
    for (field, value) in [
        ("apiVersion", json!("$(profile.values.v)$")),
        ("kind", json!("x$(run.name)$")),
        ("metadata", json!("$(profile.values.m)$")),
        ("metadata", json!({ "name": "$(run.name)$" })),
        ("metadata", json!({ "generateName": "$(run.name)$-" })),
        (
            "metadata",
            json!({ "generateName": "a-", "namespace": "$(profile.values.n)$" }),
        ),
        (
            "metadata",
            json!({ "generateName": "a-", "labels": "$(profile.values.l)$" }),
        ),
        (
            "metadata",
            json!({ "generateName": "a-", "annotations": "$(profile.values.a)$" }),
        ),
    ] {
        let mut template = config_map(json!({}));
        template[field] = value.clone();
        let problems = Template::compile(&spec(template)).unwrap_err();
        assert_eq!(problems.len(), 1, "{value}: {problems}");
        assert!(problems[0].path().starts_with(field), "{problems}");
        let said = problems.to_string();
        assert!(
            said.contains("is not known before the run is created"),
            "{said}"
        );
    }
}

#[test]
fn what_no_run_and_no_profile_has_is_refused_when_the_template_is_read() {
    for (tag, expected) in [
        (
            "run",
            "a tag can read only run.name, run.sequence, run.inputHash, run.rerunToken of a run",
        ),
        ("run.uid", "a tag can read only run.name"),
        ("run.name.x", "a tag can read only run.name"),
        ("run..name", "a tag can read only run.name"),
        (
            "profile",
            "a tag can read only profile.values.<name> of a profile",
        ),
        ("profile.name", "a tag can read only profile.values"),
        ("runs.name", "not 'runs'"),
    ] {
        for text in [format!("$({tag})$"), format!("x $({tag})$")] {
            let said = refused(config_map(json!({ "a": text })));
            assert!(said.contains(expected), "{said}");
        }
    }
}

#[test]
fn a_label_that_is_no_text_is_told_and_takes_no_other_with_it() {
    let mut template = config_map(json!({}));
    template["metadata"]["labels"] =
        json!({ "a": "$(run.sequence)$", "b": "$('')$$(run.sequence)$" });
    let rendered = render_all(template, json!({})).unwrap();
    let problems = rendered.fill(&FACTS, None).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].path(), "metadata.labels.a");
}

#[test]
fn what_a_template_may_not_set_it_cannot_set_by_an_open_tag() {
    let mut template = config_map(json!({ "a": "b" }));
    template["metadata"]["labels"] =
        json!({ "carto.run/run-sequence": "$(run.name)$", "b": "$(run.name)$" });
    template["metadata"]["finalizers"] = json!(["$(run.name)$"]);
    template["status"] = json!("$(run.name)$");
    let rendered = render_all(template, json!({})).unwrap();
    assert_eq!(rendered.open().len(), 1);
    let filled = rendered.fill(&FACTS, None).unwrap();
    assert_eq!(
        filled.document()["metadata"],
        json!({ "generateName": "x-", "labels": { "b": "x-7" } })
    );
    let mut template = config_map(json!({ "a": "b" }));
    template["metadata"]["labels"] = json!({ "carto.run/run-sequence": "$(run.name)$" });
    let rendered = render_all(template, json!({})).unwrap();
    assert_eq!(rendered, render(json!({ "a": "b" }), json!({})));
}

#[test]
fn what_is_filled_in_has_the_bounds_of_what_is_rendered() {
    let large = json!({ "x": "y".repeat(MAX_RENDERED_BYTES / 2), "deep": (0..60).fold(json!(1), |it, _| json!([it])) });
    let said = |data| filled(data, Some(large.clone())).unwrap_err();
    let twice = "$(profile.values.x)$$(profile.values.x)$";
    assert!(said(json!({ "a": twice })).contains("larger than 524288 bytes"));
    let deep = (0..10).fold(json!("$(profile.values.deep)$"), |it, _| json!([it]));
    assert!(said(json!({ "a": deep })).contains("nests objects and arrays more than 64 deep"));
}

#[test]
fn a_run_is_recognised_whatever_was_filled_in() {
    let rendered = render(
        json!({ "a": "x $(run.name)$", "b": "$(profile.values.x)$", "c": "d" }),
        json!({}),
    );
    let live = config_map(json!({ "a": "x x-6", "b": { "y": 1 }, "c": "d" }));
    assert!(contains(&live, &rendered));
    assert!(contains(&config_map(json!({ "c": "d" })), &rendered));
    assert!(!contains(
        &config_map(json!({ "a": "x x-6", "c": "e" })),
        &rendered
    ));
}

#[test]
fn a_run_is_not_stamped_while_a_tag_is_open() {
    let rendered = render(json!({ "a": "$(run.name)$" }), json!({}));
    let owner = Owner {
        name: "rn",
        namespace: "ns",
        uid: "u",
    };
    let run = Stamp {
        owner,
        template_name: "t",
        name: "x-7",
        sequence: 7,
        input_hash: rendered.input_hash(),
        rerun_token: None,
        rerun_request: None,
        sources: None,
        profile: None,
        profile_refresh: None,
    };
    assert_eq!(stamp(&rendered, &run), Err(StampError::Open));
    let filled = rendered.fill(&FACTS, None).unwrap();
    let object = stamp(&filled, &run).unwrap();
    assert_eq!(object["data"]["a"], "x-7");
    assert_eq!(
        object["metadata"]["annotations"]["carto.run/input-hash"],
        rendered.input_hash()
    );
}
