//! Tags and paths, from the manifest to the object that the API server stores.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{RUNNABLE, World, stamps, text};

fn inputs() -> Value {
    json!({
        "s": "text", "n": 3, "f": 1.5, "t": true, "nil": null, "exp": 1e21, "big": 9_007_199_254_740_993_i64,
        "huge": 9_223_372_036_854_775_807_i64, "html": "<a&b>", "tag": "$(runnable.metadata.name)$", "a-b_c": "dashed",
        "list": [1, "two", { "three": 3 }], "obj": { "b": 2, "a": { "deep": ["x"] } }, "marks": { "m": "<&>" },
        "people": [{ "name": "ada", "age": 36 }, { "name": "alan", "age": 41 }], "with space": 1,
    })
}

type Row = (&'static str, Value);

fn table() -> Vec<Row> {
    [typed(), texts(), literals(), fields()].concat()
}

/// Returns cases of strings that consist of one tag, which keep the type of the value.
fn typed() -> Vec<Row> {
    vec![
        ("$(runnable.spec.inputs.s)$", json!("text")),
        ("$(runnable.spec.inputs.n)$", json!(3)),
        ("$(runnable.spec.inputs.f)$", json!(1.5)),
        ("$(runnable.spec.inputs.t)$", json!(true)),
        ("$(runnable.spec.inputs.nil)$", json!(null)),
        (
            "$(runnable.spec.inputs.list)$",
            json!([1, "two", { "three": 3 }]),
        ),
        (
            "$(runnable.spec.inputs.obj)$",
            json!({ "b": 2, "a": { "deep": ["x"] } }),
        ),
        // Integers above 2^53 pass as they are.
        (
            "$(runnable.spec.inputs.big)$",
            json!(9_007_199_254_740_993_i64),
        ),
        (
            "$(runnable.spec.inputs.huge)$",
            json!(9_223_372_036_854_775_807_i64),
        ),
        (
            "<$(runnable.spec.inputs.big)$>",
            json!("<9007199254740993>"),
        ),
        // Inputs are addressable at any depth.
        ("$(runnable.spec.inputs.obj.a.deep[0])$", json!("x")),
        ("$(runnable.spec.inputs.list[2].three)$", json!(3)),
        ("$(runnable.spec.inputs.list[-1])$", json!({ "three": 3 })),
        (
            "$(runnable.spec.inputs.people[?(@.name==\"alan\")].age)$",
            json!(41),
        ),
        (
            "$(runnable.spec.inputs.people[?(@.age<40)].name)$",
            json!("ada"),
        ),
        ("$(runnable.spec.inputs.a-b_c)$", json!("dashed")),
        ("$(runnable.spec.inputs.with\\ space)$", json!(1)),
        // All ways to write a path.
        ("$(.runnable.metadata.name)$", json!("subject")),
        ("$({.runnable.metadata.name})$", json!("subject")),
        (
            "$(runnable.metadata.labels['app\\.kubernetes\\.io/part-of'])$",
            json!("shop"),
        ),
        (
            "$(runnable.metadata.labels.app\\.kubernetes\\.io/part-of)$",
            json!("shop"),
        ),
    ]
}

/// Returns cases of longer strings, in which the value becomes text.
fn texts() -> Vec<Row> {
    vec![
        ("b$(runnable.spec.inputs.n)$", json!("b3")),
        (" $(runnable.spec.inputs.n)$", json!(" 3")),
        (
            "$(runnable.spec.inputs.n)$$(runnable.spec.inputs.n)$",
            json!("33"),
        ),
        ("[$(runnable.spec.inputs.n)$]", json!("[3]")),
        (
            "{\"foo\": $(runnable.spec.inputs.n)$}",
            json!("{\"foo\": 3}"),
        ),
        (
            "x$(runnable.spec.inputs.obj)$",
            json!("x{\"a\":{\"deep\":[\"x\"]},\"b\":2}"),
        ),
        (
            "x$(runnable.spec.inputs.marks)$",
            json!("x{\"m\":\"\\u003c\\u0026\\u003e\"}"),
        ),
        ("x$(runnable.spec.inputs.html)$", json!("x<a&b>")),
        ("x$(runnable.spec.inputs.f)$", json!("x1.5")),
        ("x$(runnable.spec.inputs.exp)$", json!("x1e+21")),
        ("$(runnable.metadata.name)$-", json!("subject-")),
    ]
}

/// Returns cases of text that is no tag and stays, and of tag values, which are not expanded again.
fn literals() -> Vec<Row> {
    vec![
        ("text $(params.a) more", json!("text $(params.a) more")),
        (
            "$(date) $((1+2)) ${HOME}",
            json!("$(date) $((1+2)) ${HOME}"),
        ),
        (")$ alone )$", json!(")$ alone )$")),
        (
            "$(runnable.metadata.name",
            json!("$(runnable.metadata.name"),
        ),
        // Tekton's own variables may stand on both sides of a tag.
        (
            "echo $(runnable.metadata.name)$ $(params.a)",
            json!("echo subject $(params.a)"),
        ),
        (
            "echo $(params.a) $(runnable.metadata.name)$",
            json!("echo $(params.a) subject"),
        ),
        (
            "$('$(')$runnable.metadata.name)$",
            json!("$(runnable.metadata.name)$"),
        ),
        ("$('$(params.a) )')$", json!("$(params.a) )")),
        (
            "$(runnable.spec.inputs.tag)$",
            json!("$(runnable.metadata.name)$"),
        ),
        (
            "x$(runnable.spec.inputs.tag)$",
            json!("x$(runnable.metadata.name)$"),
        ),
    ]
}

/// Returns cases of fields that the type of the Runnable has, not only those in the manifest.
fn fields() -> Vec<Row> {
    vec![
        ("$(runnable.kind)$", json!("Runnable")),
        ("$(runnable.apiVersion)$", json!("carto.run/v1alpha1")),
        (
            "$(runnable.spec.runTemplateRef.kind)$",
            json!("ClusterRunTemplate"),
        ),
        ("$(runnable.spec.serviceAccountName)$", json!("")),
        ("$(runnable.spec.selector)$", json!(null)),
        ("$(runnable.metadata.annotations)$", json!(null)),
        ("$(runnable.metadata.generateName)$", json!("")),
        ("$(runnable.spec.retentionPolicy.maxFailedRuns)$", json!(10)),
        ("$(selected)$", json!(null)),
    ]
}

#[tokio::test]
async fn every_expression_gives_its_value() -> Result<()> {
    let world = World::new("values").await?;
    let expressions: Vec<&str> = table().iter().map(|(expression, _)| *expression).collect();
    let mut spec = json!({ "values": expressions, "number": 7, "float": 0.1, "none": null, "empty": [], "bool": false });
    spec["$(runnable.metadata.name)$"] = "keys are not looked at".into();
    world.template(stamps(spec)).await?;
    let metadata = json!({ "name": "subject", "labels": { "app.kubernetes.io/part-of": "shop" } });
    let reference = json!({ "name": world.template_name(), "kind": "Ignored" });
    let spec = json!({ "inputs": inputs(), "runTemplateRef": reference });
    let subject = world.runnable_with(metadata, spec).await?;
    let run = subject.run(1).await?;
    let values = run["spec"]["values"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for ((expression, wanted), value) in table().iter().zip(values) {
        assert_eq!(value, *wanted, "{expression}");
    }
    let rest = json!([7, 0.1, null, [], false, "keys are not looked at"]);
    let keys = [
        "number",
        "float",
        "none",
        "empty",
        "bool",
        "$(runnable.metadata.name)$",
    ];
    assert_eq!(json!(keys.map(|key| &run["spec"][key])), rest);
    subject.stays_at(1).await
}

#[tokio::test]
async fn everything_that_is_wrong_is_said_at_once_in_order() -> Result<()> {
    let world = World::new("errors").await?;
    let paths = json!({
        "d": "$(runnable.spec.inputs.obj.none)$",
        "a": "$(runnable.spec.inputs.missing)$",
        "c": "$(runnable.spec.inputs.list[7])$",
        "b": [{ "x": "say $(runnable.spec.inputs.nil)$" }, "$(selected.spec)$"],
    });
    world.template(stamps(paths)).await?;
    let subject = world.runnable("r", json!({ "inputs": inputs() })).await?;
    let said = subject.fails_in_full("TemplateStampFailure", "").await?;
    let at = "failed to recursively evaluate template: failed to interpolate template at path";
    let wanted = [
        format!(
            "{at} [spec.a]: evaluate tag $(runnable.spec.inputs.missing)$: jsonpath returned empty list: runnable.spec.inputs.missing"
        ),
        format!(
            "{at} [spec.b.[0]x]: interpolate tag: tag must not point to nil value: runnable.spec.inputs.nil"
        ),
        format!(
            "{at} [spec.b.[1]]: evaluate tag $(selected.spec)$: jsonpath returned empty list: selected.spec"
        ),
        format!(
            "{at} [spec.c]: evaluate tag $(runnable.spec.inputs.list[7])$: evaluate: failed to find results: array index out of bounds: index 7, length 3"
        ),
        format!(
            "{at} [spec.d]: evaluate tag $(runnable.spec.inputs.obj.none)$: jsonpath returned empty list: runnable.spec.inputs.obj.none"
        ),
    ];
    let whole = format!(
        "unable to stamp object for run template [{}]: {}",
        world.template_name(),
        wanted.join("; ")
    );
    let cut = whole.len().min(990);
    assert_eq!(said[..cut.min(said.len())], whole[..cut.min(said.len())]);
    assert!(
        said.len() >= cut && said.len() <= 1000,
        "{} bytes: {said}",
        said.len()
    );
    Ok(())
}

#[tokio::test]
async fn errors_of_expressions_name_path_and_reason() -> Result<()> {
    let world = World::new("error").await?;
    let cases = [
        (
            "$(runnable.spec.inputs.list[*])$",
            "too many results for the query: runnable.spec.inputs.list[*]",
        ),
        ("$(runnable.spec.inputs.s[0])$", "is not array or slice"),
        (
            "$(runnable.spec.inputs.nil.x)$",
            "jsonpath returned empty list: runnable.spec.inputs.nil.x",
        ),
        (
            "$(runnable.metadata.name)$)$",
            "jsonpath returned empty list: runnable.metadata.name)$",
        ),
        (
            "x$(runnable.spec.selector)$",
            "tag must not point to nil value: runnable.spec.selector",
        ),
    ];
    for (index, (expression, _)) in cases.iter().enumerate() {
        let template = world
            .another_template(&index.to_string(), stamps(json!({ "x": expression })))
            .await?;
        let spec = json!({ "inputs": inputs(), "runTemplateRef": { "name": template } });
        world.runnable(&format!("r{index}"), spec).await?;
    }
    for (index, (_, part)) in cases.iter().enumerate() {
        let subject = crate::world::Subject {
            world: world.clone(),
            name: format!("r{index}"),
        };
        subject.fails("TemplateStampFailure", part).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_template_cannot_read_what_every_run_changes() -> Result<()> {
    let world = World::new("volatile").await?;
    world
        .template(stamps(
            json!({ "all": "$(runnable)$", "metadata": "$(runnable.metadata)$" }),
        ))
        .await?;
    let manifest = world.manifest("r", json!({}));
    world
        .cluster
        .apply_yaml(&world.namespace, &manifest.to_string())
        .await?;
    let subject = crate::world::Subject {
        world: world.clone(),
        name: "r".into(),
    };
    let run = subject.run(1).await?;
    let applied = "kubectl.kubernetes.io/last-applied-configuration";
    let object = world.get(RUNNABLE, "r").await?;
    assert!(
        !text(&object["metadata"]["annotations"][applied]).is_empty(),
        "{object}"
    );
    let all = &run["spec"]["all"];
    assert_eq!(all["metadata"]["name"], "r");
    assert_eq!(all["metadata"]["uid"], object["metadata"]["uid"]);
    assert_eq!(all["status"], Value::Null);
    for metadata in [&all["metadata"], &run["spec"]["metadata"]] {
        for field in ["resourceVersion", "managedFields"] {
            assert_eq!(metadata[field], Value::Null);
        }
        assert_eq!(metadata["annotations"][applied], Value::Null);
    }
    world.play(&run, succeeded()).await?;
    subject.ready("True").await?;
    subject.stays_at(1).await
}

fn succeeded() -> Value {
    crate::world::succeeded("True", "")
}
