//! No run can be made of the field that demands approval or of an approval.

use anyhow::Result;
use serde_json::{Value, json};

use super::{APPROVED, approve, asked, begun};
use crate::world::{
    CONFIG_MAP, RUNNABLE, Subject, World, answers, config_map, stamps, succeeded, text,
};

/// Makes a Runnable of a template whose runs carry this.
async fn carrying(prefix: &str, tag: &str, spec: Value) -> Result<Subject> {
    let world = World::new(prefix).await?;
    world.template(stamps(json!({ "it": tag }))).await?;
    world.runnable("r", spec).await
}

#[tokio::test]
async fn no_template_reads_whether_a_person_is_asked() -> Result<()> {
    let spec = json!({ "approval": "Manual" });
    let subject = carrying("field", "$(runnable.spec.approval)$", spec).await?;
    let said = subject
        .fails("TemplateStampFailure", "runnable.spec.approval")
        .await?;
    assert!(said.contains("must not be read"), "{said}");
    assert_eq!(subject.status().await?["pending"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn no_template_reads_an_approval() -> Result<()> {
    let tag = r"$(runnable.metadata.annotations['carto\.run/approved'])$";
    let subject = carrying("annotation", tag, json!({})).await?;
    approve(&subject, "1:v1:00ff").await?;
    let said = subject.fails("TemplateStampFailure", "approved").await?;
    assert!(said.contains("must not be read"), "{said}");
    subject.stays_at(0).await
}

/// A template that copies everything would otherwise run once more for each approval.
#[tokio::test]
async fn an_approval_changes_nothing_of_what_is_rendered() -> Result<()> {
    let world = World::new("copied").await?;
    let copies = json!({
        "spec": "$(runnable.spec)$", "annotations": "$(runnable.metadata.annotations)$",
    });
    world.template(stamps(copies)).await?;
    let metadata = json!({ "name": "r", "annotations": { "team": "shop" } });
    let spec = json!({ "approval": "Manual" });
    let subject = world.runnable_with(metadata, spec).await?;
    let run = begun(&subject, 1, 1).await?;
    assert_eq!(run["spec"]["annotations"], json!({ "team": "shop" }));
    assert_eq!(run["spec"]["spec"]["approval"], Value::Null);
    world.play(&run, succeeded("True", "")).await?;
    subject.ready("True").await?;
    for given in ["2:v1:00ff", "nonsense"] {
        approve(&subject, given).await?;
        subject.stays_at(1).await?;
    }
    for policy in ["Automatic", "Manual"] {
        subject
            .edit(|it| it["spec"]["approval"] = policy.into())
            .await?;
        subject.stays_at(1).await?;
    }
    subject.ready("True").await?;
    Ok(())
}

/// The same holds without another annotation: then the template sees none at all.
#[tokio::test]
async fn an_approval_changes_nothing_where_it_is_the_only_annotation() -> Result<()> {
    let spec = json!({ "approval": "Manual" });
    let subject = carrying("only", "$(runnable.metadata)$", spec).await?;
    begun(&subject, 1, 1).await?;
    subject
        .edit(|it| drop(it["metadata"]["annotations"].take()))
        .await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn the_annotation_of_a_selected_object_makes_no_run() -> Result<()> {
    let world = World::new("selected").await?;
    world
        .template(stamps(json!({ "it": "$(selected.metadata)$" })))
        .await?;
    let mut object = config_map("it", json!({ "is": "it" }), json!({}));
    object["metadata"]["annotations"] = json!({ "team": "shop", APPROVED: "1:v1:00ff" });
    world.put(object.clone()).await?;
    let resource = json!({ "apiVersion": "v1", "kind": CONFIG_MAP.name });
    let selector = json!({ "resource": resource, "matchingLabels": { "is": "it" } });
    let subject = world.runnable("r", json!({ "selector": selector })).await?;
    let run = subject.run(1).await?;
    let copied = &run["spec"]["it"]["annotations"];
    assert_eq!(copied, &json!({ "team": "shop" }));
    let set = |value: &str| json!({ "metadata": { "annotations": { APPROVED: value } } });
    world.patch_object(&object, set("2:v1:00ff")).await?;
    subject.stays_at(1).await?;
    // The template still sees the annotation beside it.
    let other = json!({ "metadata": { "annotations": { "team": "market" } } });
    world.patch_object(&object, other).await?;
    assert_eq!(
        subject.run(2).await?["spec"]["it"]["annotations"]["team"],
        "market"
    );
    Ok(())
}

/// One Runnable may select another, whose approvals must not show.
#[tokio::test]
async fn the_approval_of_a_selected_runnable_makes_no_run() -> Result<()> {
    let world = World::new("other").await?;
    world
        .allow("default", &[RUNNABLE.rights(&["list"])])
        .await?;
    world.template(answers()).await?;
    let spec = json!({ "inputs": { "foo": 1 }, "approval": "Manual" });
    let metadata = json!({ "name": "other", "labels": { "is": "it" } });
    let other = world.runnable_with(metadata, spec).await?;
    let approval = asked(&other, 1).await?;
    let copies = stamps(json!({ "it": "$(selected.metadata)$" }));
    let template = world.another_template("copies", copies).await?;
    let resource = json!({ "apiVersion": RUNNABLE.api_version(), "kind": RUNNABLE.name });
    let spec = json!({
        "runTemplateRef": { "name": template },
        "selector": { "resource": resource, "matchingLabels": { "is": "it" } },
    });
    let subject = world.runnable("r", spec).await?;
    subject.run(1).await?;
    approve(&other, &approval).await?;
    other.run(1).await?;
    let run = subject.run(1).await?;
    let seen = run["spec"]["it"].to_string();
    assert!(!seen.contains(APPROVED), "{seen}");
    assert_eq!(text(&run["spec"]["it"]["name"]), "other");
    subject.stays_at(1).await
}
