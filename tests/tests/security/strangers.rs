//! Foreign objects, which any account may make that may create a watched kind: they are small and deep, or
//! large and many. And unreadable objects of our own kinds.

mod heavy;
mod unreadable;

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{Cluster, Seen},
    control_plane::Options,
    controller::{Controller, Settings},
    fault_proxy::{Call, Fault, FaultProxy},
    fixture::{Fixture, install_lab},
    lab::{self, TRIAL},
};
use kube::api::ListParams;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::ground::{self, DEMO, SOON, condition, is_ready, text};

/// Deeper than JSON parsers read by default.
const DEEP: usize = 140;
const MIB: u64 = 1024 * 1024;

/// Starts a cluster with a kind of runs that takes any content.
async fn cluster() -> Result<Cluster> {
    let cluster = Cluster::start(DEMO, &Options::controllers()).await?;
    install_lab(&cluster, SOON).await?;
    Ok(cluster)
}

/// Makes a namespace whose account may make runs.
async fn victim(cluster: &Cluster) -> Result<Fixture> {
    let rights = [TRIAL.rights_of_a_runnable()];
    let victim = ground::namespace(cluster, "victim", &rights).await?;
    victim.template(lab::template(TRIAL)).await?;
    Ok(victim)
}

/// Makes a namespace whose objects are no runs.
async fn attacker(cluster: &Cluster) -> Result<Fixture> {
    ground::namespace(cluster, "attacker", &[]).await
}

/// Makes a Runnable with a run that does not end.
async fn has_a_run(victim: &Fixture, name: &str) -> Result<Value> {
    victim.runnable(name, inputs(lab::hangs(1))).await?;
    until(victim, name, "a run", has_run).await
}

/// Starts a controller, and makes `app`, which has a run that does not end.
async fn with_a_run(victim: &Fixture) -> Result<(Controller, Value)> {
    let controller = Controller::start(DEMO, &victim.cluster, &Settings::default()).await?;
    let made = has_a_run(victim, "app").await?;
    Ok((controller, made))
}

fn inputs(inputs: impl Into<Value>) -> Value {
    json!({ "inputs": inputs.into() })
}

/// Returns lists in each other.
fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// Sends text, because a client would refuse to read its own request.
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

/// Returns the path of the Runnables of a namespace.
fn runnables(of: &Fixture) -> String {
    let namespace = &of.namespace;
    format!("/apis/carto.run/v1alpha1/namespaces/{namespace}/runnables")
}

/// Returns the path of the runs.
fn trials(of: &Fixture) -> String {
    format!("/apis/lab.test/v1/namespaces/{}/trials", of.namespace)
}

/// Makes an object that claims to be a run of `x`, with further metadata and this at `spec.a`.
async fn stranger(attacker: &Fixture, metadata: &str, spec: &str) -> Result<()> {
    let object = format!(
        r#"{{"apiVersion":"lab.test/v1","kind":"Trial","metadata":{{"generateName":"x-","labels":{{"carto.run/runnable-name":"x"}}{metadata}}},"spec":{{"a":{spec}}}}}"#
    );
    send(&attacker.cluster, "POST", &trials(attacker), object).await
}

/// Returns metadata with a Runnable of this name as the owner.
fn owned_by(name: &str) -> String {
    let uid = "0b8f8a2c-3c3c-4c3c-8c3c-000000000000";
    format!(
        r#","ownerReferences":[{{"apiVersion":"carto.run/v1alpha1","kind":"Runnable","name":"{name}","uid":"{uid}","controller":true}}]"#
    )
}

/// Returns status, generation and version of an object, whose spec may be too deep to read here.
async fn get(fixture: &Fixture, kind: &str, name: &str) -> Result<Value> {
    let parts =
        r#"jsonpath={.status}{"\n"}{.metadata.generation}{"\n"}{.metadata.resourceVersion}"#;
    let arguments = ["-n", &fixture.namespace, "get", kind, name, "-o", parts];
    let answer = fixture.cluster.kubectl(&arguments).await?;
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
    fixture: &Fixture,
    name: &str,
    what: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Result<Value> {
    fixture
        .eventually(what, || async {
            let runnable = get(fixture, "runnable", name).await?;
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

/// Ends the runs of a namespace.
async fn end_runs(victim: &Fixture) -> Result<()> {
    let runs = victim.api(TRIAL);
    for run in runs.list(&ListParams::default()).await? {
        if run.data.pointer("/status/phase").is_none() {
            lab::end(&runs, &run, true).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_object_too_deep_to_read_keeps_no_other_tenant_waiting() -> Result<()> {
    let cluster = cluster().await?;
    let (victim, attacker) = (victim(&cluster).await?, attacker(&cluster).await?);
    let mut controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    has_a_run(&victim, "before").await?;
    for metadata in [String::new(), owned_by("before")] {
        stranger(&attacker, &metadata, &nested(DEEP)).await?;
    }
    controller.restart().await?;

    has_a_run(&victim, "after").await?;
    end_runs(&victim).await?;
    let ended = until(&victim, "before", "the end of the first run", is_ready).await?;
    ensure!(ended["status"]["outputs"]["value"] == 1, "{ended}");
    Ok(())
}

#[tokio::test]
async fn a_run_too_deep_to_read_is_followed_and_gives_no_half_outputs() -> Result<()> {
    let cluster = cluster().await?;
    let victim = victim(&cluster).await?;
    let (controller, made) = with_a_run(&victim).await?;
    let run = text(&made["status"]["currentRun"]["name"]);
    let path = format!("{}/{run}/status", trials(&victim));
    let condition_of_run = lab::ended(true, &json!(1))["conditions"].clone();
    let status = format!(
        r#"{{"status":{{"value":1,"conditions":{condition_of_run},"a":{}}}}}"#,
        nested(DEEP)
    );
    send(&cluster, "PATCH", &path, status).await?;

    let told = until(&victim, "app", "a word about the depth", |it| {
        condition(it, "RunTemplateReady")["reason"] == "OutputPathNotSatisfied"
    })
    .await?;
    let said = condition(&told, "RunTemplateReady")["message"].to_string();
    ensure!(
        said.contains(run) && said.contains("deeper than 127 levels"),
        "{said}"
    );
    let current = &told["status"]["currentRun"];
    ensure!(current["result"] == "Succeeded", "{told}");

    let mended = r#"{"status":{"a":null}}"#.to_owned();
    send(&cluster, "PATCH", &path, mended).await?;
    let healed = until(&victim, "app", "the outputs", is_ready).await?;
    ensure!(healed["status"]["outputs"]["value"] == 1, "{healed}");
    ensure!(healed["status"]["currentRun"]["sequence"] == 1, "{healed}");
    ensure!(controller.runs()?);
    Ok(())
}

/// Returns the content that takes 35 MB an object: a list of very many small maps.
fn maps() -> String {
    format!("[{}{{}}]", r#"{"a":"bcdefg"},"#.repeat(70_000))
}

#[tokio::test]
async fn large_objects_of_strangers_take_little_memory() -> Result<()> {
    let cluster = cluster().await?;
    let (victim, attacker) = (victim(&cluster).await?, attacker(&cluster).await?);
    let maps = maps();
    ensure!(maps.len() > 1_000_000);
    let one_of_each = async || {
        stranger(&attacker, "", &maps).await?;
        stranger(&attacker, &owned_by("app"), &maps).await
    };
    for _ in 0..15 {
        one_of_each().await?;
    }
    let audit = cluster.audit()?;
    let (controller, _) = with_a_run(&victim).await?;
    end_runs(&victim).await?;
    until(&victim, "app", "its end", is_ready).await?;
    // One more of each, as an event.
    one_of_each().await?;
    sleep(Duration::from_secs(2)).await;

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
#[ignore = "the API server needs minutes for these objects: just nightly"]
async fn large_runnables_of_a_tenant_take_little_more_than_their_text() -> Result<()> {
    const COUNT: usize = 30;
    let cluster = cluster().await?;
    let (small, large) = (victim(&cluster).await?, victim(&cluster).await?);
    let controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    let before = controller.peak_memory()? / MIB;
    let names: Vec<_> = (0..COUNT).map(|index| format!("large-{index}")).collect();
    for name in &names {
        let spec = inputs(json!({ "value": "MAPS", "play": "hang" }));
        let text = large.manifest(name, spec).to_string();
        let text = text.replace(r#""MAPS""#, &maps());
        ensure!(text.len() > 1_000_000);
        send(&cluster, "POST", &runnables(&large), text).await?;
    }
    for name in &names {
        let refused = |it: &Value| condition(it, "Ready")["reason"] == "TemplateStampFailure";
        until(&large, name, "a word about it", refused).await?;
    }
    has_a_run(&small, "app").await?;
    let mut peaks = vec![controller.peak_memory()? / MIB];
    drop(controller);
    // The same as one list.
    let controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    has_a_run(&small, "late").await?;
    peaks.push(controller.peak_memory()? / MIB);
    eprintln!("{COUNT} large Runnables: at most {peaks:?} MiB, {before} without");
    ensure!(peaks.iter().all(|peak| *peak < 300), "{peaks:?} MiB");
    Ok(())
}

/// Checks that health and metrics of the controller report that the watch of Trials fails, or do not mention
/// it.
async fn tells_of_a_failing_watch(controller: &Controller, failing: bool) -> Result<()> {
    let ready = controller.get("/readyz").await?;
    let warning = "warning: the watch of trials.lab.test fails";
    let told = ready.starts_with("ok\n") && ready.contains(warning);
    ensure!(if failing { told } else { ready == "ok\n" }, "{ready}");
    let metrics = controller.get("/metrics").await?;
    let count = u8::from(failing);
    let gauge = format!("cartouche_watched_kinds{{state=\"Failing\"}} {count}");
    ensure!(metrics.contains(&gauge), "{metrics}");
    Ok(())
}

/// Every list of the kind fails: the one at the beginning of the watch, and those of the account.
#[tokio::test]
async fn a_kind_whose_watch_fails_is_polled_and_that_is_said_until_it_is_mended() -> Result<()> {
    let cluster = cluster().await?;
    let victim = victim(&cluster).await?;
    let rights = TRIAL.rights(&["get", "list", "create", "delete"]);
    victim.allow("runner", &[rights]).await?;
    let (proxy, _orders) = FaultProxy::start(&cluster, &victim.namespace).await?;
    let settings = proxy.settings(&cluster, &["--poll-seconds", "2"]).await?;
    let mut controller = Controller::start(DEMO, &cluster, &settings).await?;
    has_a_run(&victim, "app").await?;
    proxy.begin(Box::new(|call, _| {
        (*call == Call::new("list", "trials.lab.test")).then_some(Fault::Internal)
    }));
    controller.restart().await?;

    victim.change("app", json!({ "value": 2 })).await?;
    let said = |it: &Value| condition(it, "WatchUnavailable")["message"].to_string();
    let made = until(&victim, "app", "the next run, and a word", |it| {
        it["status"]["currentRun"]["sequence"] == 2
            && has_run(it)
            && said(it).contains("trials.lab.test")
    })
    .await?;
    ensure!(said(&made).contains("answers 500"), "{made}");
    tells_of_a_failing_watch(&controller, true).await?;
    // It is still followed.
    end_runs(&victim).await?;
    let ended = until(&victim, "app", "the end of the run", is_ready).await?;
    ensure!(said(&ended) == said(&made), "{ended}");
    let tries = proxy.calls().len();
    ensure!(tries < 200, "{tries} requests");

    proxy.spare();
    until(&victim, "app", "the word to be taken back", |it| {
        condition(it, "WatchUnavailable").is_null() && is_ready(it)
    })
    .await?;
    tells_of_a_failing_watch(&controller, false).await?;
    let runs = victim.list(TRIAL, "").await?;
    ensure!(runs.len() == 2, "{runs:?}");
    Ok(())
}
