//! Objects of strangers, which anybody may make who may create a kind that is watched: they are small and
//! deep, or large and many. And objects of our own kinds that nobody can read.

mod unreadable;

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{Cluster, Rights, Seen},
    controller::{Controller, Settings},
    fault_proxy::{Call, Fault, FaultProxy},
    lab::{self, TRIAL},
};
use kube::{
    Api,
    api::{DynamicObject, ListParams},
};
use serde_json::{Value, json};

use crate::ground::{self, DEMO, SOON, apply, condition};

const TRIALS: &str = "/apis/lab.test/v1/namespaces";
const RUNNABLES: &str = "/apis/carto.run/v1alpha1/namespaces";
/// Deeper than JSON is read by default.
const DEEP: usize = 140;
const MIB: u64 = 1024 * 1024;

/// A cluster with a kind of runs that anything may be written into.
async fn cluster() -> Result<Cluster> {
    let cluster = ground::cluster().await?;
    cluster.apply_yaml("default", lab::KINDS).await?;
    cluster.definitions_served().await?;
    let template = ground::template("lab", &lab::template(TRIAL));
    apply(&cluster, &[template]).await?;
    Ok(cluster)
}

/// A namespace whose account may make runs.
async fn victim(cluster: &Cluster) -> Result<String> {
    let namespace = cluster.namespace("victim").await?;
    let rights = [Rights::of_a_runnable("lab.test", "trials")];
    cluster
        .service_account(&namespace, "runner", &rights)
        .await?;
    Ok(namespace)
}

/// A controller, and `app`, which has a run that does not end.
async fn with_a_run(cluster: &Cluster, victim: &str) -> Result<(Controller, Value)> {
    let controller = Controller::start(DEMO, cluster, &Settings::default()).await?;
    apply(cluster, &[runnable(victim, "app", &lab::hangs(1))]).await?;
    let made = until(cluster, (victim, "app"), "a run", has_run).await?;
    Ok((controller, made))
}

/// A list in a list, and so on.
fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// Sends text, since a client would refuse to read what it has written itself.
async fn send(cluster: &Cluster, method: &str, path: &str, body: String) -> Result<()> {
    let kind = match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("Content-Type", kind)
        .body(body.into_bytes())?;
    cluster.client().request_text(request).await?;
    Ok(())
}

async fn stranger(cluster: &Cluster, namespace: &str, metadata: &str, spec: &str) -> Result<()> {
    let object = format!(
        r#"{{"apiVersion":"lab.test/v1","kind":"Trial","metadata":{{"generateName":"x-","labels":{{"carto.run/runnable-name":"x"}}{metadata}}},"spec":{spec}}}"#
    );
    send(
        cluster,
        "POST",
        &format!("{TRIALS}/{namespace}/trials"),
        object,
    )
    .await
}

fn runnable(namespace: &str, name: &str, inputs: &Value) -> Value {
    ground::runnable(namespace, name, "lab", inputs)
}

/// Status, generation and version of an object, whose spec may be too deep to be read here.
async fn get(cluster: &Cluster, namespace: &str, kind: &str, name: &str) -> Result<Value> {
    let parts =
        r#"jsonpath={.status}{"\n"}{.metadata.generation}{"\n"}{.metadata.resourceVersion}"#;
    let arguments = ["-n", namespace, "get", kind, name, "-o", parts];
    let answer = cluster.kubectl(&arguments).await?;
    let lines: Vec<&str> = answer.lines().collect();
    let [status, generation, version] = lines[..] else {
        anyhow::bail!("{answer}");
    };
    let status: Value = serde_json::from_str(if status.is_empty() { "null" } else { status })?;
    Ok(json!({
        "status": status,
        "metadata": { "generation": generation.parse::<i64>()?, "resourceVersion": version },
    }))
}

/// Waits until a Runnable is as wanted.
async fn until(
    cluster: &Cluster,
    (namespace, name): (&str, &str),
    what: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Result<Value> {
    cluster
        .eventually(what, SOON, || async {
            let runnable = get(cluster, namespace, "runnable", name).await?;
            Ok(if wanted(&runnable) {
                Seen::Done(runnable)
            } else {
                Seen::NotYet(runnable["status"].to_string())
            })
        })
        .await
}

fn has_run(runnable: &Value) -> bool {
    runnable["status"]["currentRun"]["phase"] == "Created"
}

fn is_ready(runnable: &Value) -> bool {
    condition(runnable, "Ready")["status"] == "True"
}

/// Ends the only run of a namespace.
async fn end_run(
    cluster: &Cluster,
    namespace: &str,
    resource: &kube::api::ApiResource,
) -> Result<()> {
    let runs: Api<DynamicObject> = Api::namespaced_with(cluster.client(), namespace, resource);
    let unfinished = runs.list(&ListParams::default()).await?.items;
    for run in unfinished {
        if run.data.pointer("/status/phase").is_none() {
            lab::end(&runs, &run, true).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_object_too_deep_to_read_keeps_no_other_tenant_waiting() -> Result<()> {
    let cluster = cluster().await?;
    let (victim, attacker) = (
        victim(&cluster).await?,
        cluster.namespace("attacker").await?,
    );
    let mut controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    apply(&cluster, &[runnable(&victim, "before", &lab::hangs(1))]).await?;
    let before = (victim.as_str(), "before");
    until(&cluster, before, "a run before", has_run).await?;

    let owned = r#","ownerReferences":[{"apiVersion":"carto.run/v1alpha1","kind":"Runnable","name":"before","uid":"0b8f8a2c-3c3c-4c3c-8c3c-000000000000","controller":true}]"#;
    stranger(
        &cluster,
        &attacker,
        "",
        &format!(r#"{{"a":{}}}"#, nested(DEEP)),
    )
    .await?;
    stranger(
        &cluster,
        &attacker,
        owned,
        &format!(r#"{{"a":{}}}"#, nested(DEEP)),
    )
    .await?;
    controller.restart().await?;

    apply(&cluster, &[runnable(&victim, "after", &lab::hangs(2))]).await?;
    until(&cluster, (&victim, "after"), "a run after", has_run).await?;
    end_run(&cluster, &victim, &TRIAL.resource()).await?;
    let ended = until(&cluster, before, "the end of the first run", is_ready).await?;
    ensure!(ended["status"]["outputs"]["value"] == 1, "{ended}");
    Ok(())
}

#[tokio::test]
async fn a_run_too_deep_to_read_is_followed_and_gives_no_half_outputs() -> Result<()> {
    let cluster = cluster().await?;
    let victim = victim(&cluster).await?;
    let (controller, made) = with_a_run(&cluster, &victim).await?;
    let app = (victim.as_str(), "app");
    let run = made["status"]["currentRun"]["name"]
        .as_str()
        .unwrap_or_default();
    let path = format!("{TRIALS}/{victim}/trials/{run}/status");
    let condition_of_run = lab::ended(true, &json!(1))["conditions"].clone();
    let status = format!(
        r#"{{"status":{{"value":1,"conditions":{condition_of_run},"a":{}}}}}"#,
        nested(DEEP)
    );
    send(&cluster, "PATCH", &path, status).await?;

    let told = until(&cluster, app, "a word about the depth", |it| {
        condition(it, "RunTemplateReady")["reason"] == "OutputPathNotSatisfied"
    })
    .await?;
    let said = condition(&told, "RunTemplateReady")["message"].to_string();
    ensure!(
        said.contains(run) && said.contains("deeper than 127 levels"),
        "{said}"
    );
    ensure!(
        told["status"]["currentRun"]["result"] == "Succeeded",
        "{told}"
    );

    send(
        &cluster,
        "PATCH",
        &path,
        r#"{"status":{"a":null}}"#.to_owned(),
    )
    .await?;
    let healed = until(&cluster, app, "the outputs", is_ready).await?;
    ensure!(healed["status"]["outputs"]["value"] == 1, "{healed}");
    ensure!(healed["status"]["currentRun"]["sequence"] == 1, "{healed}");
    ensure!(controller.runs()?);
    Ok(())
}

/// The recipe that takes 35 MB an object: a list of very many small maps.
fn maps() -> String {
    format!("[{}{{}}]", r#"{"a":"bcdefg"},"#.repeat(70_000))
}

#[tokio::test]
async fn large_objects_of_strangers_take_little_memory() -> Result<()> {
    let cluster = cluster().await?;
    let (victim, attacker) = (
        victim(&cluster).await?,
        cluster.namespace("attacker").await?,
    );
    let maps = format!(r#"{{"a":{}}}"#, maps());
    ensure!(maps.len() > 1_000_000);
    let owned = r#","ownerReferences":[{"apiVersion":"carto.run/v1alpha1","kind":"Runnable","name":"app","uid":"0b8f8a2c-3c3c-4c3c-8c3c-000000000000","controller":true}]"#;
    for index in 0..30 {
        let metadata = if index % 2 == 0 { "" } else { owned };
        stranger(&cluster, &attacker, metadata, &maps).await?;
    }
    let audit = cluster.audit()?;
    let controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    apply(&cluster, &[runnable(&victim, "app", &lab::hangs(1))]).await?;
    let app = (victim.as_str(), "app");
    until(&cluster, app, "a run", has_run).await?;
    end_run(&cluster, &victim, &TRIAL.resource()).await?;
    until(&cluster, app, "its end", is_ready).await?;
    // One more of each, as an event.
    stranger(&cluster, &attacker, "", &maps).await?;
    stranger(&cluster, &attacker, owned, &maps).await?;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;

    let peak = controller.peak_memory()? / MIB;
    eprintln!("at most {peak} MiB");
    ensure!(peak < 150, "{peak} MiB");
    let user = Controller::account().user();
    let lists = audit.requests(&user, "list", "trials.lab.test")?;
    ensure!(lists <= 20, "{lists} requests for 30 objects");
    Ok(())
}

/// Each is read, and is too much for a template.
#[tokio::test]
async fn large_runnables_of_a_tenant_take_little_more_than_their_text() -> Result<()> {
    const COUNT: usize = 30;
    let cluster = cluster().await?;
    let (victim, attacker) = (victim(&cluster).await?, victim(&cluster).await?);
    let controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    let before = controller.peak_memory()? / MIB;
    let path = format!("{RUNNABLES}/{attacker}/runnables");
    for index in 0..COUNT {
        let name = format!("large-{index}");
        let large = runnable(
            &attacker,
            &name,
            &json!({ "value": "MAPS", "play": "hang" }),
        );
        let large = large.to_string().replace(r#""MAPS""#, &maps());
        ensure!(large.len() > 1_000_000);
        send(&cluster, "POST", &path, large).await?;
    }
    for index in 0..COUNT {
        let large = (attacker.as_str(), format!("large-{index}"));
        let refused = |it: &Value| condition(it, "Ready")["reason"] == "TemplateStampFailure";
        until(&cluster, (large.0, &large.1), "a word about it", refused).await?;
    }
    apply(&cluster, &[runnable(&victim, "app", &lab::hangs(1))]).await?;
    until(&cluster, (&victim, "app"), "a run", has_run).await?;
    let mut peaks = vec![controller.peak_memory()? / MIB];
    drop(controller);
    // The same as one list.
    let controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    apply(&cluster, &[runnable(&victim, "late", &lab::hangs(2))]).await?;
    until(&cluster, (&victim, "late"), "a run", has_run).await?;
    peaks.push(controller.peak_memory()? / MIB);
    eprintln!("{COUNT} large Runnables: at most {peaks:?} MiB, {before} without");
    ensure!(peaks.iter().all(|peak| *peak < 300), "{peaks:?} MiB");
    Ok(())
}

/// Every list of the kind fails: that which the watch begins with, and those of the account.
#[tokio::test]
async fn a_kind_whose_watch_fails_is_polled_and_that_is_said_until_it_is_mended() -> Result<()> {
    let cluster = cluster().await?;
    let victim = victim(&cluster).await?;
    let rights = Rights {
        group: "lab.test",
        resource: "trials",
        verbs: &["get", "list", "create", "delete"],
    };
    cluster
        .service_account(&victim, "runner", &[rights])
        .await?;
    let (proxy, _orders) = FaultProxy::start(&cluster, &victim).await?;
    let account = Controller::account();
    let token = cluster.token(&account).await?;
    let settings = Settings {
        kubeconfig: Some(proxy.kubeconfig(&account.name, &token)?),
        ..Settings::with_arguments(&["--poll-seconds", "2"])
    };
    let mut controller = Controller::start(DEMO, &cluster, &settings).await?;
    let app = (victim.as_str(), "app");
    apply(&cluster, &[runnable(&victim, "app", &lab::hangs(1))]).await?;
    until(&cluster, app, "a run", has_run).await?;
    proxy.begin(Box::new(|call, _| {
        (*call == Call::new("list", "trials.lab.test")).then_some(Fault::Internal)
    }));
    controller.restart().await?;

    let path = format!("{RUNNABLES}/{victim}/runnables/app");
    let next = r#"{"spec":{"inputs":{"value":2}}}"#;
    send(&cluster, "PATCH", &path, next.to_owned()).await?;
    let said = |it: &Value| condition(it, "WatchUnavailable")["message"].to_string();
    let made = until(&cluster, app, "the next run, and a word", |it| {
        it["status"]["currentRun"]["sequence"] == 2
            && has_run(it)
            && said(it).contains("trials.lab.test")
    })
    .await?;
    ensure!(said(&made).contains("answers 500"), "{made}");
    let ready = controller.get("/readyz").await?;
    let warning = "warning: the watch of trials.lab.test fails";
    ensure!(
        ready.starts_with("ok\n") && ready.contains(warning),
        "{ready}"
    );
    let failing = |count: u32| format!("cartouche_watches{{state=\"Failing\"}} {count}");
    let metrics = controller.get("/metrics").await?;
    ensure!(metrics.contains(&failing(1)), "{metrics}");
    // It is followed all the same.
    end_run(&cluster, &victim, &TRIAL.resource()).await?;
    let ended = until(&cluster, app, "the end of the run", is_ready).await?;
    ensure!(said(&ended) == said(&made), "{ended}");
    let tries = proxy.calls().len();
    ensure!(tries < 200, "{tries} requests");

    proxy.spare();
    until(&cluster, app, "the word to be taken back", |it| {
        condition(it, "WatchUnavailable").is_null() && is_ready(it)
    })
    .await?;
    ensure!(controller.get("/readyz").await? == "ok\n");
    let metrics = controller.get("/metrics").await?;
    ensure!(metrics.contains(&failing(0)), "{metrics}");
    let runs = ground::all(&cluster, &victim, "trials").await?;
    ensure!(runs.len() == 2, "{runs:?}");
    Ok(())
}
