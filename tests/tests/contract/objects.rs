//! Inputs that are fields of any object.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{
    Kind, RUNNABLE, SECRET, Subject, TEST_OBJ, UNWATCHED_OBJ, World, condition, document, stamps,
};

async fn world(prefix: &str) -> Result<World> {
    let world = World::new(prefix).await?;
    world
        .template(stamps(json!({ "inputs": "$(runnable.spec.inputs)$" })))
        .await?;
    let rights = [TEST_OBJ, UNWATCHED_OBJ].map(|kind| kind.rights(&["get", "list"]));
    world.allow("default", &rights).await?;
    Ok(world)
}

/// Makes an object called `name` whose status has a digest, and reports that it is ready or not.
async fn object(world: &World, kind: Kind, name: &str, digest: &str, ready: &str) -> Result<()> {
    let mut object = document(kind, json!({}));
    object["metadata"] = json!({ "name": name, "labels": { "app": name } });
    let object = world.put(object).await?;
    world
        .play(
            &object,
            json!({
                "artifact": { "digest": digest, "revision": format!("main@{digest}") },
                "conditions": [{ "type": "Ready", "status": ready }],
            }),
        )
        .await
}

fn digest_of(kind: Kind, name: &str) -> Value {
    json!({ "name": "digest", "objectRef": {
        "apiVersion": kind.api_version(), "kind": kind.name, "name": name,
        "path": ".status.artifact.digest", "revisionPath": ".status.artifact.revision",
    } })
}

async fn reader(world: &World, source: Value) -> Result<Subject> {
    world
        .runnable(
            "r",
            json!({ "inputs": { "own": 1 }, "inputsFrom": [source] }),
        )
        .await
}

fn digest(run: &Value) -> &Value {
    &run["spec"]["inputs"]["digest"]
}

#[tokio::test]
async fn a_field_of_an_object_is_an_input_and_each_new_value_runs_once() -> Result<()> {
    let world = world("field").await?;
    object(&world, TEST_OBJ, "repo", "d1", "True").await?;
    let r = reader(&world, digest_of(TEST_OBJ, "repo")).await?;
    assert_eq!(digest(&r.run(1).await?), "d1");
    let sources = r.status().await?["currentRun"]["sources"].take();
    let key = format!(
        "TestObj.test.run/{}/repo/{{.status.artifact.revision}}",
        world.namespace
    );
    assert_eq!(sources, json!({ key: "main@d1" }));
    object(&world, TEST_OBJ, "repo", "d2", "True").await?;
    assert_eq!(digest(&r.run(2).await?), "d2");
    let labels = json!({ "metadata": { "labels": { "x": "y" } } });
    world.patch_of(TEST_OBJ, "repo", labels).await?;
    r.stays_at(2).await
}

#[tokio::test]
async fn a_kind_that_the_controller_may_not_watch_is_looked_at_now_and_then() -> Result<()> {
    let world = world("unwatched").await?;
    object(&world, UNWATCHED_OBJ, "repo", "d1", "True").await?;
    let r = reader(&world, digest_of(UNWATCHED_OBJ, "repo")).await?;
    assert_eq!(digest(&r.run(1).await?), "d1");
    object(&world, UNWATCHED_OBJ, "repo", "d2", "True").await?;
    assert_eq!(digest(&r.run(2).await?), "d2");
    r.stays_at(2).await
}

#[tokio::test]
async fn what_says_that_it_is_not_ready_is_waited_for_once_a_run_is_due() -> Result<()> {
    let world = world("not-ready").await?;
    object(&world, TEST_OBJ, "repo", "d1", "True").await?;
    let r = reader(&world, digest_of(TEST_OBJ, "repo")).await?;
    r.run(1).await?;
    object(&world, TEST_OBJ, "repo", "d1", "False").await?;
    r.stays_at(1).await?;
    assert_ne!(
        condition(&r.object().await?, "Ready")["reason"],
        "DependencyNotReady"
    );
    object(&world, TEST_OBJ, "repo", "d2", "False").await?;
    r.says(
        "Ready",
        "Unknown",
        "DependencyNotReady",
        "reports that it is not ready",
    )
    .await?;
    r.stays_at(1).await?;
    object(&world, TEST_OBJ, "repo", "d2", "True").await?;
    assert_eq!(digest(&r.run(2).await?), "d2");
    // With `waitFor: Nothing`, the Runnable does not wait.
    object(&world, TEST_OBJ, "repo", "d3", "False").await?;
    r.edit(|it| it["spec"]["inputsFrom"][0]["objectRef"]["waitFor"] = json!("Nothing"))
        .await?;
    assert_eq!(digest(&r.run(3).await?), "d3");
    Ok(())
}

#[tokio::test]
async fn labels_find_exactly_one() -> Result<()> {
    let world = world("labels").await?;
    let mut source = digest_of(TEST_OBJ, "");
    source["objectRef"]["matchingLabels"] = json!({ "app": "repo" });
    source["objectRef"]
        .as_object_mut()
        .map(|it| it.remove("name"));
    let r = reader(&world, source).await?;
    let none = "TestObj with the labels app=repo, which is not there";
    r.says("Ready", "Unknown", "DependencyNotReady", none)
        .await?;
    object(&world, TEST_OBJ, "repo", "d1", "True").await?;
    assert_eq!(digest(&r.run(1).await?), "d1");
    object(&world, TEST_OBJ, "another", "d2", "True").await?;
    let relabelled = |label: &str| json!({ "metadata": { "labels": { "app": label } } });
    world
        .patch_of(TEST_OBJ, "another", relabelled("repo"))
        .await?;
    r.fails("SourceError", "there are several").await?;
    r.stays_at(1).await?;
    world.patch_of(TEST_OBJ, "repo", relabelled("old")).await?;
    assert_eq!(digest(&r.run(2).await?), "d2");
    r.stays_at(2).await
}

#[tokio::test]
async fn a_path_with_nothing_there_is_waited_for_and_one_that_is_none_is_told() -> Result<()> {
    let world = world("paths").await?;
    object(&world, TEST_OBJ, "repo", "d1", "True").await?;
    let mut source = digest_of(TEST_OBJ, "repo");
    source["objectRef"]["path"] = json!(".status.artifact.size");
    let r = reader(&world, source).await?;
    r.says(
        "Ready",
        "Unknown",
        "DependencyNotReady",
        "nothing at .status.artifact.size",
    )
    .await?;
    for (path, said) in [
        (".status[", "has the path \".status[\", which is not valid"),
        (".status.artifact.*", "too many results for the query"),
    ] {
        r.edit(|it| it["spec"]["inputsFrom"][0]["objectRef"]["path"] = json!(path))
            .await?;
        r.fails("SourceError", said).await?;
    }
    r.stays_at(0).await?;
    r.edit(|it| it["spec"]["inputsFrom"][0]["objectRef"]["path"] = json!(".status.artifact"))
        .await?;
    assert_eq!(digest(&r.run(1).await?)["digest"], "d1");
    Ok(())
}

#[tokio::test]
async fn no_secret_is_read_that_way_in_no_version() -> Result<()> {
    let world = world("secret").await?;
    world.allow("default", &[SECRET.rights(&["get"])]).await?;
    let reference = json!({ "apiVersion": "v1", "kind": "Secret", "name": "db", "path": ".data" });
    let r = reader(&world, json!({ "name": "digest", "objectRef": reference })).await?;
    r.fails("SourceError", "reads a Secret by objectRef")
        .await?;
    r.edit(|it| it["spec"]["inputsFrom"][0]["objectRef"]["apiVersion"] = json!("v2"))
        .await?;
    r.fails("SourceError", "reads a Secret by objectRef")
        .await?;
    r.stays_at(0).await
}

#[tokio::test]
async fn a_kind_that_nobody_serves_is_named() -> Result<()> {
    let world = world("unserved").await?;
    let reference =
        json!({ "apiVersion": "no.such/v1", "kind": "Thing", "name": "a", "path": ".status" });
    let r = reader(&world, json!({ "name": "digest", "objectRef": reference })).await?;
    r.fails("SourceError", "has no kind \"Thing\"").await?;
    r.stays_at(0).await
}

#[tokio::test]
async fn a_runnable_that_is_read_that_way_is_on_a_cycle_all_the_same() -> Result<()> {
    let world = world("cycle").await?;
    world.allow("default", &[RUNNABLE.rights(&["get"])]).await?;
    let r = reader(&world, digest_of(RUNNABLE, "r")).await?;
    r.fails("DependencyCycle", "its inputs come from itself")
        .await?;
    r.stays_at(0).await
}
