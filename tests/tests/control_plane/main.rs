//! The foundation of the tests: the control plane itself.

mod flow_control;
mod install_file;
mod servers;

use std::{path::Path, process::Stdio, time::Duration};

use anyhow::{Context, Result};
use cartouche_tests::{
    cluster::{Cluster, Seen, eventually},
    control_plane::Options,
    controller::Controller,
    kind::{JOB, Kind, RUNNABLE, SECRET},
};
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ConfigMap, Pod},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

const DEMO: &str = env!("CARGO_BIN_EXE_demo");
const SOON: Duration = Duration::from_mins(1);

fn job(name: &str, annotations: &Value) -> Result<Job> {
    Ok(serde_json::from_value(json!({
        "metadata": { "name": name },
        "spec": { "backoffLimit": 0, "template": {
            "metadata": { "annotations": annotations },
            "spec": {
                "restartPolicy": "Never",
                "containers": [{ "name": "work", "image": "busybox" }],
            },
        }},
    }))?)
}

fn has_condition(job: &Job, wanted: &str) -> bool {
    let conditions = job.status.as_ref().and_then(|s| s.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|c| c.type_ == wanted && c.status == "True")
}

#[tokio::test]
async fn the_pod_of_a_job_runs_as_its_annotations_say() -> Result<()> {
    let cluster = Cluster::shared(DEMO).await?;
    let namespace = cluster.namespace("jobs").await?;
    let jobs: Api<Job> = cluster.api(&namespace);
    let create = PostParams::default();
    jobs.create(
        &create,
        &job("good", &json!({ "play.carto.run/message": "well" }))?,
    )
    .await?;
    jobs.create(
        &create,
        &job("bad", &json!({ "play.carto.run/outcome": "fail" }))?,
    )
    .await?;
    jobs.create(
        &create,
        &job("slow", &json!({ "play.carto.run/outcome": "hang" }))?,
    )
    .await?;
    cluster
        .wait_for(&jobs, "good", "the good job", SOON, |j| {
            has_condition(j, "Complete")
        })
        .await?;
    cluster
        .wait_for(&jobs, "bad", "the bad job", SOON, |j| {
            has_condition(j, "Failed")
        })
        .await?;
    let slow = jobs.get("slow").await?;
    assert_eq!(slow.status.and_then(|s| s.active), Some(1));
    let pods: Api<Pod> = cluster.api(&namespace);
    let of_good = ListParams::default().labels("job-name=good");
    let pod = serde_json::to_value(&pods.list(&of_good).await?.items[0])?;
    let message = pod.pointer("/status/containerStatuses/0/state/terminated/message");
    assert_eq!(message, Some(&json!("well")));
    Ok(())
}

#[tokio::test]
async fn what_a_deleted_object_owned_is_collected() -> Result<()> {
    let cluster = Cluster::shared(DEMO).await?;
    let namespace = cluster.namespace("owned").await?;
    let maps: Api<ConfigMap> = cluster.api(&namespace);
    let map = |metadata| serde_json::from_value(json!({ "metadata": metadata }));
    let owner = maps
        .create(&PostParams::default(), &map(json!({ "name": "owner" }))?)
        .await?;
    let reference =
        json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid() }]);
    let child = map(json!({ "name": "child", "ownerReferences": reference }))?;
    maps.create(&PostParams::default(), &child).await?;
    maps.delete("owner", &DeleteParams::default()).await?;
    cluster.wait_until_gone(&maps, "child", SOON).await
}

#[tokio::test]
async fn an_account_may_do_what_it_was_granted_and_nothing_else() -> Result<()> {
    let cluster = Cluster::shared(DEMO).await?;
    let namespace = cluster.namespace("rights").await?;
    let rights = [JOB.rights_of_a_runnable()];
    let account = cluster
        .service_account(&namespace, "runner", &rights)
        .await?;
    let client = cluster.client_of(&account).await?;
    let audit = cluster.audit()?;
    let jobs: Api<Job> = Api::namespaced(client.clone(), &namespace);
    jobs.create(&PostParams::default(), &job("one", &json!({}))?)
        .await?;
    let pods: Api<Pod> = Api::namespaced(client, &namespace);
    assert!(matches!(
        pods.list(&ListParams::default()).await,
        Err(kube::Error::Api(status)) if status.code == 403
    ));
    assert_eq!(audit.creates(&namespace, "jobs.batch")?, 1);
    assert_eq!(audit.requests(&account.user(), "list", "pods")?, 1);

    cluster.grant(&account, &[]).await?;
    cluster
        .eventually("the rights to be gone", SOON, || async {
            Ok(match jobs.list(&ListParams::default()).await {
                Err(kube::Error::Api(status)) if status.code == 403 => Seen::Done(()),
                other => Seen::NotYet(format!("{other:?}")),
            })
        })
        .await
}

#[tokio::test]
async fn nothing_is_left_of_a_control_plane_that_was_dropped() -> Result<()> {
    let cluster = Cluster::start(DEMO, &Options::bare()).await?;
    let folder = cluster.control_plane()?.folder().to_owned();
    assert!(folder.is_dir());
    drop(cluster);
    assert!(!folder.exists());
    Ok(())
}

#[tokio::test]
async fn an_engine_is_played_with_the_outcome_that_the_run_asks_for() -> Result<()> {
    let cluster = Cluster::start(DEMO, &Options::full()).await?;
    cluster.install_engines().await?;
    let namespace = cluster.namespace("engines").await?;
    // KWOK restarted for the engines; it must play pods as before.
    let jobs: Api<Job> = cluster.api(&namespace);
    jobs.create(&PostParams::default(), &job("after", &json!({}))?)
        .await?;
    let in_time = Duration::from_secs(20);
    cluster
        .wait_for(&jobs, "after", "a Job", in_time, |j| {
            has_condition(j, "Complete")
        })
        .await?;
    cluster.apply_yaml(&namespace, RUNS).await?;
    let path = |object: &str, path: &str| {
        let arguments = ["-n", &namespace, "get", object, "-o", path].map(str::to_owned);
        let cluster = cluster.clone();
        async move {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            cluster.kubectl(&arguments).await
        }
    };
    for (object, field, wanted) in [
        (
            "taskrun/good",
            "jsonpath={.status.results[0].value}",
            "main",
        ),
        (
            "taskrun/bad",
            "jsonpath={.status.conditions[0].status}",
            "False",
        ),
        (
            "workflow/good",
            "jsonpath={.status.outputs.parameters[0].name}",
            "digest",
        ),
        ("workflow/bad", "jsonpath={.status.message}", "it burned"),
        (
            "backup/good",
            "jsonpath={.status.location}",
            "s3://backups/orders/good",
        ),
    ] {
        cluster
            .eventually(&format!("{object} to end"), SOON, || async {
                Ok(match path(object, field).await? {
                    value if value == wanted => Seen::Done(()),
                    other => Seen::NotYet(other),
                })
            })
            .await?;
    }
    Ok(())
}

const RUNS: &str = "
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: good}
spec:
  params: [{name: branch, value: main}]
  taskSpec: {results: [{name: branch}, {name: commit}]}
---
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: bad, annotations: {play.carto.run/outcome: fail}}
spec: {}
---
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: good}
spec:
  templates: [{name: t, outputs: {parameters: [{name: d, globalName: digest}, {name: e}]}}]
---
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: bad
  annotations: {play.carto.run/outcome: fail, play.carto.run/message: it burned}
spec: {}
---
apiVersion: example.com/v1
kind: Backup
metadata: {name: good}
spec: {database: orders}
";

#[tokio::test]
async fn nothing_is_left_when_the_owner_is_killed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut owner = Command::new(DEMO)
        .env("TMPDIR", folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stderr = owner.stderr.take().context("no standard error")?;
    let mut lines = BufReader::new(stderr).lines();
    while let Some(line) = lines.next_line().await? {
        if line.starts_with("starting kube-controller-manager") && line.contains("done") {
            break;
        }
    }
    assert!(
        processes_of(folder.path())
            .await?
            .contains("kube-apiserver")
    );
    owner.kill().await?;
    let gone = || async {
        Ok(match processes_of(folder.path()).await?.as_str() {
            "" => Seen::Done(()),
            left => Seen::NotYet(left.to_owned()),
        })
    };
    eventually("the servers to be gone", Duration::from_secs(2), gone).await?;
    let empty = || async {
        let left = std::fs::read_dir(folder.path())?.count();
        Ok(if left == 0 {
            Seen::Done(())
        } else {
            Seen::NotYet(format!("{left} left"))
        })
    };
    eventually("the files to be gone", Duration::from_secs(10), empty).await
}

/// Returns the servers (without the processes that remove their files) that work in a folder.
async fn processes_of(folder: &Path) -> Result<String> {
    let output = Command::new("ps")
        .args(["-A", "-o", "args="])
        .output()
        .await?;
    let folder = folder.display().to_string();
    let all = String::from_utf8_lossy(&output.stdout);
    let servers = all
        .lines()
        .filter(|l| l.contains(&folder) && !l.contains("tidy-up"));
    Ok(servers.collect::<Vec<_>>().join("\n"))
}

#[tokio::test]
async fn the_shipped_roles_give_the_controller_what_it_watches_and_no_secrets() -> Result<()> {
    let cluster = Cluster::shared(DEMO).await?;
    cluster.install_cartouche().await?;
    let user = Controller::account().user();
    let may = async |verb, kind: Kind| {
        let kind = kind.resource();
        cluster.may(&user, verb, &kind, "").await
    };
    // The aggregated role of stamped kinds is filled in.
    cluster.allowed(&user, "watch", JOB, SOON).await?;
    let status = Kind {
        plural: "runnables/status",
        ..RUNNABLE
    };
    assert!(may("update", status).await?);
    assert!(!may("get", SECRET).await?);
    assert!(!may("create", JOB).await?);
    Ok(())
}
