//! Additions to the stamped document, and removals from it.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{Subject, World, name_of, stamps, text};

/// Returns the run of a Runnable named `r` whose template has these metadata beside its `generateName`.
async fn stamped(world: &World, metadata: Value) -> Result<(Subject, Value)> {
    let mut spec = stamps(json!({}));
    spec["template"]["metadata"] = metadata;
    spec["template"]["metadata"]["generateName"] = "run-".into();
    world.template(spec).await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "ns": world.namespace } }))
        .await?;
    let run = subject.run(1).await?;
    Ok((subject, run))
}

#[tokio::test]
async fn a_run_lives_in_the_namespace_of_its_runnable() -> Result<()> {
    let world = World::new("namespace").await?;
    let metadata = json!({ "namespace": "$(runnable.spec.inputs.ns)$" });
    let (subject, run) = stamped(&world, metadata).await?;
    assert_eq!(run["metadata"]["namespace"], world.namespace);
    subject.input("ns", "kube-system").await?;
    let said = subject.fails_in_full("TemplateStampFailure", "").await?;
    let wanted = format!(
        "unable to stamp object for run template [{}]: cannot set namespace in resource template",
        world.template_name()
    );
    assert_eq!(said, wanted);
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_run_is_owned_by_its_runnable_and_nobody_else() -> Result<()> {
    let world = World::new("owner").await?;
    let foreign =
        json!([{ "apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y", "controller": true }]);
    let (subject, run) = stamped(&world, json!({ "ownerReferences": foreign })).await?;
    let owner = json!([{
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "name": "r", "uid": subject.object().await?["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": false,
    }]);
    assert_eq!(run["metadata"]["ownerReferences"], owner);
    Ok(())
}

#[tokio::test]
async fn labels_of_the_template_pass_but_for_those_that_are_ours() -> Result<()> {
    let world = World::new("labels").await?;
    let labels = json!({
        "app": "shop", "carto.run/workload-name": "shop", "carto.run/runnable-name": "forged", "carto.run/run-template-name": "forged",
        "carto.run/runnable-uid": "forged", "carto.run/run-sequence": "99",
    });
    let annotations = json!({ "note": "kept", "carto.run/input-hash": "forged" });
    let metadata = json!({ "labels": labels, "annotations": annotations });
    let (subject, run) = stamped(&world, metadata).await?;
    let wanted = json!({
        "app": "shop", "carto.run/workload-name": "shop", "carto.run/runnable-name": "r", "carto.run/run-template-name": world.template_name(),
        "carto.run/runnable-uid": subject.object().await?["metadata"]["uid"], "carto.run/run-sequence": "1",
    });
    assert_eq!(run["metadata"]["labels"], wanted);
    let annotations = &run["metadata"]["annotations"];
    assert_eq!(annotations["note"], "kept");
    assert!(
        text(&annotations["carto.run/input-hash"]).starts_with("v1:"),
        "{annotations}"
    );
    Ok(())
}

#[tokio::test]
async fn the_labels_of_an_unlabelled_runnable_are_no_error() -> Result<()> {
    let world = World::new("unlabelled").await?;
    let (subject, run) =
        stamped(&world, json!({ "labels": "$(runnable.metadata.labels)$" })).await?;
    assert_eq!(run["metadata"]["labels"]["carto.run/runnable-name"], "r");
    subject
        .edit(|object| object["metadata"]["labels"] = json!({ "app": "shop" }))
        .await?;
    assert_eq!(subject.run(2).await?["metadata"]["labels"]["app"], "shop");
    Ok(())
}

#[tokio::test]
async fn one_label_that_is_no_text_drops_them_all() -> Result<()> {
    let world = World::new("typed").await?;
    let (_, run) = stamped(&world, json!({ "labels": { "good": "x", "bad": 3 } })).await?;
    assert_eq!(run["metadata"]["labels"]["good"], Value::Null);
    assert_eq!(run["metadata"]["labels"]["carto.run/runnable-name"], "r");
    Ok(())
}

#[tokio::test]
async fn finalizers_and_status_of_the_template_do_not_reach_the_run() -> Result<()> {
    let world = World::new("stripped").await?;
    let mut spec = stamps(json!({ "kept": true }));
    spec["template"]["metadata"]["finalizers"] = json!(["test.run/keep"]);
    spec["template"]["status"] = crate::world::succeeded("True", "forged");
    world.template(spec).await?;
    let subject = world.runnable("r", json!({})).await?;
    let run = subject.run(1).await?;
    assert_eq!(run["metadata"]["finalizers"], Value::Null);
    assert_eq!(run["status"], Value::Null);
    assert_eq!(run["spec"], json!({ "kept": true }));
    let (status, reason, message) = world.accepted(&world.template_name()).await?;
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("True", "AcceptedWithWarnings")
    );
    let wanted = "metadata.finalizers is removed from the run; status is removed from the run";
    assert_eq!(message, wanted);
    Ok(())
}

#[tokio::test]
async fn names_of_more_than_63_characters_are_stamped() -> Result<()> {
    let world = World::new("long").await?;
    let mut spec = stamps(json!({}));
    spec["template"]["metadata"]["generateName"] = "$(runnable.metadata.name)$-".into();
    let template = world.another_template(&"t".repeat(100), spec).await?;
    for length in [63, 64, 253] {
        let name = "n".repeat(length);
        let reference = json!({ "runTemplateRef": { "name": template } });
        let subject = world.runnable(&name, reference).await?;
        let run = subject.run(1).await?;
        assert!(name_of(&run).len() <= 52, "{run}");
        assert_eq!(run["metadata"]["generateName"], format!("{name}-"));
        let labels = &run["metadata"]["labels"];
        assert_eq!(
            text(&labels["carto.run/runnable-name"]).len(),
            63,
            "{labels}"
        );
        assert_eq!(
            text(&labels["carto.run/run-template-name"]).len(),
            63,
            "{labels}"
        );
        assert_eq!(run["metadata"]["ownerReferences"][0]["name"], name);
        subject.stays_at(1).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_run_has_a_name_of_its_own_and_keeps_its_prefix() -> Result<()> {
    let world = World::new("names").await?;
    let (subject, run) = stamped(&world, json!({})).await?;
    let name = name_of(&run);
    assert!(name.starts_with("run-") && name.len() == 14, "{name}");
    assert_eq!(run["metadata"]["generateName"], "run-");
    assert_eq!(
        subject.observed().await?["status"]["currentRun"]["name"],
        name
    );
    Ok(())
}
