//! Runs of one Runnable that must not be at work at once, while controllers die or are two. A watch of the
//! runs, which shows all of them in their order, reveals overlaps.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Result, ensure};
use cartouche_crds::{RUNNABLE_NAME_LABEL, Runnable};
use cartouche_tests::fixture::output;
use futures::StreamExt;
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams, WatchEvent, WatchParams},
};
use serde_json::{Value, json};
use tokio::{
    task::{AbortHandle, JoinHandle},
    time::sleep,
};

use crate::{
    engine::{TRIAL, hangs, succeeds, template},
    scene::{AFTER_QUIET, Scene, names},
    sight::{confirmed, ready},
};

/// Runs at work, by Runnable, and each moment at which there were two.
#[derive(Default)]
struct Overlaps {
    at_work: BTreeMap<String, Vec<String>>,
    begun: usize,
    found: Vec<String>,
}

impl Overlaps {
    fn see(&mut self, event: &WatchEvent<DynamicObject>) {
        let (run, is_gone) = match event {
            WatchEvent::Added(run) | WatchEvent::Modified(run) => (run, false),
            WatchEvent::Deleted(run) => (run, true),
            WatchEvent::Bookmark(_) | WatchEvent::Error(_) => return,
        };
        let Some(runnable) = run.labels().get(RUNNABLE_NAME_LABEL) else {
            return;
        };
        let at_work = self.at_work.entry(runnable.clone()).or_default();
        let name = run.name_any();
        at_work.retain(|other| *other != name);
        if is_gone || run.data.pointer("/status/phase").is_some() {
            return;
        }
        self.begun += usize::from(matches!(event, WatchEvent::Added(_)));
        at_work.push(name);
        if at_work.len() > 1 {
            self.found.push(format!("{runnable}: {at_work:?}"));
        }
    }
}

/// Watches the runs of a scene until it is dropped.
struct Watching {
    seen: Arc<Mutex<Overlaps>>,
    task: AbortHandle,
    handle: JoinHandle<()>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watching {
    async fn begin(trials: Api<DynamicObject>) -> Result<Self> {
        let list = trials.list(&ListParams::default()).await?;
        let version = list.metadata.resource_version.unwrap_or_default();
        let seen = Arc::<Mutex<Overlaps>>::default();
        let sink = Arc::clone(&seen);
        let handle = tokio::spawn(async move {
            let params = WatchParams::default().timeout(290);
            let Ok(events) = trials.watch(&params, &version).await else {
                return;
            };
            let mut events = pin!(events);
            while let Some(Ok(event)) = events.next().await {
                sink.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .see(&event);
            }
        });
        Ok(Self {
            seen,
            task: handle.abort_handle(),
            handle,
        })
    }

    /// Checks that no two were ever at work at once, of at least `begun` runs.
    fn none_was_seen(&self, begun: usize) -> Result<()> {
        ensure!(!self.handle.is_finished(), "the watch has ended");
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        ensure!(seen.begun >= begun, "only {} runs were seen", seen.begun);
        ensure!(seen.found.is_empty(), "{:?}", seen.found);
        Ok(())
    }
}

/// Makes a scene whose runs wait for each other by this policy, and end when they are stopped.
async fn scene(name: &str, policy: &str) -> Result<Scene> {
    let scene = Scene::begin(name).await?;
    scene
        .leave(TRIAL, &["get", "list", "create", "delete", "patch"])
        .await?;
    let mut exclusive = template(TRIAL);
    exclusive["concurrencyPolicy"] = policy.into();
    exclusive["stop"] = json!({ "mergePatch": { "spec": { "play": "fail" } } });
    scene.template(exclusive).await?;
    Ok(scene)
}

/// Makes Runnables whose first run hangs.
async fn first_at_work(scene: &Scene, names: &[String]) -> Result<()> {
    for name in names {
        scene.runnable(name, hangs(1)).await?;
    }
    for name in names {
        scene.until(name, "its first run", confirmed).await?;
    }
    Ok(())
}

async fn all_change(scene: &Scene, names: &[String], inputs: &Value) -> Result<()> {
    for name in names {
        scene.change(name, inputs.clone()).await?;
    }
    Ok(())
}

/// Waits until the last change of each has run.
async fn all_give(scene: &Scene, names: &[String], value: i64) -> Result<()> {
    for name in names {
        // A create whose answer was lost in a kill holds the next run back for a minute.
        let done = |it: &Runnable| ready(it) && output(it) == Some(value);
        scene
            .within(AFTER_QUIET, name, "its last run", done)
            .await?;
    }
    scene.nothing_twice()
}

#[tokio::test]
async fn runs_make_way_one_after_the_other_whenever_their_controller_dies() -> Result<()> {
    let scene = scene("make-way", "Replace").await?;
    let watching = Watching::begin(scene.trials()).await?;
    let mut controller = scene.controller(&[]).await?;
    let names = names(8);
    first_at_work(&scene, &names).await?;
    for value in 2..8 {
        sleep(Duration::from_millis(700)).await;
        all_change(&scene, &names, &hangs(value)).await?;
        sleep(Duration::from_millis(40 * u64::try_from(value)?)).await;
        controller.kill()?;
        controller.restart().await?;
    }
    all_change(&scene, &names, &succeeds(9)).await?;
    all_give(&scene, &names, 9).await?;
    watching.none_was_seen(2 * names.len())
}

#[tokio::test]
async fn two_controllers_let_one_run_after_the_other() -> Result<()> {
    let scene = scene("one-by-one", "LatestOnly").await?;
    let watching = Watching::begin(scene.trials()).await?;
    let mut one = scene.controller(&[]).await?;
    let _other = scene.controller(&[]).await?;
    let names = names(6);
    first_at_work(&scene, &names).await?;
    for value in 2..6 {
        sleep(Duration::from_millis(600)).await;
        all_change(&scene, &names, &hangs(value)).await?;
        if value == 3 {
            one.kill()?;
            one.restart().await?;
        }
        let at_work = scene.trials().list(&ListParams::default()).await?;
        let works = |run: &&DynamicObject| run.data.pointer("/status/phase").is_none();
        for run in at_work.iter().filter(works) {
            scene.end(run, true).await?;
        }
    }
    all_change(&scene, &names, &succeeds(9)).await?;
    // A run at work hangs until the test ends it.
    for _ in 0..200 {
        let left = ListParams::default().fields("status.phase!=Done");
        for run in scene.trials().list(&left).await? {
            if run.data.pointer("/spec/play") == Some(&json!("hang")) {
                scene.end(&run, true).await?;
            }
        }
        sleep(Duration::from_millis(100)).await;
    }
    all_give(&scene, &names, 9).await?;
    watching.none_was_seen(2 * names.len())
}
