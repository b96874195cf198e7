use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{Profiles, has_region, profile_of, shows_region};
use crate::world::{JOB, TEST_OBJ, World, document, text};

fn job() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "run-" },
        "spec": { "template": { "spec": {
            "restartPolicy": "Never",
            "containers": [{ "name": "main", "image": "app:$(runnable.spec.inputs.foo)$", "env": [{ "name": "A", "value": "1" }] }],
        } } },
    })
}

#[tokio::test]
async fn image_variables_volumes_tolerations_pull_secrets_and_account_are_merged_into_a_job()
-> Result<()> {
    let profiles = Profiles::new("profile-job", json!({ "template": job() })).await?;
    let pods = json!({ "podTemplate": {
        "metadata": { "labels": { "pool": "builds" } },
        "spec": {
            "serviceAccountName": "builder", "imagePullSecrets": [{ "name": "regcred" }],
            "tolerations": [{ "key": "builds", "operator": "Exists" }],
            "volumes": [{ "name": "cache", "emptyDir": {} }],
            "containers": [{
                "name": "main", "image": "registry.example/app:1", "env": [{ "name": "B", "value": "$(run.name)$" }],
                "volumeMounts": [{ "name": "cache", "mountPath": "/cache" }],
            }],
        },
    }});
    profiles
        .put("p", json!([profiles.of_template()]), pods)
        .await?;
    let subject = profiles.runnable(json!({})).await?;
    let run = subject.runs_of(JOB, 1).await?.pop().unwrap_or_default();
    let pod = &run["spec"]["template"];
    let (spec, main) = (&pod["spec"], &pod["spec"]["containers"][0]);
    ensure!(pod["metadata"]["labels"]["pool"] == "builds", "{pod:#}");
    ensure!(spec["serviceAccountName"] == "builder", "{pod:#}");
    ensure!(spec["imagePullSecrets"][0]["name"] == "regcred", "{pod:#}");
    ensure!(spec["tolerations"][0]["key"] == "builds", "{pod:#}");
    ensure!(spec["volumes"][0]["name"] == "cache", "{pod:#}");
    ensure!(main["image"] == "registry.example/app:1", "{pod:#}");
    ensure!(main["volumeMounts"][0]["mountPath"] == "/cache", "{pod:#}");
    let variables =
        json!([{ "name": "B", "value": run["metadata"]["name"] }, { "name": "A", "value": "1" }]);
    let both = main["env"].as_array().is_some_and(|env| {
        env.len() == 2
            && variables
                .as_array()
                .is_some_and(|all| all.iter().all(|it| env.contains(it)))
    });
    ensure!(both, "{main:#}");
    Ok(())
}

#[tokio::test]
async fn a_container_that_the_run_does_not_have_makes_no_run() -> Result<()> {
    let profiles = Profiles::new("profile-container", json!({ "template": job() })).await?;
    let spec =
        json!({ "podTemplate": { "spec": { "containers": [{ "name": "mian", "image": "a" }] } } });
    profiles
        .put("p", json!([profiles.of_template()]), spec)
        .await?;
    let subject = profiles.runnable(json!({})).await?;
    let said = subject.fails("ProfileDoesNotFit", "mian").await?;
    ensure!(said.contains("main"), "{said}");
    subject.stays_at_of(JOB, 0).await
}

#[tokio::test]
async fn open_tags_are_filled_in_by_place_and_an_input_that_looks_like_one_stays_as_it_is()
-> Result<()> {
    let world = World::new("open-tags").await?;
    let spec = json!({
        "name": "$(run.name)$", "number": "$(run.sequence)$", "hash": "$(run.inputHash)$",
        "said": "is $(run.name)$", "foo": "$(runnable.spec.inputs.foo)$",
    });
    world
        .template(json!({ "template": document(TEST_OBJ, spec) }))
        .await?;
    let inputs = json!({ "inputs": { "foo": "$(run.name)$" } });
    let subject = world.runnable("r", inputs).await?;
    let run = subject.run(1).await?;
    let (name, shown) = (text(&run["metadata"]["name"]), &run["spec"]);
    ensure!(
        shown["name"] == name && shown["said"] == format!("is {name}"),
        "{run:#}"
    );
    ensure!(shown["number"] == 1, "{run:#}");
    ensure!(
        shown["hash"] == run["metadata"]["annotations"]["carto.run/input-hash"],
        "{run:#}"
    );
    ensure!(shown["foo"] == "$(run.name)$", "{run:#}");
    subject.stays_at(1).await
}

#[tokio::test]
async fn an_open_tag_in_a_name_is_refused_by_the_template() -> Result<()> {
    let world = World::new("open-name").await?;
    let mut template = document(TEST_OBJ, json!({}));
    template["metadata"]["generateName"] = "x-$(run.sequence)$-".into();
    world.template(json!({ "template": template })).await?;
    let subject = world.runnable("r", json!({ "inputs": {} })).await?;
    subject
        .fails(
            "TemplateStampFailure",
            "not known before the run is created",
        )
        .await?;
    Ok(())
}

#[tokio::test]
async fn another_hash_version_and_a_takeover_run_nothing_again_where_a_profile_is_applied()
-> Result<()> {
    let profiles = Profiles::new("profile-version", shows_region()).await?;
    profiles.region("p", "north").await?;
    let subject = profiles.runnable(json!({})).await?;
    has_region(&subject.run(1).await?, "north")?;
    let old_version = |status: &mut Value| status["currentRun"]["inputHash"] = "v0:before".into();
    let is_linked = |it: &Value| text(&it["status"]["currentRun"]["inputHash"]).starts_with("v1:");
    profiles.world.edit_status("r", old_version).await?;
    subject
        .until("its hash to be of this version", is_linked)
        .await?;
    subject.stays_at(1).await?;
    // By then the run was made with another generation: it cannot be compared, and is not repeated.
    profiles.region("p", "south").await?;
    profiles.accepted("p", "True").await?;
    profiles.world.edit_status("r", old_version).await?;
    subject
        .until("its hash to be of this version", is_linked)
        .await?;
    subject.stays_at(1).await?;
    subject.input("foo", 2).await?;
    let run = subject.run(2).await?;
    ensure!(profile_of(&run) == profiles.name("p"), "{run:#}");
    has_region(&run, "south")
}

#[tokio::test]
async fn a_change_under_another_hash_version_still_runs() -> Result<()> {
    let profiles = Profiles::new("profile-changed", shows_region()).await?;
    profiles.region("p", "north").await?;
    let subject = profiles.runnable(json!({})).await?;
    subject.run(1).await?;
    let suspend = |on: bool| move |it: &mut Value| it["spec"]["suspend"] = on.into();
    subject.edit(suspend(true)).await?;
    subject.input("foo", 2).await?;
    subject.observed().await?;
    let old_version = |status: &mut Value| status["currentRun"]["inputHash"] = "v0:before".into();
    profiles.world.edit_status("r", old_version).await?;
    subject.edit(suspend(false)).await?;
    has_region(&subject.run(2).await?, "north")
}

#[tokio::test]
async fn a_run_of_another_controller_is_taken_over_though_a_profile_would_make_it_otherwise()
-> Result<()> {
    let profiles = Profiles::new("profile-takeover", shows_region()).await?;
    profiles.region("p", "north").await?;
    profiles.accepted("p", "True").await?;
    let world = &profiles.world;
    let subject = profiles.runnable(json!({ "suspend": true })).await?;
    let uid = subject.observed().await?["metadata"]["uid"].take();
    let mut run = document(TEST_OBJ, json!({ "foo": 1, "region": "elsewhere" }));
    run["metadata"] = json!({
        "name": "run-of-before",
        "labels": { "carto.run/runnable-name": "r", "carto.run/run-template-name": world.template_name() },
        "ownerReferences": [{
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "name": "r", "uid": uid,
            "controller": true, "blockOwnerDeletion": true,
        }],
    });
    world.put(run).await?;
    subject
        .edit(|it| it["spec"]["suspend"] = false.into())
        .await?;
    let is_taken_over = |it: &Value| it["status"]["currentRun"]["name"] == "run-of-before";
    subject
        .until("the run of before to be its own", is_taken_over)
        .await?;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let all = world.list(TEST_OBJ, "").await?;
    ensure!(all.len() == 1, "{all:#?}");
    subject.input("foo", 2).await?;
    subject
        .until("another run", |it| !is_taken_over(it))
        .await?;
    Ok(())
}
