//! Jobs that the real Kueue holds, admits and evicts, on a cluster of their own: its webhooks handle every
//! Job there.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{Cluster, Seen},
    control_plane::{ControlPlane, Options},
    controller::{Controller, Settings},
    engines::{EngineError, Kueue},
    fixture::objects::{condition, name_of, text},
    kind::RUNNABLE,
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::{
    played,
    queues::{QUEUE, current_run, goes, is_cancelled, worked_for},
    scene::{DEMO, JOB, Kind, Optional, Scene, there, with},
};

const WORKLOAD: Kind = Kind::new("kueue.x-k8s.io", "v1beta2", "Workload", "workloads");
const LOCAL_QUEUE: Kind = Kind::new("kueue.x-k8s.io", "v1beta2", "LocalQueue", "localqueues");

/// Without a [`Cluster`], whose client ends with the test that makes it.
static KUEUE: Optional<(Arc<ControlPlane>, Controller, Kueue)> = OnceCell::const_new();

/// Returns the cluster with Kueue, or `None` if it is not available.
async fn cluster() -> Result<Option<Cluster>> {
    let Some((plane, controller, _)) = there("Kueue", &KUEUE, Box::pin(start())).await? else {
        return Ok(None);
    };
    let cluster = Cluster::of(Arc::clone(plane)).await?;
    Kueue::show_log(&cluster);
    cluster.show_on_failure(controller.log_file());
    Ok(Some(cluster))
}

async fn start() -> Result<(Arc<ControlPlane>, Controller, Kueue), EngineError> {
    let plane = Arc::new(ControlPlane::start(DEMO, &Options::full()).await?);
    let cluster = Cluster::of(Arc::clone(&plane)).await?;
    Kueue::show_log(&cluster);
    let kueue = Kueue::start(Path::new(DEMO), &cluster).await?;
    cluster.install_cartouche().await?;
    let controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    Ok((plane, controller, kueue))
}

/// Makes a flavour whose nodes have a label and a taint, a queue of the cluster with room for them, and a
/// closed one of the namespace.
async fn open_queue(scene: &Scene) -> Result<()> {
    let name = &scene.namespace;
    let of = |kind: &str, spec: Value| {
        let metadata = json!({ "name": name });
        json!({ "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec })
    };
    let spot = json!({ "key": "spot", "operator": "Exists", "effect": "NoSchedule" });
    let flavour = of(
        "ResourceFlavor",
        json!({ "nodeLabels": { "pool": "spot" }, "tolerations": [spot] }),
    );
    let room = json!({ "name": name, "resources": [{ "name": "cpu", "nominalQuota": "8" }] });
    let queue = of(
        "ClusterQueue",
        json!({
            "namespaceSelector": {},
            "resourceGroups": [{ "coveredResources": ["cpu"], "flavors": [room] }],
        }),
    );
    let mut local = of(
        "LocalQueue",
        json!({ "clusterQueue": name, "stopPolicy": "Hold" }),
    );
    local["metadata"]["namespace"] = json!(name);
    for object in [flavour, queue, local] {
        scene.put(object).await?;
    }
    Ok(())
}

/// Sets the policy of the queue: `Hold` admits none, `HoldAndDrain` evicts all, `None` admits them.
async fn queue_is(scene: &Scene, policy: &str) -> Result<()> {
    let patch = json!({ "spec": { "stopPolicy": policy } });
    scene.patch_of(LOCAL_QUEUE, &scene.namespace, patch).await
}

fn job(namespace: &str) -> Value {
    let mut spec = with(played::job("hang"), json!({ "suspend": true }));
    let pod = &mut spec["template"]["spec"];
    pod["tolerations"] = json!([{ "key": "own", "operator": "Exists" }]);
    pod["containers"][0]["resources"] = json!({ "requests": { "cpu": "1" } });
    let labels = json!({ QUEUE: namespace });
    json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "labels": labels }, "spec": spec })
}

/// Makes a scene with a closed queue, and a Job in it that would hang; `None` without Kueue.
async fn queued(template: Value) -> Result<Option<(Scene, Value)>> {
    let Some(cluster) = cluster().await? else {
        return Ok(None);
    };
    let scene = Scene::with_stops(cluster, JOB).await?;
    open_queue(&scene).await?;
    let mut run = job(&scene.namespace);
    run["metadata"]["generateName"] = json!("$(runnable.metadata.name)$-");
    run["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{ "name": "VERSION", "value": "$(runnable.spec.inputs.version)$" }]);
    let template = with(template, json!({ "template": run }));
    scene.template(template).await?;
    let inputs = json!({ "inputs": { "version": "v1" } });
    scene.runnable("it", inputs).await?;
    owners_are(&scene, |owners| owners.len() == 1).await?;
    let job = scene.run("the Job to be there", |_| true).await?;
    Ok(Some((scene, job)))
}

/// Waits until Kueue has Workloads of the wanted Jobs, by their names.
async fn owners_are(scene: &Scene, wanted: impl Fn(&[String]) -> bool) -> Result<()> {
    let wanted = &wanted;
    scene
        .eventually("Kueue's Workloads", || async move {
            let workloads = scene.list(WORKLOAD, "").await?;
            let owner = |it: &Value| text(&it["metadata"]["ownerReferences"][0]["name"]).to_owned();
            let owners: Vec<_> = workloads.iter().map(owner).collect();
            Ok(if wanted(&owners) {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("Workloads of {owners:?}"))
            })
        })
        .await
}

async fn admitted(scene: &Scene) -> Result<Value> {
    queue_is(scene, "None").await?;
    scene
        .run("the Job to be at work", |job| job["status"]["active"] == 1)
        .await
}

#[tokio::test]
async fn what_kueue_holds_is_not_timed_out_and_after_an_eviction_its_time_begins_anew() -> Result<()>
{
    let Some((scene, _)) = queued(json!({ "timeout": "8s" })).await? else {
        return Ok(());
    };
    let says = |it: &Value| text(&condition(it, "Ready")["message"]).starts_with("it is queued (");
    scene.observed(RUNNABLE, "it", "to be queued", says).await?;
    tokio::time::sleep(Duration::from_secs(24)).await;
    admitted(&scene).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    queue_is(&scene, "HoldAndDrain").await?;
    let is_evicted =
        |job: &Value| job["spec"]["suspend"] == true && job["status"]["startTime"].is_null();
    scene.run("the Job to be evicted", is_evicted).await?;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let current = current_run(&scene).await?;
    assert_eq!(current["stop"], Value::Null, "{current}");
    queue_is(&scene, "None").await?;
    let worked = worked_for(&scene).await?;
    ensure!(worked >= Duration::from_secs(8), "{worked:?}");
    ensure!(worked < Duration::from_secs(40), "{worked:?}");
    scene.never_more_runs_than(1).await
}

#[tokio::test]
async fn what_kueue_holds_makes_way_with_its_workload_and_nothing_else_does() -> Result<()> {
    let Some((scene, run)) = queued(json!({ "concurrencyPolicy": "Replace" })).await? else {
        return Ok(());
    };
    let mut bystander = job(&scene.namespace);
    bystander["metadata"]["name"] = json!("bystander");
    bystander["metadata"]["namespace"] = json!(scene.namespace);
    let bystander = scene.put(bystander).await?;
    scene.inputs(json!({ "version": "v2" })).await?;
    goes(&scene, &run, "Replaced").await?;
    let are_others = |owners: &[String]| !owners.iter().any(|it| it == name_of(&run));
    owners_are(&scene, |owners| owners.len() == 2 && are_others(owners)).await?;
    let left = scene.get(JOB, "bystander").await?;
    assert_eq!(left["metadata"]["uid"], bystander["metadata"]["uid"]);
    // Ours, the bystander, and the next one.
    scene.never_more_runs_than(3).await
}

#[tokio::test]
async fn what_kueue_holds_and_a_person_cancels_goes_with_its_workload_and_is_not_made_again()
-> Result<()> {
    let Some((scene, run)) = queued(json!({ "retry": {} })).await? else {
        return Ok(());
    };
    is_cancelled(&scene, &run).await?;
    owners_are(&scene, <[String]>::is_empty).await
}

#[tokio::test]
async fn what_kueue_has_changed_in_a_job_makes_it_no_other_run_when_the_ledger_is_lost()
-> Result<()> {
    let Some((scene, _)) = queued(json!({})).await? else {
        return Ok(());
    };
    let job = admitted(&scene).await?;
    let tolerations = &job["spec"]["template"]["spec"]["tolerations"];
    assert_eq!(tolerations[0]["key"], "own", "{tolerations}");
    assert_eq!(tolerations[1]["key"], "spot", "{tolerations}");
    let name = name_of(&job);
    scene
        .edit_status("it", |status| *status = json!({}))
        .await?;
    let is_found = |it: &Value| it["status"]["currentRun"]["name"] == name;
    scene
        .observed(RUNNABLE, "it", "to know its run", is_found)
        .await?;
    scene.never_more_runs_than(1).await
}
