//! Objects that outputs are written to, by two controllers of which one sleeps.

mod broken;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use cartouche_tests::kind::CONFIG_MAP;
use futures::TryStreamExt;
use kube::{
    Api, ResourceExt,
    api::DynamicObject,
    runtime::{WatchStreamExt, watcher},
};
use serde_json::json;
use tokio::time::sleep;

use crate::{
    engine::{TRIAL, succeeds},
    scene::{Scene, names},
};

/// The numbers of each object, by its uid, as a watch shows them.
type Numbers = Arc<Mutex<BTreeMap<String, Vec<i64>>>>;

fn follow(objects: Api<DynamicObject>, numbers: Numbers) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let events = watcher(objects, watcher::Config::default());
        let seen = events.default_backoff().applied_objects();
        let each = |object: DynamicObject| {
            let number = object.annotations().get("carto.run/outputs-sequence");
            if let (Some(number), Some(uid)) = (number.and_then(|it| it.parse().ok()), object.uid())
                && let Ok(mut numbers) = numbers.lock()
            {
                numbers.entry(uid).or_default().push(number);
            }
            std::future::ready(Ok(()))
        };
        let _ = seen.try_for_each(each).await;
    })
}

#[tokio::test]
async fn a_controller_that_wakes_up_puts_no_sink_back() -> Result<()> {
    let scene = Scene::begin("sinks").await?;
    let rights = [
        TRIAL.rights_of_a_runnable(),
        CONFIG_MAP.rights(&["get", "create", "update", "delete"]),
    ];
    scene.cluster.grant(&scene.account, &rights).await?;
    let numbers = Numbers::default();
    let following = follow(scene.api(CONFIG_MAP), numbers.clone());
    let mut one = scene.controller(&[]).await?;
    let other = scene.controller(&[]).await?;
    let names = names(10);
    for name in &names {
        let sink = json!([{ "kind": "ConfigMap", "name": name }]);
        let spec = json!({ "inputs": succeeds(0), "writeOutputsTo": sink });
        scene.runnable_with(name, spec).await?;
    }
    scene.all_give(&names, 0).await?;
    for round in 1..=4 {
        for name in &names {
            scene.change(name, succeeds(round)).await?;
        }
        // In the middle of it.
        sleep(Duration::from_millis(100)).await;
        match round {
            1 => one.pause()?,
            2 => {
                one.resume()?;
                other.pause()?;
            }
            3 => {
                other.resume()?;
                one.restart().await?;
            }
            _ => {}
        }
        scene.all_give(&names, round).await?;
    }
    // The controller that slept has handled all of it by now.
    sleep(Duration::from_secs(5)).await;
    scene.all_give(&names, 4).await?;
    scene.nothing_twice()?;
    following.abort();
    for name in &names {
        let map = scene.get(CONFIG_MAP, name).await?;
        let runnable = scene.runnables().get(name).await?;
        let status = runnable.status.context("no status")?;
        let from = status.outputs_from.context("no outputs")?;
        let annotation = &map["metadata"]["annotations"]["carto.run/outputs-sequence"];
        assert_eq!(*annotation, from.sequence.to_string(), "{name}");
        assert_eq!(status.sinks.len(), 1);
        assert_eq!(
            (status.sinks[0].sequence, status.sinks[0].behind),
            (from.sequence, false)
        );
    }
    let numbers = numbers.lock().map_err(|_| anyhow::anyhow!("poisoned"))?;
    assert_eq!(numbers.len(), names.len(), "none was made anew");
    for (uid, numbers) in &*numbers {
        ensure!(numbers.is_sorted(), "{uid}: {numbers:?}");
        ensure!(numbers.last() > numbers.first(), "{uid}: {numbers:?}");
    }
    Ok(())
}
