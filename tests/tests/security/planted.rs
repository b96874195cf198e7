//! Secret values of four digits, wherever a Runnable meets one. A user who may read everything but Secrets
//! (the role `view`), and the controller's log and metrics, gets none of them, and nothing that would reveal
//! one by trying all values.

mod guesses;
mod reader;

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::Cluster,
    control_plane::Options,
    controller::{Controller, Settings},
    fixture::{Fixture, install_lab, sequence},
    kind::{CONFIG_MAP, RUNNABLE, SECRET},
    lab::TRIAL,
};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use self::{
    guesses::{Guess, Guesses},
    reader::Reading,
};
use crate::{
    ground::{self, DEMO, SOON, condition},
    secrets::base64,
};

/// Value in a Secret that an input comes from, and its later value. Higher than any resourceVersion in this
/// test.
const SOURCE: &str = "7306";
const CHANGED: &str = "8417";
/// A sensitive output of a run that succeeds, and of one that fails.
const OUTPUT: &str = "9154";
const OF_A_FAILURE: &str = "6283";
/// Value in a selected Secret, and in one that a Runnable made as its run.
const SELECTED: &str = "5829";
const OF_A_RUN: &str = "3947";
const PLANTED: [&str; 6] = [SOURCE, CHANGED, OUTPUT, OF_A_FAILURE, SELECTED, OF_A_RUN];
/// The Secret that an input comes from, and those that outputs go to.
const GIVEN: &str = "given";
const PICKED: &str = "picked";
const MADE: &str = "made";
const WHOLE: &str = "whole";

/// Returns a template of runs that get a secret and give one. A user who may read Trials may read it, which
/// `view` does not grant.
fn makes() -> Value {
    json!({
        "template": trial(&json!({ "password": "$(runnable.spec.inputs.password)$" })),
        "outputs": { "user": ".status.user", "pin": ".status.pin" },
        "sensitiveOutputs": ["pin"],
        "failureOutputs": { "reason": ".status.reason" },
    })
}

fn trial(spec: &Value) -> Value {
    let metadata = json!({ "generateName": "run-" });
    json!({ "apiVersion": TRIAL.api_version(), "kind": TRIAL.name, "metadata": metadata, "spec": spec })
}

fn password() -> Value {
    json!({ "name": "password", "secretKeyRef": { "name": GIVEN, "key": "password" } })
}

async fn give(place: &Fixture, value: &str) -> Result<()> {
    let metadata = json!({ "name": GIVEN });
    let data = json!({ "password": value });
    let secret =
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data });
    place.put(secret).await.map(drop)
}

/// Waits for the run of this number, and ends it.
async fn end(place: &Fixture, runnable: &str, number: i64, status: Value) -> Result<()> {
    let is_made = |it: &Value| it["status"]["currentRun"]["uid"].is_string();
    let is_made = |it: &Value| it["status"]["currentRun"]["sequence"] == number && is_made(it);
    let what = format!("run {number}");
    place.observed(RUNNABLE, runnable, &what, is_made).await?;
    for run in place.runs(TRIAL, runnable).await? {
        if sequence(&run) == number {
            let name = run.metadata.name.unwrap_or_default();
            let patch = Patch::Merge(json!({ "status": status }));
            let plain = PatchParams::default();
            place.api(TRIAL).patch_status(&name, &plain, &patch).await?;
        }
    }
    Ok(())
}

fn ended(succeeded: &str, pin: &str) -> Value {
    let said =
        json!({ "type": "Succeeded", "status": succeeded, "reason": "Ended", "message": "" });
    json!({ "conditions": [said], "user": "shop", "pin": pin, "reason": "no disk" })
}

/// Returns a run with a value of a selected Secret.
fn taken(value: &str) -> Value {
    trial(&json!({ "pin": base64(value) }))
}

/// Waits until a Runnable cannot be rendered, because it would show something derived from the uid of a run.
async fn is_kept_from_a_run(place: &Fixture, name: &str, reason: &str) -> Result<()> {
    let what = "a refusal of a Secret that is a run";
    let refused = |it: &Value| {
        let said = condition(it, "RunTemplateReady");
        let message = said["message"].as_str().unwrap_or_default();
        said["reason"] == reason && message.contains("made as its run")
    };
    place
        .observed(RUNNABLE, name, what, refused)
        .await
        .map(drop)
}

/// Selects a Secret, and makes another one as a run, whose uid the status shows.
async fn play_selected(place: &Fixture, reads: &str) -> Result<()> {
    let labels = json!({ "is": PICKED });
    let selector = |labels: &Value| {
        let resource = json!({ "apiVersion": "v1", "kind": "Secret" });
        json!({ "resource": resource, "matchingLabels": labels })
    };
    place
        .put(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": PICKED, "labels": labels },
            "stringData": { "pin": SELECTED },
        }))
        .await?;
    let takes = format!("{}-takes", place.namespace);
    let template = json!({ "template": trial(&json!({ "pin": "$(selected.data.pin)$" })) });
    place.template_named(&takes, template).await?;
    let by_label = |labels: &Value| json!({ "runTemplateRef": { "name": takes }, "selector": selector(labels) });
    place.runnable("taker", by_label(&labels)).await?;
    end(place, "taker", 1, ended("True", "")).await?;

    let keeps = format!("{}-keeps", place.namespace);
    let metadata = json!({ "generateName": "kept-" });
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata });
    place
        .template_named(&keeps, json!({ "template": secret }))
        .await?;
    let keeper = json!({ "runTemplateRef": { "name": keeps } });
    place.runnable("keeper", keeper).await?;
    let made = |it: &Value| it["status"]["currentRun"]["uid"].is_string();
    let kept = place
        .observed(RUNNABLE, "keeper", "its Secret", made)
        .await?;
    let kept = kept["status"]["currentRun"]["name"].clone();
    let data = Patch::Merge(json!({ "stringData": { "pin": OF_A_RUN } }));
    place
        .api(SECRET)
        .patch(
            kept.as_str().unwrap_or_default(),
            &PatchParams::default(),
            &data,
        )
        .await?;
    let pin = json!({ "name": "password", "secretKeyRef": { "name": kept, "key": "pin" } });
    let peeker = json!({ "runTemplateRef": { "name": reads }, "inputsFrom": [pin] });
    place.runnable("peeker", peeker).await?;
    is_kept_from_a_run(place, "peeker", "SourceError").await?;
    let picker = by_label(&json!({ "carto.run/runnable-name": "keeper" }));
    place.runnable("picker", picker).await?;
    is_kept_from_a_run(place, "picker", "TemplateStampFailure").await
}

/// Plays all ways in which a Runnable may meet a value: given, read, made, written, read again, changed,
/// failed and refused.
async fn play(place: &Fixture) -> Result<()> {
    let readable = json!({ "template": trial(&json!({ "inputs": "$(runnable.spec.inputs)$" })) });
    let reads = format!("{}-reads", place.namespace);
    place.template(makes()).await?;
    place.template_named(&reads, readable).await?;
    play_selected(place, &reads).await?;
    give(place, SOURCE).await?;
    let mut keyed = json!({ "kind": "Secret", "name": MADE });
    keyed["keys"] = json!({ "user": "USER", "pin": "PIN" });
    let sinks = json!([keyed, { "kind": "Secret", "name": WHOLE }, { "kind": "ConfigMap", "name": "open" }]);
    let maker = json!({ "inputsFrom": [password()], "writeOutputsTo": sinks });
    place.runnable("maker", maker).await?;
    end(place, "maker", 1, ended("True", OUTPUT)).await?;
    let is_ready = |it: &Value| condition(it, "Ready")["status"] == "True";
    let gives = |it: &Value| it["status"]["sensitiveOutputs"]["pin"].is_object() && is_ready(it);
    place.observed(RUNNABLE, "maker", "its pin", gives).await?;

    let pin = json!({ "name": "pin", "runnableRef": { "name": "maker", "output": "pin" } });
    let reader = json!({ "runTemplateRef": { "name": reads }, "inputsFrom": [pin, password()] });
    place.runnable("reader", reader).await?;
    end(place, "reader", 1, ended("True", "")).await?;
    place
        .observed(RUNNABLE, "reader", "its end", is_ready)
        .await?;

    give(place, CHANGED).await?;
    end(place, "maker", 2, ended("False", OF_A_FAILURE)).await?;
    let failed = |it: &Value| it["status"]["failure"]["outputs"]["reason"] == "no disk";
    let what = "what it says of its failure";
    place.observed(RUNNABLE, "maker", what, failed).await?;
    // Its sources are of two states now.
    let held = |it: &Value| condition(it, "Ready")["reason"] == "DependencyFailed";
    place.observed(RUNNABLE, "reader", "a wait", held).await?;

    // The message about an unreadable source counts, too.
    place
        .cluster
        .grant(&place.account, &[TRIAL.rights_of_a_runnable()])
        .await?;
    for name in ["maker", "reader"] {
        let again = json!({ "metadata": { "annotations": { "carto.run/rerun-token": "3" } } });
        place.patch(name, again).await?;
        let refused = |it: &Value| condition(it, "RunTemplateReady")["reason"] == "SourceError";
        place.observed(RUNNABLE, name, "a refusal", refused).await?;
    }
    Ok(())
}

async fn played() -> Result<(Fixture, Controller)> {
    let cluster = Cluster::start(DEMO, &Options::controllers()).await?;
    install_lab(&cluster, SOON).await?;
    let writes: &[&str] = &["get", "list", "create", "update", "delete"];
    let rights = [
        TRIAL.rights_of_a_runnable(),
        RUNNABLE.rights(&["get"]),
        CONFIG_MAP.rights(writes),
        SECRET.rights(writes),
    ];
    let place = ground::namespace(&cluster, "planted", &rights).await?;
    let arguments = [
        "--log",
        "trace",
        "--log-format",
        "json",
        "--poll-seconds",
        "1",
    ];
    let settings = Settings::with_arguments(&arguments);
    let controller = Controller::start(DEMO, &cluster, &settings).await?;
    play(&place).await?;
    Ok((place, controller))
}

/// Checks for the values in plain text, and as a Secret has them.
fn nothing_planted_stands_in(reading: &Reading) -> Result<()> {
    for value in PLANTED {
        ensure!(!reading.has(value), "{value} was read");
        let encoded = base64(value);
        let encoded = encoded.trim_end_matches('=');
        ensure!(!reading.text.contains(encoded), "{encoded} was read");
    }
    Ok(())
}

/// Returns the guesses that hashes are compared with: the names of keys, and the documents that are hashed
/// whole.
fn guesses(reading: &Reading) -> Guesses {
    let reference = json!({ "name": GIVEN, "key": "password" });
    Guesses {
        marked: vec!["password", "PIN", "pin"],
        document: trial(&json!({ "password": reference })),
        secret: "password",
        taken,
        hashes: reading.hashes(),
    }
}

#[tokio::test]
#[ignore = "compares ten thousand values with all that can be read: just nightly"]
async fn who_may_view_all_but_secrets_finds_no_value_of_four_digits_by_trying_all() -> Result<()> {
    let (place, controller) = played().await?;
    let mut reading = reader::of_a_viewer(&place).await?;
    for kind in ["runnables", "clusterruntemplates", "configmaps", "events"] {
        ensure!(reading.listed.contains(kind), "{:?}", reading.listed);
    }
    ensure!(reading.refused.contains("secrets"), "{:?}", reading.refused);
    ensure!(reading.refused.contains("trials"), "{:?}", reading.refused);
    reading.add(&controller.log()?);
    reading.add(&controller.get("/metrics").await?);
    ensure!(
        reading.text.contains("\"TRACE\""),
        "the log has all there is"
    );

    nothing_planted_stands_in(&reading)?;
    let guesses = guesses(&reading);
    ensure!(guesses.hashes.len() >= 8, "{:?}", guesses.hashes);
    let mut keys = reading.keys(&place.namespace);
    // Also the empty key, and the names in the Runnables' reports of the Secrets.
    keys.extend(["", GIVEN, MADE, WHOLE].map(str::to_owned));
    ensure!(keys.len() >= 30, "{keys:?}");
    let found = guesses.found(&keys);
    ensure!(found.is_empty(), "found by trying: {found:?}");

    // With the uids of the Secrets each of them is found: only these protect the values.
    for (secret, values) in [
        (GIVEN, vec![SOURCE, CHANGED]),
        (MADE, vec![OUTPUT]),
        (PICKED, vec![SELECTED]),
    ] {
        let uid = place.get(SECRET, secret).await?["metadata"]["uid"].take();
        let uid = uid.as_str().unwrap_or_default().to_owned();
        ensure!(!keys.contains(&uid), "the uid of {secret} was read");
        let found = guesses.found(&BTreeSet::from([uid]));
        let of = |guess: &Guess| guess.value.clone();
        let found: BTreeSet<String> = found.iter().map(of).collect();
        assert_eq!(found, values.into_iter().map(str::to_owned).collect());
    }
    Ok(())
}

#[test]
fn a_value_is_seen_where_it_stands_alone_and_not_in_longer_words() {
    let reading = Reading::of(
        r#"{"uid":"d3a1c5b2-7306-4c1e-9154-0123456789ab","at":"28.482134Z","say":"a\n6283"} x=8417;"#,
    );
    assert_eq!(
        PLANTED.map(|value| reading.has(value)),
        [false, true, false, true, false, false]
    );
}
