//! Two releases that read the same runs and sources differently: each restores its own status, less and less
//! often.

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_controller::mutants::{LATER_REVISION, LATER_WORDS};
use cartouche_crds::Runnable;
use cartouche_oracle::Sight;
use cartouche_tests::{
    fixture::objects::{condition, text},
    kind::{PROFILE, RUNNABLE, SECRET, TEMPLATE},
};
use futures::TryStreamExt;
use kube::api::{WatchEvent, WatchParams};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    engine::{self, Kind, TRIAL, fails, succeeds},
    scene::Scene,
    sight::{failed, ready},
};

/// Each of two processes writes once in it after its first pause of half a minute, and may have begun before
/// it.
const A_MINUTE: Duration = Duration::from_mins(1);
const WRITES_IN_A_MINUTE: usize = 4;
/// Each of the two may write a Runnable once for each write of its source.
const OF_A_FOLLOWER: usize = 2 * WRITES_IN_A_MINUTE;
/// The time in which each has read everything and written it once.
const BEGIN: Duration = Duration::from_secs(10);

/// Runnables that fail. A process that sees the record of the other before it has read the run itself writes
/// none of its own.
const APPS: [&str; 8] = [
    "app-0", "app-1", "app-2", "app-3", "app-4", "app-5", "app-6", "app-7",
];

/// Returns the values of a field of a Runnable's status in all its versions.
fn said(scene: &Scene, name: &str, pointer: &str) -> Result<Vec<Value>> {
    let all = scene.statuses(name)?.into_iter();
    let mut said: Vec<Value> = all
        .filter_map(|status| status.pointer(pointer).cloned())
        .collect();
    said.sort_by_key(Value::to_string);
    said.dedup();
    Ok(said)
}

/// Fails if one of these Runnables is written more often in a minute than by two processes that restore their
/// own.
async fn are_written_seldom(scene: &Scene, bounds: &[(&str, usize)]) -> Result<()> {
    sleep(BEGIN).await;
    let writes = || {
        let all = bounds
            .iter()
            .map(|(name, _)| Ok(scene.statuses(name)?.len()));
        all.collect::<Result<Vec<_>>>()
    };
    let before = writes()?;
    sleep(A_MINUTE).await;
    for (((name, at_most), before), after) in bounds.iter().zip(before).zip(writes()?) {
        let written = after - before;
        println!("{name}: {written} writes in {A_MINUTE:?}");
        ensure!(written <= *at_most, "{name}: {written} writes");
    }
    Ok(())
}

/// Returns the messages about the scene's template or profile, in the order in which it was written since
/// this version.
async fn judged_since(scene: &Scene, kind: Kind, version: &str) -> Result<Vec<String>> {
    let only = format!("metadata.name={}", scene.namespace);
    // New events are there at once.
    let params = WatchParams::default().fields(&only).timeout(1);
    let events = scene.api(kind).watch(&params, version).await?;
    let events: Vec<_> = events.try_collect().await?;
    let written = events.into_iter().filter_map(|event| match event {
        WatchEvent::Modified(object) => Some(object.data),
        _ => None,
    });
    let said = written.map(|object| text(&condition(&object, "Accepted")["message"]).to_owned());
    Ok(said.collect())
}

/// Checks that a minute after both have begun, each has written its status of the template and the profile
/// once: the first one at once, the other half a minute later.
async fn each_has_judged_once(scene: &Scene, versions: &[(Kind, Value)]) -> Result<()> {
    for (kind, version) in versions {
        let said = judged_since(scene, *kind, text(version)).await?;
        println!("{}: {} writes: {said:?}", kind.name, said.len());
        let of_other = said.iter().filter(|it| it.starts_with(LATER_WORDS)).count();
        ensure!((said.len(), of_other) == (2, 1), "{}: {said:?}", kind.name);
    }
    Ok(())
}

#[tokio::test]
async fn two_releases_do_not_fight_over_words_for_a_failure_a_template_and_a_profile() -> Result<()>
{
    // No other process writes the status of its template and profile.
    let mut scene = Scene::with_servers_of_its_own("contested-words").await?;
    scene.sight = Sight::Record;
    let mut template = engine::template(TRIAL);
    template["failureOutputs"] = json!({ "play": ".spec.play" });
    scene.template(template).await?;
    let profile = json!({
        "apiVersion": PROFILE.api_version(), "kind": PROFILE.name, "metadata": { "name": scene.namespace },
        "spec": { "rules": [{ "templates": ["another"] }] },
    });
    scene.put(profile).await?;
    let mut versions = Vec::new();
    for kind in [TEMPLATE, PROFILE] {
        let mut object = scene.get(kind, &scene.namespace).await?;
        versions.push((kind, object["metadata"]["resourceVersion"].take()));
    }
    let _present = scene.controller(&[]).await?;
    let _other = scene.controller_of("otherwise").await?;
    for app in APPS {
        scene.runnable(app, fails(0)).await?;
    }
    let has_failure = |it: &Runnable| {
        let status = it.status.as_ref();
        failed(it) && status.is_some_and(|status| status.failure.is_some())
    };
    for app in APPS {
        scene.until(app, "its failure", has_failure).await?;
    }
    are_written_seldom(&scene, &APPS.map(|app| (app, WRITES_IN_A_MINUTE))).await?;
    let mut contested = 0;
    for app in APPS {
        let messages = said(&scene, app, "/failure/message")?;
        contested += usize::from(messages.len() == 2);
        assert_eq!(scene.made(app)?, [0], "{app}");
    }
    println!("{contested} of {} have the words of both", APPS.len());
    ensure!(contested > 0, "none has the words of both");
    each_has_judged_once(&scene, &versions).await?;
    scene.nothing_twice()
}

#[tokio::test]
async fn two_releases_that_trace_otherwise_do_not_fight_over_sources() -> Result<()> {
    let scene = Scene::begin("contested-sources").await?;
    let rights = [TRIAL.rights_of_a_runnable(), RUNNABLE.rights(&["get"])];
    scene.cluster.grant(&scene.account, &rights).await?;
    let _present = scene.controller(&[]).await?;
    let _other = scene.controller_of("otherwise").await?;
    let from = |name: &str, source: &str| json!({ "name": name, "runnableRef": { "name": source, "output": "value" } });
    let play = || json!({ "play": "succeed" });
    scene.runnable("first", succeeds(0)).await?;
    let second = json!({ "inputs": play(), "inputsFrom": [from("value", "first")] });
    scene.runnable_with("second", second).await?;
    let third = json!({
        "inputs": play(), "coherence": "Ignored",
        "inputsFrom": [from("value", "first"), from("other", "second")],
    });
    scene.runnable_with("third", third).await?;
    let fourth = json!({ "inputs": play(), "inputsFrom": [from("value", "third")] });
    scene.runnable_with("fourth", fourth).await?;
    for value in 0..2 {
        scene.change("first", succeeds(value)).await?;
        for name in ["first", "second", "third", "fourth"] {
            let gives = |it: &Runnable| {
                let status = it.status.as_ref();
                let outputs = status.and_then(|status| status.outputs.as_ref());
                ready(it) && outputs.is_some_and(|outputs| outputs["value"] == value)
            };
            scene.until(name, "its output", gives).await?;
        }
    }
    let bounds = [("third", WRITES_IN_A_MINUTE), ("fourth", OF_A_FOLLOWER)];
    are_written_seldom(&scene, &bounds).await?;
    let traced = said(&scene, "third", "/currentRun/sources")?;
    let counts = |count: usize| {
        let of = |it: &&Value| it.as_object().is_some_and(|it| it.len() == count);
        traced.iter().filter(of).count()
    };
    ensure!(
        counts(1) > 0 && counts(2) > 0,
        "the sources of both: {traced:?}"
    );
    for name in ["first", "second", "third", "fourth"] {
        assert_eq!(scene.made(name)?, [0, 1], "{name}");
    }
    scene.nothing_twice()
}

#[tokio::test]
async fn two_releases_do_not_fight_over_what_stands_for_a_sensitive_output() -> Result<()> {
    let scene = Scene::begin("contested-secrets").await?;
    let writing = SECRET.rights(&["get", "create", "update", "delete"]);
    let rights = [TRIAL.rights_of_a_runnable(), writing];
    scene.cluster.grant(&scene.account, &rights).await?;
    let mut template = engine::template(TRIAL);
    template["sensitiveOutputs"] = json!(["value"]);
    scene.template(template).await?;
    let _present = scene.controller(&[]).await?;
    let _other = scene.controller_of("otherwise").await?;
    let spec = json!({
        "inputs": succeeds(1), "writeOutputsTo": [{ "kind": "Secret", "name": "hidden" }],
    });
    scene.runnable_with("app", spec).await?;
    scene.until("app", "its output", ready).await?;
    are_written_seldom(&scene, &[("app", WRITES_IN_A_MINUTE)]).await?;
    let revisions = said(&scene, "app", "/sensitiveOutputs/value/revision")?;
    let of_other = revisions.iter().filter(|it| **it == LATER_REVISION).count();
    ensure!(
        (revisions.len(), of_other) == (2, 1),
        "the revisions of both: {revisions:?}"
    );
    assert_eq!(scene.made("app")?, [1]);
    scene.nothing_twice()
}
