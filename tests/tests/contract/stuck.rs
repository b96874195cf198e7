//! Problems that do not end by themselves: their report, and the retry at once.

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_tests::cluster::Seen;
use serde_json::{Value, json};

use crate::world::{
    CONFIG_MAP, JOB, Kind, POD, RUNNABLE, Subject, World, answers, condition, config_map, document,
    stamps,
};

const QUOTA: Kind = Kind::new("", "v1", "ResourceQuota", "resourcequotas");

/// Makes a Runnable whose input comes from this key of `sizes`, which has `small`.
async fn reading(prefix: &str, key: &str) -> Result<(World, Subject)> {
    let world = World::new(prefix).await?;
    world
        .allow("default", &[CONFIG_MAP.rights(&["get"])])
        .await?;
    world
        .template(stamps(json!({ "size": "$(runnable.spec.inputs.size)$" })))
        .await?;
    let sizes = config_map("sizes", json!({}), json!({ "small": "1" }));
    world.put(sizes).await?;
    let from = json!([{ "name": "size", "configMapKeyRef": { "name": "sizes", "key": key } }]);
    let subject = world.runnable("r", json!({ "inputsFrom": from })).await?;
    Ok((world, subject))
}

/// Makes a Runnable that reads an output which another one will never give, and returns its message about
/// that.
async fn chained(world: &World) -> Result<(Subject, &'static str)> {
    let rights = [CONFIG_MAP, RUNNABLE].map(|kind| kind.rights(&["get"]));
    world.allow("default", &rights).await?;
    let gives = world.another_template("gives", answers()).await?;
    let spec = json!({ "runTemplateRef": { "name": gives }, "inputs": { "foo": 1 } });
    world
        .runnable("gives", spec)
        .await?
        .answer(1, json!("1"))
        .await?;
    let reference = json!({ "name": "gives", "output": "anwser" });
    let from = json!([{ "name": "size", "runnableRef": reference }]);
    let reads = world
        .runnable("reads", json!({ "inputsFrom": from }))
        .await?;
    let said = "output anwser of Runnable gives, which gives no such output";
    reads
        .says("Ready", "Unknown", "DependencyNotReady", said)
        .await?;
    Ok((reads, said))
}

#[tokio::test]
async fn what_stays_missing_is_stalled_after_a_minute_with_an_event_and_goes_on_by_itself()
-> Result<()> {
    let (world, subject) = reading("typo", "smal").await?;
    let reference = json!({ "runTemplateRef": { "name": "stuck-template-that-comes-late" } });
    let without = world.runnable("without", reference).await?;
    without.fails("RunTemplateNotFound", "").await?;
    let (chained, gives_no_such) = chained(&world).await?;
    let said = subject
        .says(
            "Ready",
            "Unknown",
            "DependencyNotReady",
            "did you mean 'small'?",
        )
        .await?;
    let object = subject.object().await?;
    ensure!(
        condition(&object, "Reconciling")["status"] == "True",
        "{object}"
    );
    ensure!(condition(&object, "Stalled").is_null(), "{object}");
    let warned = |events: Vec<Value>| events.iter().filter(|it| it["type"] == "Warning").count();
    ensure!(warned(subject.events().await?) == 0, "too early");
    ensure!(warned(without.events().await?) == 0, "too early");
    ensure!(warned(chained.events().await?) == 0, "too early");
    tokio::time::sleep(Duration::from_secs(45)).await;
    subject
        .says(
            "Stalled",
            "True",
            "DependencyNotReady",
            "smal of ConfigMap sizes",
        )
        .await?;
    subject
        .says("Ready", "Unknown", "DependencyNotReady", &said)
        .await?;
    subject
        .event("Warning", "DependencyNotReady", "did you mean 'small'?")
        .await?;
    chained
        .says("Stalled", "True", "DependencyNotReady", gives_no_such)
        .await?;
    chained
        .event("Warning", "DependencyNotReady", gives_no_such)
        .await?;
    let template = "there is no ClusterRunTemplate \"stuck-template-that-comes-late\"";
    without
        .says("Stalled", "True", "RunTemplateNotFound", template)
        .await?;
    without
        .event("Warning", "RunTemplateNotFound", template)
        .await?;
    assert_eq!(warned(without.events().await?), 1);
    let added = json!({ "data": { "smal": "2" } });
    world.patch_of(CONFIG_MAP, "sizes", added).await?;
    let run = subject.run(1).await?;
    assert_eq!(run["spec"]["size"], "2");
    assert_eq!(warned(subject.events().await?), 1);
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_request_to_try_now_makes_the_run_that_was_refused_and_no_other() -> Result<()> {
    let world = World::new("try-now").await?;
    world.template(answers()).await?;
    let hard = json!({ "hard": { "count/testobjs.test.run": "0" } });
    world
        .put(json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "none" }, "spec": hard,
        }))
        .await?;
    let counted = || async {
        let quota = world.get(QUOTA, "none").await?;
        let hard = &quota["status"]["hard"];
        Ok(if hard.is_null() {
            Seen::NotYet(quota["status"].to_string())
        } else {
            Seen::Done(())
        })
    };
    world.eventually("the quota to be counted", counted).await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": 1 } }))
        .await?;
    subject
        .fails("StampedObjectRejectedByAPIServer", "carto.run/retry-now")
        .await?;
    // By then half a minute lies between two retries.
    tokio::time::sleep(Duration::from_secs(40)).await;
    world.delete(QUOTA, "none").await?;
    world.gone(QUOTA, "none").await?;
    subject
        .edit(|it| it["metadata"]["annotations"] = json!({ "carto.run/retry-now": "1" }))
        .await?;
    tokio::time::timeout(Duration::from_secs(10), subject.run(1)).await??;
    subject.stays_at(1).await
}

/// Makes a Job with these containers, whose pod runs until the test ends it.
async fn hanging(prefix: &str, containers: &[&str]) -> Result<(World, Subject)> {
    playing(prefix, "hang", containers).await
}

/// Makes a Job with these containers, whose pods have this outcome.
async fn playing(prefix: &str, outcome: &str, containers: &[&str]) -> Result<(World, Subject)> {
    let world = World::new(prefix).await?;
    let rights = [JOB.rights_of_a_runnable(), POD.rights(&["list"])];
    world.allow("default", &rights).await?;
    let containers = containers.iter();
    let containers = containers.map(|name| json!({ "name": name, "image": "busybox" }));
    let pod = json!({
        "metadata": { "annotations": { "play.carto.run/outcome": outcome } },
        "spec": { "restartPolicy": "Never", "containers": containers.collect::<Vec<_>>() },
    });
    let job = json!({ "backoffLimit": 6, "template": pod });
    let spec = json!({ "template": document(JOB, job) });
    world.template(spec).await?;
    let subject = world.runnable("r", json!({})).await?;
    Ok((world, subject))
}

#[tokio::test]
async fn a_sidecar_that_keeps_a_job_alive_is_named() -> Result<()> {
    let (world, subject) = hanging("sidecar", &["main", "istio-proxy"]).await?;
    let run = subject.runs_of(JOB, 1).await?.remove(0);
    let job = run["metadata"]["name"].as_str().unwrap_or_default();
    subject
        .says("Ready", "Unknown", "RunInProgress", "has not ended yet")
        .await?;
    let label = format!("batch.kubernetes.io/job-name={job}");
    let pod = world
        .eventually("its pod to run", || async {
            let pods = world.list(POD, &label).await?;
            Ok(
                match pods
                    .into_iter()
                    .find(|it| it["status"]["phase"] == "Running")
                {
                    Some(pod) => Seen::Done(pod),
                    None => Seen::NotYet("no pod runs".to_owned()),
                },
            )
        })
        .await?;
    let mut status = pod["status"].clone();
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        if ["Ready", "ContainersReady"].contains(&condition["type"].as_str().unwrap_or_default()) {
            condition["status"] = json!("False");
        }
    }
    for container in status["containerStatuses"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        if container["name"] == "main" {
            container["ready"] = json!(false);
            container["state"] = json!({ "terminated": { "exitCode": 0, "reason": "Completed" } });
        }
    }
    world.play(&pod, status).await?;
    let said = subject
        .says("Ready", "Unknown", "SidecarRuns", "istio-proxy still runs")
        .await?;
    ensure!(said.starts_with("container main of pod "), "{said}");
    subject.stays_at_of(JOB, 1).await
}

#[tokio::test]
async fn a_job_whose_pods_fail_says_so_after_the_first_one_and_warns_once() -> Result<()> {
    let (_world, subject) = playing("failing", "fail", &["main"]).await?;
    let said = "1 pod has failed, and the run continues until more than 6 have; the last: container main of pod ";
    subject
        .says("Reconciling", "True", "PodFailed", said)
        .await?;
    subject.event("Warning", "PodFailed", said).await?;
    let object = subject.object().await?;
    ensure!(
        object["status"]["currentRun"]["result"].is_null(),
        "{object}"
    );
    subject
        .says("Ready", "Unknown", "PodFailed", " pods have failed")
        .await?;
    let events = subject.events().await?;
    let warned = events.iter().filter(|it| it["reason"] == "PodFailed");
    assert_eq!(warned.count(), 1);
    subject.stays_at_of(JOB, 1).await
}
