//! What the containers of a run find in files.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::{JOB, POD, RUNNABLE, TEST_OBJ, World, condition, document, text};

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
        let container = |index: usize| &pod["spec"]["containers"][index];
        let variables = container(0)["env"].as_array().cloned().unwrap_or_default();
        for name in ["RUNNER_CONTEXT_PATH", "RUNNER_ARGS_PATH"] {
            ensure!(variables.iter().any(|it| it["name"] == name), "{pod:#}");
        }
        ensure!(container(1)["env"].is_null(), "{pod:#}");
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
    world.allow("default", &[RUNNABLE.rights(&["get"])]).await?;
    let source = world
        .runnable("source", json!({ "inputs": { "dry": true } }))
        .await?;
    let made = json!({ "name": "made", "runnableRef": { "name": "source", "output": "made" } });
    let spec = json!({ "runTemplateRef": { "name": reads }, "inputsFrom": [made] });
    let reader = world.runnable("reader", spec).await?;
    source.ready("True").await?;
    let waits = |it: &Value| condition(it, "Ready")["reason"] == "DependencyNotReady";
    reader.until("a wait for an output", waits).await?;
    source.input("dry", false).await?;
    let runs = source.runs_of(JOB, 2).await?;
    let name = &runs[1]["metadata"]["name"];
    ensure!(reader.run(1).await?["spec"]["inputs"]["made"] == *name);
    // Once more without effect: the outputs stay, and so does what was made of them.
    source.input("dry", true).await?;
    source.runs_of(JOB, 3).await?;
    source.ready("True").await?;
    source.outputs(json!({ "made": name })).await?;
    reader.stays_at(1).await
}
