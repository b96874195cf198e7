//! Files in the containers of a run.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::{
    CONFIG_MAP, JOB, POD, RUNNABLE, SECRET, TEST_OBJ, World, condition, document, specless, text,
};

fn containers() -> Value {
    json!({
        "restartPolicy": "Never", "serviceAccountName": "builder",
        "containers": [{ "name": "main", "image": "app" }, { "name": "side", "image": "side" }],
    })
}

fn job() -> Value {
    document(JOB, json!({ "template": { "spec": containers() } }))
}

fn read(pod: &Value, file: &str) -> Result<Value> {
    let annotation = &pod["metadata"]["annotations"][format!("carto.run/runner-{file}")];
    Ok(serde_json::from_str(text(annotation))?)
}

#[tokio::test]
async fn a_job_and_a_pod_have_their_context_and_all_inputs_as_arguments() -> Result<()> {
    let job = (JOB, job(), "/spec/template");
    let pod = (POD, document(POD, containers()), "");
    let mut worlds = Vec::new();
    for (kind, template, at) in [job, pod] {
        let world = World::new("runner").await?;
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "builder" },
        });
        world.put(account).await?;
        let runner = json!({ "context": true, "timeout": "10m", "containers": ["main"] });
        world
            .template(json!({ "template": template, "runner": runner }))
            .await?;
        let inputs = json!({ "inputs": { "foo": { "size": 2 } } });
        let subject = world.runnable("r", inputs).await?;
        let run = subject.runs_of(kind, 1).await?.pop().unwrap_or_default();
        let pod = run.pointer(at).cloned().unwrap_or_default();
        ensure!(
            read(&pod, "args")? == json!({ "foo": { "size": 2 } }),
            "{pod:#}"
        );
        let context = read(&pod, "context")?;
        ensure!(context["name"] == run["metadata"]["name"], "{context:#}");
        ensure!(
            context["dryRun"] == false && context["timeout"] == "10m",
            "{context:#}"
        );
        let platform = &context["platform"];
        ensure!(platform["namespace"] == world.namespace, "{context:#}");
        ensure!(platform["serviceAccountName"] == "builder", "{context:#}");
        ensure!(platform["ownerRef"]["kind"] == "Runnable", "{context:#}");
        ensure!(
            platform["ownerRef"]["blockOwnerDeletion"] == false,
            "{context:#}"
        );
        // With its owner reference it owns an object that a container makes, which goes with the Runnable.
        let mut made = specless(CONFIG_MAP, "data", json!({}));
        made["metadata"] =
            json!({ "name": "made", "ownerReferences": [platform["ownerRef"].clone()] });
        world.put(made).await?;
        let container = |index: usize| &pod["spec"]["containers"][index];
        let variables = container(0)["env"].as_array().cloned().unwrap_or_default();
        for name in ["RUNNER_CONTEXT_PATH", "RUNNER_ARGS_PATH"] {
            ensure!(variables.iter().any(|it| it["name"] == name), "{pod:#}");
        }
        ensure!(container(1)["env"].is_null(), "{pod:#}");
        world.delete(RUNNABLE, "r").await?;
        worlds.push(world);
    }
    // The garbage collector begins half a minute after kinds were added.
    let patience = Duration::from_mins(2);
    for world in worlds {
        let made = world.api(CONFIG_MAP);
        let gone = world.cluster.wait_until_gone(&made, "made", patience);
        gone.await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_change_of_an_input_that_only_the_arguments_read_is_one_run() -> Result<()> {
    let world = World::new("runner-args").await?;
    world
        .template(json!({ "template": job(), "runner": {} }))
        .await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": 1 } }))
        .await?;
    subject.runs_of(JOB, 1).await?;
    subject.input("foo", 2).await?;
    let run = subject.runs_of(JOB, 2).await?.pop().unwrap_or_default();
    ensure!(
        read(&run["spec"]["template"], "args")? == json!({ "foo": 2 }),
        "{run:#}"
    );
    subject.stays_at_of(JOB, 2).await
}

#[tokio::test]
async fn files_are_refused_where_there_are_no_pods_and_where_they_are_too_large() -> Result<()> {
    let world = World::new("runner-refused").await?;
    world
        .template(json!({ "template": document(TEST_OBJ, json!({})), "runner": {} }))
        .await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": "a" } }))
        .await?;
    subject
        .fails("TemplateStampFailure", "only Jobs and Pods")
        .await?;
    subject.input("foo", "a".repeat(210 * 1024)).await?;
    world
        .template(json!({ "template": job(), "runner": {} }))
        .await?;
    subject
        .fails("TemplateStampFailure", "more than 204800")
        .await?;
    subject.stays_at_of(JOB, 0).await
}

#[tokio::test]
async fn files_of_a_template_s_own_stand_where_it_says_as_text_or_json() -> Result<()> {
    let world = World::new("runner-files").await?;
    let files = json!([
        { "path": "/config/vars.json", "json": { "bucket": "$(runnable.spec.inputs.bucket)$", "run": "$(run.name)$" } },
        { "path": "/config/note", "text": "for $(runnable.spec.inputs.bucket)$" },
    ]);
    world
        .template(json!({ "template": job(), "runner": { "files": files } }))
        .await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "bucket": "$(run.name)$" } }))
        .await?;
    let run = subject.runs_of(JOB, 1).await?.pop().unwrap_or_default();
    let pod = &run["spec"]["template"];
    let name = &run["metadata"]["name"];
    ensure!(
        read(pod, "file-0")? == json!({ "bucket": "$(run.name)$", "run": name }),
        "{pod:#}"
    );
    ensure!(
        pod["metadata"]["annotations"]["carto.run/runner-file-1"] == "for $(run.name)$",
        "{pod:#}"
    );
    Ok(())
}

#[tokio::test]
async fn nothing_works_on_what_a_dry_run_says() -> Result<()> {
    let world = World::new("runner-dry").await?;
    let dry = "$(runnable.spec.inputs.dry)$";
    world
        .template(json!({
            "template": job(), "runner": { "context": true, "timeout": "1m", "dryRun": dry },
            "healthRule": { "alwaysHealthy": {} }, "outputs": { "made": ".metadata.name" },
        }))
        .await?;
    let shows = document(TEST_OBJ, json!({ "inputs": "$(runnable.spec.inputs)$" }));
    let reads = world
        .another_template("reads", json!({ "template": shows }))
        .await?;
    let written = CONFIG_MAP.rights(&["get", "create", "update", "delete"]);
    let rights = [RUNNABLE.rights(&["get"]), written];
    world.allow("default", &rights).await?;
    let sinks = json!([{ "kind": "ConfigMap", "name": "written" }]);
    let spec = json!({ "inputs": { "dry": true }, "writeOutputsTo": sinks });
    let source = world.runnable("source", spec).await?;
    let made = json!({ "name": "made", "runnableRef": { "name": "source", "output": "made" } });
    let spec = json!({ "runTemplateRef": { "name": reads }, "inputsFrom": [made] });
    let reader = world.runnable("reader", spec).await?;
    source.ready("True").await?;
    let waits = |it: &Value| condition(it, "Ready")["reason"] == "DependencyNotReady";
    reader.until("a wait for an output", waits).await?;
    ensure!(world.find(CONFIG_MAP, "written").await?.is_none());
    source.input("dry", false).await?;
    let runs = source.runs_of(JOB, 2).await?;
    let name = &runs[1]["metadata"]["name"];
    ensure!(reader.run(1).await?["spec"]["inputs"]["made"] == *name);
    // One more run without effect: the outputs stay, and so does the run made of them.
    source.input("dry", true).await?;
    source.runs_of(JOB, 3).await?;
    source.ready("True").await?;
    source.outputs(json!({ "made": name })).await?;
    reader.stays_at(1).await?;
    let written = world.get(CONFIG_MAP, "written").await?;
    assert_eq!(written["data"], json!({ "made": name }));
    Ok(())
}

/// A value that may only appear in its Secret.
const PASSWORD: &str = "7731-planted";
/// The same in base64.
const ENCODED: &str = "NzczMS1wbGFudGVk";

async fn password(world: &World, value: &str) -> Result<()> {
    let mut secret = specless(SECRET, "stringData", json!({ "password": value }));
    secret["metadata"] = json!({ "name": "db" });
    world.put(secret).await.map(drop)
}

#[tokio::test]
async fn a_secret_is_a_reference_in_the_files_and_a_new_value_of_it_is_one_run() -> Result<()> {
    let world = World::new("runner-secret").await?;
    let rights = [JOB.rights_of_a_runnable(), SECRET.rights(&["get"])];
    world.allow("default", &rights).await?;
    // This one is read only by its arguments.
    world
        .template(json!({ "template": job(), "runner": {} }))
        .await?;
    let vars = json!({ "password": "$(runnable.spec.inputs.password)$" });
    let files = json!([{ "path": "/config/vars.json", "json": vars }]);
    let with_a_file = json!({ "template": job(), "runner": { "args": vars, "files": files } });
    let with_a_file = world.another_template("file", with_a_file).await?;
    password(&world, PASSWORD).await?;
    let from = json!([{ "name": "password", "secretKeyRef": { "name": "db", "key": "password" } }]);
    let spec = json!({ "inputsFrom": from });
    let arguments = world.runnable("arguments", spec.clone()).await?;
    let mut spec = spec;
    spec["runTemplateRef"] = json!({ "name": with_a_file });
    let both = world.runnable("both", spec).await?;

    let reference = json!({ "password": { "name": "db", "key": "password" } });
    for (subject, files) in [(&arguments, &["args"][..]), (&both, &["args", "file-0"])] {
        let run = subject.runs_of(JOB, 1).await?.pop().unwrap_or_default();
        for file in files {
            let read = read(&run["spec"]["template"], file)?;
            ensure!(read == reference, "{file}: {read}");
        }
        for object in [run, subject.object().await?] {
            let text = object.to_string();
            ensure!(
                !text.contains(PASSWORD) && !text.contains(ENCODED),
                "{text}"
            );
        }
    }
    password(&world, "another").await?;
    for subject in [&arguments, &both] {
        subject.runs_of(JOB, 2).await?;
        subject.stays_at_of(JOB, 2).await?;
    }
    Ok(())
}

#[tokio::test]
async fn what_fails_for_all_is_not_accepted_and_a_context_without_a_timeout_is_warned_of()
-> Result<()> {
    let world = World::new("runner-judged").await?;
    let mut taken = job();
    taken["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{ "name": "RUNNER_ARGS_PATH", "value": "mine" }]);
    let for_all = "it would fail for every Runnable: ";
    let unknown = "runner.containers[0]: the run has no such container 'mian'";
    let own = "runner: the container 'main' has a variable RUNNER_ARGS_PATH already";
    for (template, runner, part) in [
        (job(), json!({ "containers": ["mian"] }), unknown),
        (taken, json!({}), own),
    ] {
        world
            .template(json!({ "template": template, "runner": runner }))
            .await?;
        let (status, reason, message) = world.accepted(&world.template_name()).await?;
        assert_eq!((status.as_str(), reason.as_str()), ("False", "Invalid"));
        let told = message.contains(for_all) && message.contains(part);
        ensure!(told, "{message}");
    }
    world
        .template(json!({ "template": job(), "runner": { "context": true } }))
        .await?;
    let (status, reason, message) = world.accepted(&world.template_name()).await?;
    let said = (status.as_str(), reason.as_str());
    assert_eq!(said, ("True", "AcceptedWithWarnings"), "{message}");
    for part in [
        "runner.context: without a timeout the context has 0s",
        "Capact's Manager for Go",
        "and fail immediately",
    ] {
        ensure!(message.contains(part), "{message}");
    }
    Ok(())
}
