//! `ClusterRunTemplate.status`: every defect of a template, by its path.

use anyhow::Result;
use cartouche_protocol::messages::format::MessageParts;
use serde_json::{Value, json};

use crate::world::{SECONDS, TEMPLATE, TEST_OBJ, World, condition, document, stamps};

fn changed(pointer: &str, value: Value) -> Value {
    let mut spec = json!({ "template": document(TEST_OBJ, json!({})), "outputs": {} });
    let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
    if let Some(parent) = spec.pointer_mut(parent) {
        parent[key] = value;
    }
    spec
}

/// Writes a template for each spec, all at once, and returns the reports in order.
async fn judged(world: &World, specs: Vec<Value>) -> Result<Vec<(String, String, String)>> {
    let mut said = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        world
            .another_template(&index.to_string(), spec.clone())
            .await?;
    }
    for index in 0..specs.len() {
        let name = format!("{}-{index}", world.namespace);
        said.push(world.accepted(&name).await?);
    }
    Ok(said)
}

#[tokio::test]
async fn a_good_template_is_accepted() -> Result<()> {
    let world = World::new("good").await?;
    world
        .template(stamps(json!({ "a": "$(runnable.metadata.name)$" })))
        .await?;
    let said = world.accepted(&world.template_name()).await?;
    assert_eq!(said, ("True".into(), "Accepted".into(), String::new()));
    Ok(())
}

#[tokio::test]
async fn a_bad_template_is_told_what_is_wrong_and_where() -> Result<()> {
    let world = World::new("bad").await?;
    let tag = "failed to recursively evaluate template: failed to interpolate template at path";
    let cases = [
        (
            "/template/kind",
            json!(""),
            "kind: kind is missing".to_owned(),
        ),
        (
            "/template/apiVersion",
            json!(7),
            "apiVersion: apiVersion is missing".to_owned(),
        ),
        (
            "/template/metadata/namespace",
            json!("default"),
            "metadata.namespace: cannot set namespace in resource template".to_owned(),
        ),
        (
            "/template/metadata",
            json!({}),
            "metadata: neither generateName nor name is set".to_owned(),
        ),
        (
            "/template/metadata",
            json!([]),
            "metadata: it is not an object".to_owned(),
        ),
        (
            "/template/metadata/name",
            json!(3),
            "metadata.name: it is not a string".to_owned(),
        ),
        (
            "/template/spec/x",
            json!("$()$"),
            format!("{tag} [spec.x]: evaluate tag $()$: empty jsonpath not allowed"),
        ),
        (
            "/template/spec/x",
            json!([{ "y": "a $( runnable.spec )$" }]),
            format!(
                "{tag} [spec.x.[0]y]: interpolate tag: evaluate jsonpath: evaluate: failed to find results: unrecognized identifier runnable"
            ),
        ),
        (
            "/template/spec/x",
            json!("$(runnable.status.outputs.a)$"),
            format!(
                "{tag} [spec.x]: evaluate tag $(runnable.status.outputs.a)$: runnable.status is not readable"
            ),
        ),
        (
            "/template/spec/x",
            json!("$(selected.metadata.managedFields)$"),
            format!(
                "{tag} [spec.x]: evaluate tag $(selected.metadata.managedFields)$: selected.metadata.managedFields is not readable"
            ),
        ),
        (
            "/template/spec/x",
            json!("$(inputs.a)$"),
            "a tag reads runnable or selected, not 'inputs'".to_owned(),
        ),
        (
            "/outputs/x",
            json!(".a[?(@.b=~'c')]"),
            "outputs.x: failed to evaluate path [.a[?(@.b=~'c')]]".to_owned(),
        ),
        (
            "/outputs/x",
            json!(""),
            "outputs.x: failed to evaluate path []: empty jsonpath not allowed".to_owned(),
        ),
    ];
    let specs = cases
        .iter()
        .map(|(at, value, _)| changed(at, value.clone()));
    let said = judged(&world, specs.collect()).await?;
    for ((at, value, part), (status, reason, message)) in cases.iter().zip(said) {
        assert_eq!(
            (status.as_str(), reason.as_str()),
            ("False", "Invalid"),
            "{at} {value}"
        );
        assert!(message.contains(part), "{at} {value}: {message}");
    }
    Ok(())
}

#[tokio::test]
async fn kinds_that_could_go_on_for_ever_are_not_accepted() -> Result<()> {
    let world = World::new("own").await?;
    let kinds = ["Runnable", "ClusterRunTemplate"];
    let specs = kinds.map(|kind| {
        let mut spec = stamps(json!({}));
        spec["template"]["apiVersion"] = "carto.run/v1alpha1".into();
        spec["template"]["kind"] = kind.into();
        spec
    });
    for (kind, (status, _, message)) in kinds.iter().zip(judged(&world, specs.to_vec()).await?) {
        assert_eq!(status, "False");
        let wanted = format!("kind: a run cannot be a {kind} of carto.run");
        assert!(message.contains(&wanted), "{message}");
    }
    Ok(())
}

#[tokio::test]
async fn a_health_rule_is_checked_too() -> Result<()> {
    let world = World::new("rule").await?;
    let mut spec = stamps(json!({}));
    let bad = json!({ "matchFields": [{ "key": ".a[", "operator": "Exists", "messagePath": "{.a}{.b}" }] });
    let valueless = json!({ "matchFields": [{ "key": ".a", "operator": "In" }] });
    spec["healthRule"] = json!({ "multiMatch": { "healthy": bad, "unhealthy": valueless } });
    world.template(spec).await?;
    let (status, _, message) = world.accepted(&world.template_name()).await?;
    assert_eq!(status, "False");
    for part in [
        "healthRule.multiMatch.healthy.matchFields[0].key: failed to evaluate path [.a[]",
        "healthRule.multiMatch.healthy.matchFields[0].messagePath: failed to evaluate path [{.a}{.b}]",
        "healthRule.multiMatch.unhealthy.matchFields[0].values: In needs at least one value",
    ] {
        assert!(message.contains(part), "{message}");
    }
    Ok(())
}

#[tokio::test]
async fn all_problems_of_a_template_are_named_at_once() -> Result<()> {
    let world = World::new("all").await?;
    let mut spec = stamps(json!({ "b": "$()$", "a": ["$(runable.x)$"] }));
    spec["template"]["kind"].take();
    spec["outputs"] = json!({ "o": "" });
    world.template(spec).await?;
    let (_, _, said) = world.accepted(&world.template_name()).await?;
    let told = MessageParts::parse(&said);
    let first = "it would fail for every Runnable: the template has no kind; spec.a[0]: ";
    assert!(told.what.starts_with(first), "{said}");
    assert!(told.to_do.is_some(), "{said}");
    let message = told.in_full.unwrap_or_default();
    let at = |part: &str| {
        message
            .find(part)
            .unwrap_or_else(|| panic!("no {part} in {message}"))
    };
    assert!(at("kind: ") < at("[spec.a.[0]]"), "{message}");
    assert!(at("[spec.a.[0]]") < at("[spec.b]"), "{message}");
    assert!(at("[spec.b]") < at("outputs.o: "), "{message}");

    let outputs = (10..23).map(|index| (format!("o{index}"), json!("")));
    let outputs: serde_json::Map<_, _> = outputs.collect();
    world
        .template(json!({ "template": document(TEST_OBJ, json!({})), "outputs": outputs }))
        .await?;
    let (_, _, message) = world.accepted(&world.template_name()).await?;
    assert!(message.contains("outputs.o19: "), "{message}");
    assert!(!message.contains("outputs.o20: "), "{message}");
    assert!(message.ends_with("; and 3 more"), "{message}");
    Ok(())
}

#[tokio::test]
async fn what_is_written_in_vain_is_warned_of() -> Result<()> {
    let world = World::new("warned").await?;
    let cases = [
        (
            "/template/metadata/finalizers",
            json!(["a/b"]),
            "metadata.finalizers is removed from the run",
        ),
        (
            "/template/metadata/ownerReferences",
            json!([]),
            "metadata.ownerReferences is removed from the run",
        ),
        (
            "/template/metadata/uid",
            json!("x"),
            "metadata.uid is removed from the run",
        ),
        (
            "/template/metadata/resourceVersion",
            json!("1"),
            "metadata.resourceVersion is removed from the run",
        ),
        (
            "/template/status",
            json!({ "a": 1 }),
            "status is removed from the run",
        ),
        (
            "/template/metadata/labels",
            json!({ "carto.run/runnable-name": "x" }),
            "metadata.labels: carto.run/runnable-name is overwritten",
        ),
        (
            "/template/metadata/annotations",
            json!({ "carto.run/input-hash": "x" }),
            "metadata.annotations: carto.run/input-hash is overwritten",
        ),
        (
            "/template/metadata/labels",
            json!({ "a": 1 }),
            "no label of the template is set",
        ),
        (
            "/template/metadata/name",
            json!("fixed"),
            "generateName gives every run a name of its own",
        ),
        (
            "/template/spec/x",
            json!("$(runnable.metadata.name)"),
            "spec.x: a tag is not closed",
        ),
        (
            "/template/spec/x",
            json!("$(params.a)$(params.b)"),
            "spec.x: $(params.a)$ is not read as a tag",
        ),
        (
            "/template/spec/$(runnable.kind)$",
            json!(1),
            "tags in keys stay as they are",
        ),
    ];
    let specs = cases
        .iter()
        .map(|(at, value, _)| changed(at, value.clone()));
    let said = judged(&world, specs.collect()).await?;
    for ((at, _, part), (status, reason, message)) in cases.iter().zip(said) {
        let said = (status.as_str(), reason.as_str());
        assert_eq!(said, ("True", "AcceptedWithWarnings"), "{at}: {message}");
        assert!(message.contains(part), "{at}: {message}");
    }
    Ok(())
}

#[tokio::test]
async fn a_template_is_judged_again_after_every_change() -> Result<()> {
    let world = World::new("again").await?;
    let name = world.template_name();
    let bad = |tag: &str| stamps(json!({ "x": tag }));
    world.template(bad("$()$")).await?;
    assert_eq!(world.accepted(&name).await?.0, "False");
    let says = async |kind: &str, field: &str| {
        let template = world.get(TEMPLATE, &name).await?;
        anyhow::Ok(condition(&template, kind)[field].clone())
    };
    let since = async || says("Accepted", "lastTransitionTime").await;
    let first = since().await?;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    world.template(bad("$(runable.spec)$")).await?;
    let (status, _, message) = world.accepted(&name).await?;
    assert_eq!(status, "False");
    assert!(message.contains("'runable'"), "{message}");
    assert_eq!(since().await?, first, "the status is the same");
    let stalled = async || says("Stalled", "status").await;
    assert_eq!(stalled().await?, "True", "only a change can help");
    world.template(bad("fine")).await?;
    assert_eq!(world.accepted(&name).await?.0, "True");
    assert_ne!(since().await?, first, "the status is another");
    assert_eq!(stalled().await?, Value::Null);
    Ok(())
}

#[tokio::test]
async fn a_runnable_says_what_is_wrong_with_its_template() -> Result<()> {
    let world = World::new("told").await?;
    world.template(stamps(json!({ "x": "$()$" }))).await?;
    let subject = world.runnable("r", json!({})).await?;
    let (_, _, problem) = world.accepted(&world.template_name()).await?;
    let said = subject.fails_in_full("TemplateStampFailure", "").await?;
    let template = world.template_name();
    let problem = MessageParts::parse(&problem).in_full.unwrap_or_default();
    let wanted = format!("unable to stamp object for run template [{template}]: {problem}");
    assert_eq!(said, wanted);
    let begin = std::time::Instant::now();
    world.template(stamps(json!({ "x": "fine" }))).await?;
    subject.run(1).await?;
    assert!(begin.elapsed() < SECONDS, "{:?}", begin.elapsed());
    Ok(())
}
