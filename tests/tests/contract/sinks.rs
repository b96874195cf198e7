//! Objects that outputs are written to.

mod bad;
mod changed;
mod claims;
mod cycles;
mod edited;
mod sensitive;

use anyhow::{Result, bail, ensure};
use cartouche_crds::RunnableStatus;
use futures::TryStreamExt;
use k8s_openapi::ByteString;
use kube::{api::WatchParams, core::WatchEvent};
use serde_json::{Value, json};

use crate::world::{
    CONFIG_MAP, Kind, SECRET, Subject, TEST_OBJ, World, answered, answers, condition, config_map,
    specless, stamps, succeeded,
};

const ALL: &[&str] = &["get", "create", "update", "delete"];

/// Makes a world whose runs give one output, `answer`; the account may write the objects of outputs.
async fn world(prefix: &str) -> Result<World> {
    let world = World::new(prefix).await?;
    world.template(answers()).await?;
    let rights = [CONFIG_MAP.rights(ALL), SECRET.rights(ALL)];
    world.allow("default", &rights).await?;
    Ok(world)
}

fn to(kind: Kind, name: &str) -> Value {
    json!({ "kind": kind.name, "name": name })
}

async fn writing(world: &World, sinks: Value) -> Result<Subject> {
    let spec = json!({ "inputs": { "foo": 1 }, "writeOutputsTo": sinks });
    world.runnable("r", spec).await
}

/// Returns the data of a sink, as texts.
fn data(object: &Value) -> Value {
    let mut data = object["data"].clone();
    if object["kind"] == SECRET.name {
        for value in data.as_object_mut().into_iter().flatten().map(|it| it.1) {
            let bytes: ByteString = serde_json::from_value(value.clone()).unwrap_or_default();
            *value = String::from_utf8_lossy(&bytes.0).into();
        }
    }
    data
}

/// Waits until a sink has exactly this.
async fn holds(world: &World, kind: Kind, name: &str, wanted: Value) -> Result<Value> {
    let what = format!("{name} to have {wanted}");
    let seen = || async {
        let found = world.find(kind, name).await?;
        let data = found.as_ref().map(data);
        Ok(match found {
            Some(found) if data == Some(wanted.clone()) => {
                cartouche_tests::cluster::Seen::Done(found)
            }
            _ => cartouche_tests::cluster::Seen::NotYet(format!("{data:?}")),
        })
    };
    world.eventually(&what, seen).await
}

/// Waits until the status reports that these have the outputs of the run of this number.
async fn written(subject: &Subject, sinks: &[(Kind, &str)], sequence: i64) -> Result<()> {
    let sinks: Vec<Value> = sinks
        .iter()
        .map(|(kind, name)| json!({ "kind": kind.name, "name": name, "sequence": sequence }))
        .collect();
    let what = format!("the sinks {sinks:?}");
    let is_written = |object: &Value| object["status"]["sinks"] == json!(sinks);
    subject.until(&what, is_written).await.map(drop)
}

/// Returns the first status after this version that has outputs, whatever comes after it.
async fn first_with_outputs(subject: &Subject, from: &Value) -> Result<RunnableStatus> {
    let only = WatchParams::default().fields("metadata.name=r");
    let from = from.as_str().unwrap_or_default();
    // A busy API server ends watches: events may repeat.
    for _ in 0..5 {
        let events = subject.world.runnables().watch(&only, from).await?;
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.try_next().await? {
            if let WatchEvent::Modified(runnable) = event
                && let Some(status) = runnable.status.filter(|status| status.outputs.is_some())
            {
                return Ok(status);
            }
        }
    }
    bail!("the watch ended five times")
}

#[tokio::test]
async fn outputs_are_written_before_the_status_names_them_and_are_replaced_as_a_whole() -> Result<()>
{
    let world = world("made").await?;
    let sinks = json!([to(SECRET, "db"), to(CONFIG_MAP, "db")]);
    let subject = writing(&world, sinks).await?;
    let run = subject.run(1).await?;
    let from = subject.object().await?["metadata"]["resourceVersion"].take();
    let first = first_with_outputs(&subject, &from);
    let (first, ()) = tokio::try_join!(first, world.play(&run, answered("one")))?;
    let named = first.sinks.iter().map(|sink| (sink.sequence, sink.behind));
    assert_eq!(named.collect::<Vec<_>>(), [(1, false), (1, false)]);
    for kind in [SECRET, CONFIG_MAP] {
        let object = world.get(kind, "db").await?;
        assert_eq!(data(&object), json!({ "answer": "one" }));
        let metadata = &object["metadata"];
        let uid = &subject.object().await?["metadata"]["uid"];
        assert_eq!(metadata["annotations"]["carto.run/outputs-sequence"], "1");
        assert_eq!(metadata["annotations"]["carto.run/outputs-of"], *uid);
        assert_eq!(metadata["ownerReferences"][0]["uid"], *uid);
    }
    written(&subject, &[(SECRET, "db"), (CONFIG_MAP, "db")], 1).await?;
    subject.ready("True").await?;
    subject.input("foo", 2).await?;
    subject.answer(2, json!({ "b": [1, 2] })).await?;
    for kind in [SECRET, CONFIG_MAP] {
        holds(&world, kind, "db", json!({ "answer": "{\"b\":[1,2]}" })).await?;
    }
    written(&subject, &[(SECRET, "db"), (CONFIG_MAP, "db")], 2).await?;
    subject.stays_at(2).await
}

#[tokio::test]
async fn keys_say_what_is_written_and_what_is_gone_from_them_is_gone() -> Result<()> {
    let world = world("keys").await?;
    let mut template = answers();
    template["outputs"]["other"] = json!(".spec.foo");
    world.template(template).await?;
    let mut sink = to(SECRET, "db");
    sink["keys"] = json!({ "answer": "ANSWER", "other": "OTHER" });
    let subject = writing(&world, json!([sink])).await?;
    let run = subject.run(1).await?;
    world.play(&run, answered("one")).await?;
    let both = json!({ "ANSWER": "one", "OTHER": "1" });
    holds(&world, SECRET, "db", both).await?;
    subject
        .edit(|it| it["spec"]["writeOutputsTo"][0]["keys"] = json!({ "answer": "A" }))
        .await?;
    holds(&world, SECRET, "db", json!({ "A": "one" })).await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn what_is_deleted_or_changed_by_hand_is_made_anew() -> Result<()> {
    let world = world("by-hand").await?;
    let sinks = json!([to(SECRET, "db"), to(CONFIG_MAP, "db")]);
    let subject = writing(&world, sinks).await?;
    subject.answer(1, json!("one")).await?;
    for kind in [SECRET, CONFIG_MAP] {
        let first = holds(&world, kind, "db", json!({ "answer": "one" })).await?;
        world.delete(kind, "db").await?;
        let again = holds(&world, kind, "db", json!({ "answer": "one" })).await?;
        ensure!(first["metadata"]["uid"] != again["metadata"]["uid"]);
        let patch = json!({ "data": { "answer": "dHdv", "x": "eA==" } });
        world.patch_of(kind, "db", patch).await?;
        holds(&world, kind, "db", json!({ "answer": "one" })).await?;
    }
    subject.ready("True").await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn anothers_object_is_never_touched() -> Result<()> {
    let world = world("anothers").await?;
    let map = config_map("db", json!({}), json!({ "own": "x" }));
    world.put(map).await?;
    let subject = writing(&world, json!([to(CONFIG_MAP, "db"), to(SECRET, "good")])).await?;
    subject.answer(1, json!("one")).await?;
    subject
        .fails(
            "OutputSinkFailed",
            "ConfigMap db, which was not made by this Runnable",
        )
        .await?;
    subject
        .says("Stalled", "True", "OutputSinkFailed", "ConfigMap db")
        .await?;
    // The run has succeeded, and its outputs are there: only the one sink is missing.
    let status = subject.status().await?;
    assert_eq!(status["currentRun"]["result"], "Succeeded");
    assert_eq!(status["outputs"]["answer"], "one");
    holds(&world, SECRET, "good", json!({ "answer": "one" })).await?;
    holds(&world, CONFIG_MAP, "db", json!({ "own": "x" })).await?;
    subject.input("foo", 2).await?;
    subject.answer(2, json!("two")).await?;
    holds(&world, CONFIG_MAP, "db", json!({ "own": "x" })).await?;
    world.delete(CONFIG_MAP, "db").await?;
    holds(&world, CONFIG_MAP, "db", json!({ "answer": "two" })).await?;
    subject.ready("True").await?;
    subject.stays_at(2).await
}

#[tokio::test]
async fn what_is_taken_out_of_the_spec_is_deleted_and_anothers_is_left() -> Result<()> {
    let world = world("taken").await?;
    let sinks = json!([to(SECRET, "db"), to(CONFIG_MAP, "db")]);
    let subject = writing(&world, sinks).await?;
    subject.answer(1, json!("one")).await?;
    written(&subject, &[(SECRET, "db"), (CONFIG_MAP, "db")], 1).await?;
    // A user who takes it over by hand keeps it.
    let unowned = json!({ "metadata": { "ownerReferences": null } });
    world.patch_of(CONFIG_MAP, "db", unowned).await?;
    subject
        .edit(|it| it["spec"]["writeOutputsTo"] = json!([]))
        .await?;
    world.gone(SECRET, "db").await?;
    let is_empty = |object: &Value| object["status"].get("sinks").is_none();
    subject.until("no sinks", is_empty).await?;
    subject.ready("True").await?;
    world.get(CONFIG_MAP, "db").await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_right_that_is_missing_is_named_and_costs_no_output() -> Result<()> {
    let world = World::new("rights").await?;
    world.template(answers()).await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    subject.answer(1, json!("one")).await?;
    let said = subject.fails("OutputSinkFailed", "may not").await?;
    // Every account of these tests may create and delete them.
    let denied = "may not get/update secrets \"db\"";
    ensure!(said.contains(denied), "{said}");
    ensure!(
        said.contains("secrets") && said.contains("cartouche rbac"),
        "{said}"
    );
    subject
        .says("Reconciling", "True", "OutputSinkFailed", "may not")
        .await?;
    world.allow("default", &[SECRET.rights(ALL)]).await?;
    holds(&world, SECRET, "db", json!({ "answer": "one" })).await?;
    subject.ready("True").await?;
    world.allow("default", &[]).await?;
    subject.input("foo", 2).await?;
    subject.answer(2, json!("two")).await?;
    subject.fails("OutputSinkFailed", "may not").await?;
    let behind = json!([{ "kind": "Secret", "name": "db", "sequence": 1, "behind": true }]);
    assert_eq!(subject.status().await?["sinks"], behind);
    world.allow("default", &[SECRET.rights(ALL)]).await?;
    holds(&world, SECRET, "db", json!({ "answer": "two" })).await?;
    written(&subject, &[(SECRET, "db")], 2).await?;
    subject.stays_at(2).await
}

#[tokio::test]
async fn outputs_of_a_newer_run_stay_and_those_of_a_number_never_given_do_not() -> Result<()> {
    let world = world("back").await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    subject.answer(1, json!("one")).await?;
    subject.input("foo", 2).await?;
    let run = subject.run(2).await?;
    // As another controller leaves it that has read the run and is about to record it.
    let ahead = json!({
        "metadata": { "annotations": { "carto.run/outputs-sequence": "2" } }, "data": { "answer": "dHdv" },
    });
    world.patch_of(SECRET, "db", ahead).await?;
    written(&subject, &[(SECRET, "db")], 2).await?;
    holds(&world, SECRET, "db", json!({ "answer": "two" })).await?;
    world.play(&run, answered("two")).await?;
    subject.outputs(json!({ "answer": "two" })).await?;
    subject.ready("True").await?;
    let never_given =
        json!({ "metadata": { "annotations": { "carto.run/outputs-sequence": "9" } } });
    world.patch_of(SECRET, "db", never_given).await?;
    subject
        .event(
            "Warning",
            "OutputSinkOverwritten",
            "Secret db had the outputs of run 9",
        )
        .await?;
    written(&subject, &[(SECRET, "db")], 2).await?;
    let object = world.get(SECRET, "db").await?;
    let sequence = &object["metadata"]["annotations"]["carto.run/outputs-sequence"];
    assert_eq!(*sequence, "2");
    subject.stays_at(2).await
}

#[tokio::test]
async fn what_a_run_that_failed_says_stands_in_the_status_until_one_succeeds() -> Result<()> {
    let world = World::new("failure").await?;
    let mut template = answers();
    template["failureOutputs"] = json!({ "code": ".status.code", "reason": ".status.reason" });
    world.template(template).await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": 1 } }))
        .await?;
    let run = subject.run(1).await?;
    let mut failed = succeeded("False", "it broke");
    failed["code"] = json!(3);
    world.play(&run, failed).await?;
    let object = subject.ready("False").await?;
    let failure = &object["status"]["failure"];
    assert_eq!(failure["sequence"], 1);
    assert_eq!(failure["uid"], run["metadata"]["uid"]);
    assert_eq!(failure["message"], "it broke");
    assert_eq!(failure["outputs"], json!({ "code": 3 }));
    subject.input("foo", 2).await?;
    subject.run(2).await?;
    let object = subject.observed().await?;
    assert_eq!(object["status"]["failure"]["sequence"], 1);
    subject.answer(2, json!("one")).await?;
    let object = subject.ready("True").await?;
    assert_eq!(object["status"].get("failure"), None);
    subject.stays_at(2).await
}

#[tokio::test]
async fn a_change_of_sinks_makes_no_run_and_templates_do_not_see_them() -> Result<()> {
    let world = world("hidden").await?;
    let mut template = stamps(json!({ "spec": "$(runnable.spec)$" }));
    template["outputs"] = json!({ "answer": ".status.answer" });
    world.template(template).await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    let run = subject.run(1).await?;
    assert_eq!(run["kind"], TEST_OBJ.name);
    assert_eq!(run["spec"]["spec"].get("writeOutputsTo"), None);
    world.play(&run, answered("one")).await?;
    holds(&world, SECRET, "db", json!({ "answer": "one" })).await?;
    subject
        .edit(|it| it["spec"]["writeOutputsTo"][0]["name"] = json!("other"))
        .await?;
    holds(&world, SECRET, "other", json!({ "answer": "one" })).await?;
    world.gone(SECRET, "db").await?;
    let tag = stamps(json!({ "x": "$(runnable.spec.writeOutputsTo)$" }));
    world.template(tag).await?;
    subject
        .fails("RunTemplateNotFound", "runnable.spec.writeOutputsTo")
        .await
        .or(subject
            .fails("TemplateStampFailure", "writeOutputsTo")
            .await)?;
    ensure!(condition(&subject.object().await?, "Ready")["status"] == "False");
    subject.stays_at(1).await
}

#[tokio::test]
async fn what_is_written_goes_with_its_runnable() -> Result<()> {
    let world = world("owned").await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    subject.answer(1, json!("one")).await?;
    let secret = specless(SECRET, "stringData", json!({ "a": "b" }));
    ensure!(secret["kind"] == SECRET.name);
    let object = world.get(SECRET, "db").await?;
    let owner = &object["metadata"]["ownerReferences"][0];
    assert_eq!(owner["kind"], "Runnable");
    assert_eq!(owner["controller"], true);
    assert_eq!(owner["blockOwnerDeletion"], false);
    Ok(())
}
