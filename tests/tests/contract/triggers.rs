//! Events that wake a Runnable.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{
    GUARDED_OBJ, LATE_OBJ, SECONDS, SERVICE_ACCOUNT, TEMPLATE, World, answered, answers,
    definition, document, stamps, succeeded,
};

#[tokio::test]
async fn a_template_that_is_made_later_is_used_at_once() -> Result<()> {
    let world = World::new("late").await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": 1 } }))
        .await?;
    subject.fails("RunTemplateNotFound", "").await?;
    // Long enough for pauses between retries to grow.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let begin = Instant::now();
    world.template(answers()).await?;
    subject.run(1).await?;
    assert!(begin.elapsed() < SECONDS, "{:?}", begin.elapsed());
    Ok(())
}

#[tokio::test]
async fn a_template_that_goes_and_comes_back_changes_nothing() -> Result<()> {
    let (world, subject) = World::with("flapping", answers()).await?;
    let run = subject.run(1).await?;
    for _ in 0..2 {
        world.delete(TEMPLATE, &world.template_name()).await?;
        subject.fails("RunTemplateNotFound", "").await?;
        world.template(answers()).await?;
        subject
            .says("RunTemplateReady", "True", "Ready", "")
            .await?;
    }
    subject.stays_at(1).await?;
    world.play(&run, answered(42)).await?;
    subject.outputs(json!({ "answer": 42 })).await
}

#[tokio::test]
async fn an_edited_template_wakes_every_runnable_that_uses_it() -> Result<()> {
    let world = World::new("edited").await?;
    world.template(stamps(json!({ "version": 1 }))).await?;
    let mut subjects = Vec::new();
    for name in ["one", "two", "three"] {
        subjects.push(world.runnable(name, json!({})).await?);
    }
    for subject in &subjects {
        subject.run(1).await?;
    }
    world.template(stamps(json!({ "version": 2 }))).await?;
    for subject in &subjects {
        assert_eq!(subject.run(2).await?["spec"]["version"], 2);
    }
    Ok(())
}

#[tokio::test]
async fn a_kind_that_is_defined_later_is_stamped_seconds_after() -> Result<()> {
    let world = World::new("kind").await?;
    world
        .template(json!({ "template": document(LATE_OBJ, json!({ "a": 1 })) }))
        .await?;
    let subject = world.runnable("r", json!({})).await?;
    let part = "no matches for kind \"LateObj\" in version \"test.run/v1\"";
    subject
        .fails("StampedObjectRejectedByAPIServer", part)
        .await?;
    tokio::time::sleep(Duration::from_secs(4)).await;
    world.put(definition(LATE_OBJ)).await?;
    world.cluster.definitions_served().await?;
    let begin = Instant::now();
    let run = subject.runs_of(LATE_OBJ, 1).await?.remove(0);
    assert!(begin.elapsed() < SECONDS, "{:?}", begin.elapsed());
    world.play(&run, succeeded("True", "")).await?;
    subject.ready("True").await?;
    Ok(())
}

#[tokio::test]
async fn an_account_that_is_made_later_is_used_at_once() -> Result<()> {
    let world = World::new("account").await?;
    world.template(answers()).await?;
    let spec = json!({ "serviceAccountName": "late", "inputs": { "foo": 1 } });
    let subject = world.runnable("r", spec).await?;
    subject.fails("ServiceAccountError", "").await?;
    let account =
        json!({ "apiVersion": "v1", "kind": SERVICE_ACCOUNT.name, "metadata": { "name": "late" } });
    let begin = Instant::now();
    world.put(account).await?;
    subject.run(1).await?;
    assert!(begin.elapsed() < SECONDS, "{:?}", begin.elapsed());
    Ok(())
}

#[tokio::test]
async fn a_cluster_wide_grant_is_noticed_within_seconds() -> Result<()> {
    let world = World::new("granted").await?;
    world
        .template(json!({ "template": document(GUARDED_OBJ, json!({})) }))
        .await?;
    let subject = world.runnable("r", json!({})).await?;
    subject
        .fails("StampedObjectRejectedByAPIServer", "is forbidden")
        .await?;
    let rights = json!([
        {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": world.namespace },
            "rules": [{ "apiGroups": ["test.run"], "resources": ["guardedobjs"], "verbs": ["list", "create"] }],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": world.namespace },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": world.namespace },
            "subjects": [{ "kind": "ServiceAccount", "name": "default", "namespace": world.namespace }],
        },
    ]);
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": rights });
    let begin = Instant::now();
    world
        .cluster
        .apply_yaml(&world.namespace, &list.to_string())
        .await?;
    subject.runs_of(GUARDED_OBJ, 1).await?;
    assert!(begin.elapsed() < SECONDS, "{:?}", begin.elapsed());
    Ok(())
}

#[tokio::test]
async fn a_label_of_the_runnable_that_is_read_makes_a_run() -> Result<()> {
    let world = World::new("label").await?;
    world
        .template(stamps(
            json!({ "label": "$(runnable.metadata.labels.version)$" }),
        ))
        .await?;
    let metadata = json!({ "name": "r", "labels": { "version": "v1" } });
    let subject = world.runnable_with(metadata, json!({})).await?;
    subject.run(1).await?;
    subject
        .edit(|object| object["metadata"]["labels"]["version"] = "v2".into())
        .await?;
    assert_eq!(subject.run(2).await?["spec"]["label"], "v2");
    Ok(())
}

#[tokio::test]
async fn one_bad_runnable_holds_up_no_other() -> Result<()> {
    let world = World::new("others").await?;
    world.template(answers()).await?;
    for index in 0..10 {
        world.runnable(&format!("bad{index}"), json!({})).await?;
    }
    let good = world
        .runnable("good", json!({ "inputs": { "foo": 1 } }))
        .await?;
    let begin = Instant::now();
    good.answer(1, json!(1)).await?;
    good.input("foo", 2).await?;
    good.answer(2, json!(2)).await?;
    assert!(begin.elapsed() < SECONDS, "{:?}", begin.elapsed());
    Ok(())
}

#[tokio::test]
async fn forged_runs_give_nothing_and_are_left_alone() -> Result<()> {
    let (world, subject) = World::with("forged", answers()).await?;
    subject.answer(1, json!("true")).await?;
    let run = subject.run(1).await?;
    let mut forged =
        json!({ "apiVersion": run["apiVersion"], "kind": run["kind"], "spec": run["spec"] });
    forged["metadata"] = json!({
        "name": "forged", "labels": run["metadata"]["labels"], "annotations": run["metadata"]["annotations"],
        "ownerReferences": run["metadata"]["ownerReferences"],
    });
    forged["metadata"]["labels"]["carto.run/run-sequence"] = "99".into();
    let forged = world.put(forged).await?;
    world.play(&forged, answered("forged")).await?;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let status = subject.status().await?;
    assert_eq!(status["outputs"], json!({ "answer": "true" }));
    assert_eq!(status["currentRun"]["sequence"], 1);
    assert_eq!(status["history"], Value::Null);
    assert_eq!(status["unfinishedRuns"], Value::Null);
    assert_eq!(
        subject.runs(2).await?.len(),
        2,
        "the stranger is still there"
    );
    Ok(())
}
