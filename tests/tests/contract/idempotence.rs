//! Changes that make a run, and those that make none.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{
    CONFIG_MAP, PLAIN_OBJ, RUNNABLE, SOON, TEST_OBJ, World, answers, document, name_of, specless,
    stamps, succeeded, text,
};

#[tokio::test]
async fn the_template_is_stamped_exactly_once() -> Result<()> {
    let world = World::new("once").await?;
    let audit = world.cluster.audit()?;
    world.template(answers()).await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": "bar" } }))
        .await?;
    let run = subject.run(1).await?;
    assert_eq!(run["spec"], json!({ "foo": "bar" }));
    world.play(&run, succeeded("Unknown", "going on")).await?;
    subject.answer(1, json!("done")).await?;
    subject.stays_at(1).await?;
    assert_eq!(audit.creates(&world.namespace, "testobjs.test.run")?, 1);
    Ok(())
}

#[tokio::test]
async fn a_changed_input_makes_a_second_run_beside_the_first() -> Result<()> {
    let world = World::new("input").await?;
    world.template(answers()).await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": "bar" } }))
        .await?;
    let first = subject.run(1).await?;
    subject.input("foo", "new").await?;
    let runs = subject.runs(2).await?;
    assert_eq!(runs[0]["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!(runs[1]["spec"], json!({ "foo": "new" }));
    subject.stays_at(2).await
}

#[tokio::test]
async fn a_changed_label_in_the_template_makes_exactly_one_more_run() -> Result<()> {
    let world = World::new("label").await?;
    let mut spec = stamps(json!({ "same": true }));
    world.template(spec.clone()).await?;
    let subject = world.runnable("r", json!({})).await?;
    subject.run(1).await?;
    spec["template"]["metadata"]["labels"] = json!({ "new": "label" });
    world.template(spec).await?;
    let run = subject.run(2).await?;
    assert_eq!(run["metadata"]["labels"]["new"], "label");
    assert_eq!(run["spec"], json!({ "same": true }));
    subject.stays_at(2).await
}

#[tokio::test]
async fn there_and_back_again_makes_three_runs() -> Result<()> {
    let world = World::new("aba").await?;
    world.template(answers()).await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": "a" } }))
        .await?;
    subject.run(1).await?;
    subject.input("foo", "b").await?;
    subject.run(2).await?;
    subject.input("foo", "a").await?;
    let runs = subject.runs(3).await?;
    let foos: Vec<&Value> = runs.iter().map(|run| &run["spec"]["foo"]).collect();
    assert_eq!(foos, ["a", "b", "a"]);
    subject.stays_at(3).await
}

#[tokio::test]
async fn two_runnables_of_one_template_have_a_run_each() -> Result<()> {
    let world = World::new("two").await?;
    world.template(stamps(json!({ "same": true }))).await?;
    let one = world.runnable("one", json!({})).await?;
    let two = world.runnable("two", json!({})).await?;
    let (first, second) = (one.run(1).await?, two.run(1).await?);
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
    assert_eq!(second["metadata"]["ownerReferences"][0]["name"], "two");
    one.stays_at(1).await?;
    two.stays_at(1).await
}

#[tokio::test]
async fn a_kind_without_spec_and_status_is_stamped_once() -> Result<()> {
    let world = World::new("specless").await?;
    let data = json!({ "label": "$(runnable.metadata.labels.my-label)$" });
    let mut document = specless(CONFIG_MAP, "data", data);
    world.template(json!({ "template": document })).await?;
    let metadata = json!({ "name": "r", "labels": { "my-label": "first" } });
    let subject = world.runnable_with(metadata, json!({})).await?;
    assert_eq!(
        subject.runs_of(CONFIG_MAP, 1).await?[0]["data"]["label"],
        "first"
    );
    subject.stays_at_of(CONFIG_MAP, 1).await?;
    document["data"]["more"] = "data".into();
    world.template(json!({ "template": document })).await?;
    assert_eq!(
        subject.runs_of(CONFIG_MAP, 2).await?[1]["data"]["more"],
        "data"
    );
    subject.stays_at_of(CONFIG_MAP, 2).await
}

#[tokio::test]
async fn a_kind_whose_status_is_no_subresource_is_stamped_once() -> Result<()> {
    let world = World::new("plain").await?;
    let template = document(PLAIN_OBJ, json!({}));
    world
        .template(json!({ "template": template, "outputs": { "answer": ".status.answer" } }))
        .await?;
    let subject = world.runnable("r", json!({})).await?;
    let run = subject.runs_of(PLAIN_OBJ, 1).await?.remove(0);
    world.play(&run, crate::world::answered(42)).await?;
    subject.outputs(json!({ "answer": 42 })).await?;
    subject.stays_at_of(PLAIN_OBJ, 1).await
}

#[tokio::test]
async fn a_run_that_somebody_changes_or_cancels_is_not_run_again() -> Result<()> {
    let (world, subject) = World::with("mutated", answers()).await?;
    let run = subject.run(1).await?;
    world
        .patch_object(&run, json!({ "spec": { "foo": 7, "status": "Cancelled" } }))
        .await?;
    world
        .patch_object(&run, json!({ "metadata": { "labels": { "a": "b" } } }))
        .await?;
    subject.stays_at(1).await?;
    world.play(&run, succeeded("False", "cancelled")).await?;
    subject
        .says("Ready", "False", "SucceededCondition", "cancelled")
        .await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_finished_run_that_is_deleted_is_not_run_again() -> Result<()> {
    let (world, subject) = World::with("gone", answers()).await?;
    subject.answer(1, json!(42)).await?;
    let run = subject.run(1).await?;
    world.delete(TEST_OBJ, name_of(&run)).await?;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(subject.status().await?["currentRun"]["sequence"], 1);
    assert_eq!(subject.runs(0).await?.len(), 0);
    subject.ready("True").await?;
    subject.outputs(json!({ "answer": 42 })).await
}

#[tokio::test]
async fn an_unfinished_run_that_is_deleted_is_made_again_once() -> Result<()> {
    let (world, subject) = World::with("again", answers()).await?;
    let first = subject.run(1).await?;
    world.delete(TEST_OBJ, name_of(&first)).await?;
    let next = |object: &Value| object["status"]["currentRun"]["sequence"] == 2;
    subject.until("the next sequence", next).await?;
    let second = subject.run(1).await?;
    assert_ne!(name_of(&second), name_of(&first));
    assert_eq!(second["spec"], first["spec"]);
    Ok(())
}

#[tokio::test]
async fn another_template_that_renders_the_same_makes_no_run() -> Result<()> {
    let world = World::new("switch").await?;
    world.template(answers()).await?;
    let same = world.another_template("same", answers()).await?;
    let other = world
        .another_template("other", stamps(json!({ "bar": 1 })))
        .await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": 1 } }))
        .await?;
    subject.answer(1, json!(42)).await?;
    let switch = async |name: &str| {
        let name = name.to_owned();
        subject
            .edit(|object| object["spec"]["runTemplateRef"]["name"] = name.clone().into())
            .await
    };
    switch(&same).await?;
    subject.stays_at(1).await?;
    subject.ready("True").await?;
    switch(&other).await?;
    assert_eq!(subject.run(2).await?["spec"], json!({ "bar": 1 }));
    Ok(())
}

#[tokio::test]
async fn what_the_template_does_not_read_may_change_without_a_run() -> Result<()> {
    let world = World::new("unread").await?;
    world.template(answers()).await?;
    world
        .allow("other", &[TEST_OBJ.rights(&["list", "create", "delete"])])
        .await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": 1 } }))
        .await?;
    subject.answer(1, json!(42)).await?;
    subject
        .edit(|object| {
            object["metadata"]["labels"] = json!({ "a": "b" });
            object["metadata"]["annotations"] = json!({ "c": "d" });
            object["spec"]["retentionPolicy"] =
                json!({ "maxFailedRuns": 1, "maxSuccessfulRuns": 1 });
            object["spec"]["inputs"]["unread"] = json!([1]);
            object["spec"]["serviceAccountName"] = "other".into();
        })
        .await?;
    subject.ready("True").await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn the_same_number_written_otherwise_makes_no_run() -> Result<()> {
    let world = World::new("number").await?;
    world.template(answers()).await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": { "n": 3 } } }))
        .await?;
    subject.run(1).await?;
    world.change("r", json!({ "foo": { "n": 3.0 } })).await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn another_kind_in_the_template_makes_a_run_of_that_kind() -> Result<()> {
    let world = World::new("kind").await?;
    world.template(stamps(json!({ "a": 1 }))).await?;
    let subject = world.runnable("r", json!({})).await?;
    subject.run(1).await?;
    world
        .template(json!({ "template": document(PLAIN_OBJ, json!({ "a": 1 })) }))
        .await?;
    let run = subject.runs_of(PLAIN_OBJ, 1).await?.remove(0);
    assert_eq!(run["metadata"]["labels"]["carto.run/run-sequence"], "2");
    assert_eq!(subject.runs(1).await?.len(), 1, "the first run stays");
    Ok(())
}

#[tokio::test]
async fn a_new_rerun_token_makes_one_more_run_of_the_same() -> Result<()> {
    let (_, subject) = World::with("token", answers()).await?;
    subject.answer(1, json!("first")).await?;
    let ask = async |token: &str| {
        let token = token.to_owned();
        let annotations = json!({ "carto.run/rerun-token": token });
        subject
            .edit(|object| object["metadata"]["annotations"] = annotations.clone())
            .await
    };
    ask("monday").await?;
    let runs = subject.runs(2).await?;
    assert_eq!(runs[0]["spec"], runs[1]["spec"]);
    assert_eq!(
        runs[1]["metadata"]["annotations"]["carto.run/rerun-token"],
        "monday"
    );
    ask("monday").await?;
    subject
        .edit(|object| _ = object["metadata"]["annotations"].take())
        .await?;
    ask("monday").await?;
    subject.stays_at(2).await?;
    ask("tuesday").await?;
    subject.run(3).await?;
    subject.outputs(json!({ "answer": "first" })).await?;
    // A run that a change made answers no request.
    subject.input("foo", 2).await?;
    let tokens: Vec<Value> = subject.runs(4).await?.iter().map(token).collect();
    assert_eq!(
        tokens,
        [json!(null), json!("monday"), json!("tuesday"), json!(null)]
    );
    let status = subject.status().await?;
    assert_eq!(status["currentRun"]["rerunToken"], json!(null), "{status}");
    assert_eq!(status["answeredToken"], "tuesday", "{status}");
    subject.stays_at(4).await
}

fn token(run: &Value) -> Value {
    run["metadata"]["annotations"]["carto.run/rerun-token"].clone()
}

#[tokio::test]
async fn a_runnable_that_is_made_anew_has_a_run_of_its_own() -> Result<()> {
    let world = World::new("anew").await?;
    world.template(stamps(json!({}))).await?;
    let subject = world.runnable("r", json!({})).await?;
    let first = subject.run(1).await?;
    world.delete(RUNNABLE, "r").await?;
    let runs = world.api(TEST_OBJ);
    let gone = world.cluster.wait_until_gone(&runs, name_of(&first), SOON);
    gone.await?;
    let subject = world.runnable("r", json!({})).await?;
    let second = subject.run(1).await?;
    assert_ne!(name_of(&second), name_of(&first));
    Ok(())
}

#[tokio::test]
async fn the_ledger_names_the_run_and_remembers_the_earlier_ones() -> Result<()> {
    let (_, subject) = World::with("ledger", answers()).await?;
    subject.answer(1, json!(42)).await?;
    subject.input("foo", 2).await?;
    let runs = subject.runs(2).await?;
    let created = |object: &Value| object["status"]["currentRun"]["phase"] == "Created";
    let status = subject.until("the run to be confirmed", created).await?["status"].take();
    let (first, second) = (&runs[0]["metadata"], &runs[1]["metadata"]);
    let hash = |run: &Value| text(&run["annotations"]["carto.run/input-hash"]).to_owned();
    assert!(hash(first).starts_with("v1:"), "{first}");
    let current = &status["currentRun"];
    assert_eq!(current["name"], second["name"]);
    assert_eq!(current["uid"], second["uid"]);
    assert_eq!(current["kind"], "TestObj");
    assert_eq!(current["inputHash"], *hash(second));
    let line = text(&status["history"][0]);
    let (name, uid) = (text(&first["name"]), text(&first["uid"]));
    let begin = format!("1 Succeeded test.run/v1/TestObj/{name} {uid} ");
    assert!(line.starts_with(&begin), "{line}");
    assert!(line.contains(&hash(first)), "{line}");
    assert_eq!(status["outputsFrom"]["uid"], runs[0]["metadata"]["uid"]);
    Ok(())
}

#[tokio::test]
async fn a_runnable_that_is_being_deleted_intends_nothing() -> Result<()> {
    let world = World::new("deleting").await?;
    world.template(answers()).await?;
    let metadata = json!({ "name": "r", "finalizers": ["test.run/keep"] });
    let spec = json!({ "inputs": { "foo": 1 } });
    let subject = world.runnable_with(metadata, spec).await?;
    subject.run(1).await?;
    world.delete(RUNNABLE, "r").await?;
    subject.input("foo", 2).await?;
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    subject.runs(1).await?;
    let keep = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    subject.edit(keep).await
}
