//! Fields of a later release in a status: they are neither pruned nor lost.

use anyhow::{Context, Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::{
    Kind, PROFILE, RUNNABLE, TEMPLATE, World, answered, answers, name_of, succeeded,
};

/// Adds unknown fields of every type.
pub(super) fn later(mut object: Value) -> Value {
    object["later"] = json!({ "a": [1, "<two>", { "b": true }], "c": 1.5 });
    object["laterText"] = "x".into();
    object
}

/// Returns a status in which every open object has unknown fields.
fn open() -> Value {
    let at = "2026-01-02T03:04:05Z";
    let stop = later(json!({ "reason": "QueueTimedOut", "at": at }));
    let run = json!({
        "sequence": 3, "inputHash": "v1:1", "apiVersion": "v1", "kind": "Pod", "name": "p", "stop": stop,
    });
    let mut current = run.clone();
    current["phase"] = "Created".into();
    later(json!({
        "outputsFrom": later(json!({ "sequence": 1, "name": "n", "uid": "u", "rulesHash": "r" })),
        "sensitiveOutputs": { "s": later(json!({ "name": "n", "key": "k", "revision": "r" })) },
        "sinks": [later(json!({ "kind": "Secret", "name": "n", "sequence": 1 }))],
        "failure": later(json!({ "sequence": 1, "name": "n", "uid": "u" })),
        "profile": later(json!({ "name": "p" })),
        "currentRun": later(current),
        "pending": later(json!({ "sequence": 4, "inputHash": "h", "reason": "A", "since": at })),
        "unfinishedRuns": [later(run)],
        "teardown": { "since": at }, "cluster": "east", "ticks": [1, 2],
    }))
}

/// Returns a status as the API server reads it back, by a dry run.
async fn read_back(world: &World, kind: Kind, name: &str, status: &Value) -> Result<Value> {
    let dry_run = PatchParams {
        dry_run: true,
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({ "status": status }));
    let made = world.api(kind).patch_status(name, &dry_run, &patch).await?;
    Ok(made.data["status"].clone())
}

#[tokio::test]
async fn unknown_fields_of_every_object_of_a_status_are_stored_and_known_ones_checked() -> Result<()>
{
    let world = World::new("open").await?;
    let missing = json!({ "runTemplateRef": { "name": "missing" } });
    world.put(world.manifest("r", missing)).await?;
    world.template(answers()).await?;
    let name = world.template_name();
    let profile = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfile", "metadata": { "name": name },
        "spec": { "rules": [{ "templates": ["nobody"] }] },
    });
    world.put(profile).await?;
    let open = open();
    let made = read_back(&world, RUNNABLE, "r", &open).await?;
    for (field, value) in open.as_object().context("an object")? {
        ensure!(made[field] == *value, "{field}: {}", made[field]);
    }
    for kind in [TEMPLATE, PROFILE] {
        let made = read_back(&world, kind, &name, &later(json!({}))).await?;
        ensure!(made["later"] == later(json!({}))["later"], "{made}");
    }
    for (wrong, part) in [
        ("/currentRun/sequence", "status.currentRun.sequence"),
        ("/currentRun/stop/at", "status.currentRun.stop.at"),
        ("/unfinishedRuns/0/name", "status.unfinishedRuns[0].name"),
        ("/sinks/0/kind", "status.sinks[0].kind"),
        ("/outputsFrom/uid", "status.outputsFrom.uid"),
        ("/profile/name", "status.profile.name"),
    ] {
        let mut status = open.clone();
        *status.pointer_mut(wrong).context(wrong)? = json!(true);
        let refused = read_back(&world, RUNNABLE, "r", &status).await.err();
        let said = refused
            .with_context(|| format!("{wrong} was taken"))?
            .to_string();
        ensure!(said.contains(part), "{said}");
    }
    Ok(())
}

/// An older release beside a newer one: the newer one's fields stay, and are no reason to write.
#[tokio::test]
async fn what_a_later_release_writes_into_a_status_is_kept_while_this_one_writes_it() -> Result<()>
{
    let (world, subject) = World::with("kept", answers()).await?;
    let first = subject.run(1).await?;
    let is_confirmed = |object: &Value| object["status"]["currentRun"]["uid"].is_string();
    subject.until("its run", is_confirmed).await?;
    let edit = |status: &mut Value| {
        for (name, value) in [("teardown", json!({ "a": 1 })), ("ticks", json!([1]))] {
            status[name] = value;
        }
        status["currentRun"]["cluster"] = "east 1".into();
        status["currentRun"]["list"] = json!([1]);
    };
    world.edit_status("r", edit).await?;
    let edited = subject.object().await?;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    let later = subject.object().await?;
    ensure!(version(&later) == version(&edited), "{}", later["status"]);

    subject.input("foo", 2).await?;
    let second = subject.run(2).await?;
    let status = subject
        .until("both runs", |object| {
            object["status"]["unfinishedRuns"][0]["uid"].is_string()
        })
        .await?["status"]
        .take();
    ensure!(status["teardown"] == json!({ "a": 1 }), "{status}");
    ensure!(status["ticks"] == json!([1]), "{status}");
    ensure!(status["currentRun"].get("cluster").is_none(), "{status}");
    ensure!(
        status["unfinishedRuns"][0]["cluster"] == "east 1",
        "{status}"
    );
    ensure!(
        status["unfinishedRuns"][0]["list"] == json!([1]),
        "{status}"
    );

    world.play(&first, succeeded("False", "over")).await?;
    world.play(&second, answered(2)).await?;
    let has_line = |object: &Value| object["status"]["history"][0].is_string();
    let mut object = subject.until("a line", has_line).await?;
    let line = object["status"]["history"][0].take();
    let line = line.as_str().context("a text")?;
    ensure!(
        line.contains(" cluster=east%201 : over") && line.contains(name_of(&first)),
        "{line}"
    );
    subject.outputs(json!({ "answer": 2 })).await?;
    ensure!(subject.status().await?["teardown"] == json!({ "a": 1 }));
    subject.stays_at(2).await
}

/// Otherwise the API server would refuse the result of the next run, and its ledger would be stuck for good.
#[tokio::test]
async fn a_status_without_room_for_a_result_makes_no_further_run_and_says_what_takes_the_room()
-> Result<()> {
    let (world, subject) = World::with("full", answers()).await?;
    let run = subject.run(1).await?;
    subject.observed().await?;
    world
        .edit_status("r", |status| {
            let long = "x".repeat(4_000);
            let odd = (0..100).map(|number| format!("odd {number} {long}"));
            let lines = (0..200).map(|number| {
                let number = number + 1000;
                format!("{number} Lost v1/Pod/a - - - h later={long}")
            });
            status["history"] = odd.chain(lines).collect();
        })
        .await?;
    subject.input("foo", 2).await?;
    let said = subject
        .says(
            "Ready",
            "False",
            "UnknownError",
            "above 1024 KiB the controller creates no further run",
        )
        .await?;
    ensure!(said.contains("history 1"), "{said}");
    // The existing run is recorded.
    world.play(&run, answered(1)).await?;
    subject.outputs(json!({ "answer": 1 })).await?;
    world
        .edit_status("r", |status| status["history"] = json!([]))
        .await?;
    subject.run(2).await?;
    Ok(())
}

/// In the store each of these characters has six bytes: the store would refuse what is within the bounds
/// here.
#[tokio::test]
async fn outputs_that_the_store_would_not_take_are_refused_by_name() -> Result<()> {
    let mut spec = answers();
    for name in ["b", "c", "d"] {
        spec["outputs"][name] = ".status.answer".into();
    }
    let (world, subject) = World::with("escaped", spec).await?;
    let run = subject.run(1).await?;
    world.play(&run, answered("<".repeat(60_000))).await?;
    subject
        .fails("OutputPathNotSatisfied", "is larger than 65536 bytes")
        .await?;
    let most = "<".repeat(10_000);
    world.play(&run, answered(most.clone())).await?;
    subject
        .outputs(json!({ "answer": most, "b": most, "c": most, "d": most }))
        .await
}
