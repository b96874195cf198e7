//! Fields of a later release in each object of a status survive a write of this release.

use anyhow::{Context, Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::open::later;
use crate::world::{
    PROFILE, SECRET, Subject, TEMPLATE, TEST_OBJ, World, answered, answers, condition, document,
    name_of, succeeded,
};

/// Every open object of a Runnable's status.
const OPEN: [&str; 11] = [
    "",
    "/currentRun",
    "/currentRun/stop",
    "/unfinishedRuns/0",
    "/unfinishedRuns/0/stop",
    "/sinks/0",
    "/sensitiveOutputs/pin",
    "/outputsFrom",
    "/failure",
    "/pending",
    "/profile",
];

fn profile(name: &str, templates: &[&str]) -> Value {
    json!({
        "apiVersion": PROFILE.api_version(), "kind": PROFILE.name, "metadata": { "name": name },
        "spec": { "rules": [{ "templates": templates }] },
    })
}

/// Makes a Runnable whose first run has given outputs, whose second is at work, whose third has failed, and
/// whose fourth waits.
async fn with_everything(world: &World) -> Result<Subject> {
    let name = world.template_name();
    world.put(profile(&name, &[&name])).await?;
    let mut template = answers();
    template["outputs"]["pin"] = ".status.pin".into();
    template["sensitiveOutputs"] = json!(["pin"]);
    template["failureOutputs"] = json!({ "code": ".status.code" });
    world.template(template).await?;
    let rights = [SECRET.rights(&["get", "create", "update", "delete"])];
    world.allow("default", &rights).await?;
    let sink = json!({ "kind": SECRET.name, "name": "outputs" });
    let spec = json!({ "inputs": { "foo": 1 }, "writeOutputsTo": [sink] });
    let subject = world.runnable("r", spec).await?;
    let mut given = answered(1);
    given["pin"] = "7731".into();
    world.play(&subject.run(1).await?, given).await?;
    subject.ready("True").await?;
    subject.input("foo", 2).await?;
    subject.run(2).await?;
    subject.input("foo", 3).await?;
    let mut failed = succeeded("False", "it broke");
    failed["code"] = 3.into();
    world.play(&subject.run(3).await?, failed).await?;
    subject.ready("False").await?;
    let settling = |object: &mut Value| {
        object["spec"]["start"] = json!({ "debounce": "1h" });
        object["spec"]["inputs"]["foo"] = 4.into();
    };
    subject.edit(settling).await?;
    let waits = |it: &Value| it["status"]["pending"]["reason"] == "Debouncing";
    subject.until("its change to settle", waits).await?;
    Ok(subject)
}

/// Fails unless these objects of a status have the unknown fields.
fn all_have_them(status: &Value, objects: &[&str]) -> Result<()> {
    let unknown = later(json!({}));
    let fields = unknown.as_object().context("an object")?;
    for at in objects {
        let object = status
            .pointer(at)
            .with_context(|| format!("no {at}: {status}"))?;
        for (name, value) in fields {
            ensure!(object[name] == *value, "{at} has lost {name}: {status:#}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn every_object_of_a_status_keeps_its_unknown_fields_when_the_status_is_written() -> Result<()>
{
    let world = World::new("kept-everywhere").await?;
    let subject = with_everything(&world).await?;
    // A reason of a later release is no order to this one.
    let stop = json!({ "reason": "QueueTimedOut", "at": "2026-01-02T03:04:05Z" });
    let edit = |status: &mut Value| {
        status["currentRun"]["stop"] = stop.clone();
        status["unfinishedRuns"][0]["stop"] = stop.clone();
        for at in OPEN {
            let object = status.pointer_mut(at).map(Value::take);
            let having = later(object.unwrap_or_default());
            *status.pointer_mut(at).unwrap() = having;
        }
    };
    world.edit_status("r", edit).await?;
    let before = subject.object().await?;
    all_have_them(&before["status"], &OPEN)?;

    // The status is of another generation, and all else in it stays.
    let longer = |object: &mut Value| object["spec"]["timeout"] = "2h".into();
    subject.edit(longer).await?;
    let now = subject.observed().await?;
    let generation = |object: &Value| object["status"]["observedGeneration"].clone();
    ensure!(generation(&now) != generation(&before), "{now:#}");
    all_have_them(&now["status"], &OPEN)?;

    // The ledger has changed: the run at work has failed, and is in a line of the history.
    let second = &subject.runs(3).await?[1];
    world.play(second, succeeded("False", "over")).await?;
    let has_ended = |it: &Value| it["status"]["unfinishedRuns"].is_null();
    let now = subject
        .until("the end of the second run", has_ended)
        .await?;
    let is_left = |at: &&str| !at.starts_with("/unfinishedRuns");
    let left: Vec<&str> = OPEN.into_iter().filter(is_left).collect();
    all_have_them(&now["status"], &left)?;
    let lines = now["status"]["history"].to_string();
    ensure!(
        lines.contains(name_of(second)) && lines.contains(" laterText=x"),
        "{lines}"
    );
    subject.stays_at(3).await
}

#[tokio::test]
async fn what_a_later_release_writes_into_the_status_of_a_template_or_profile_is_kept() -> Result<()>
{
    let world = World::new("kept-of-template").await?;
    let name = &world.template_name();
    world.template(answers()).await?;
    world.put(profile(name, &["one"])).await?;
    let template = json!({ "template": document(TEST_OBJ, json!({ "foo": 7 })) });
    let edits = [
        (TEMPLATE, template),
        (PROFILE, json!({ "rules": [{ "templates": ["other"] }] })),
    ];
    for (kind, spec) in edits {
        let judged = |generation: i64| {
            let is_judged = move |it: &Value| {
                condition(it, "Accepted")["observedGeneration"] == generation
                    && it["status"]["observedGeneration"] == generation
            };
            world.observed(kind, name, "to be judged", is_judged)
        };
        judged(1).await?;
        let patch = Patch::Merge(json!({ "status": later(json!({})) }));
        let plain = PatchParams::default();
        world.api(kind).patch_status(name, &plain, &patch).await?;
        world.patch_of(kind, name, json!({ "spec": spec })).await?;
        all_have_them(&judged(2).await?["status"], &[""])?;
    }
    Ok(())
}
