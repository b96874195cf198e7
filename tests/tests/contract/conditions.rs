//! The conditions: each reason with its text, their sum, their times.

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_tests::cluster::Seen;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::world::{Subject, World, answers, condition, document, stamps, succeeded, text};

fn types(object: &Value) -> Vec<&str> {
    let conditions = object["status"]["conditions"].as_array();
    let types = conditions.into_iter().flatten().map(|c| text(&c["type"]));
    types.collect()
}

async fn started(prefix: &str) -> Result<(World, Subject, Value)> {
    let (world, subject) = World::with(prefix, answers()).await?;
    let run = subject.run(1).await?;
    Ok((world, subject, run))
}

#[tokio::test]
async fn a_missing_template_is_named() -> Result<()> {
    let world = World::new("template").await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": 1 } }))
        .await?;
    let template = world.template_name();
    let wanted = format!(
        "unable to get run template [{template}]: failed to get run template object from api server [ClusterRunTemplate/{template}]: \
         ClusterRunTemplate.carto.run \"{template}\" not found"
    );
    assert_eq!(
        subject.fails_in_full("RunTemplateNotFound", "").await?,
        wanted
    );
    subject
        .says("StampedObjectCondition", "Unknown", "Unknown", "")
        .await?;
    subject.stays_at(0).await?;
    // An apply may bring it a moment later.
    world.template(answers()).await?;
    subject.run(1).await?;
    let events = subject.events().await?;
    ensure!(
        events.iter().all(|it| it["type"] != "Warning"),
        "{events:?}"
    );
    Ok(())
}

#[tokio::test]
async fn without_an_account_there_is_no_word_about_a_run() -> Result<()> {
    let world = World::new("account").await?;
    let subject = world
        .runnable("r", json!({ "serviceAccountName": "nobody" }))
        .await?;
    subject.fails("ServiceAccountError", "").await?;
    let object = subject.object().await?;
    assert_eq!(types(&object), ["RunTemplateReady", "Ready", "Reconciling"]);
    Ok(())
}

#[tokio::test]
async fn a_tag_that_leads_nowhere_is_named_with_its_path() -> Result<()> {
    let world = World::new("tag").await?;
    world
        .template(stamps(
            json!({ "a": { "b": ["$(runnable.spec.inputs.none)$"] } }),
        ))
        .await?;
    let subject = world.runnable("r", json!({ "inputs": {} })).await?;
    let wanted = format!(
        "unable to stamp object for run template [{}]: failed to recursively evaluate template: failed to interpolate template at path \
         [spec.a.b.[0]]: evaluate tag $(runnable.spec.inputs.none)$: jsonpath returned empty list: runnable.spec.inputs.none",
        world.template_name()
    );
    assert_eq!(
        subject.fails_in_full("TemplateStampFailure", "").await?,
        wanted
    );
    Ok(())
}

#[tokio::test]
async fn a_kind_that_is_not_served_is_named() -> Result<()> {
    let world = World::new("kind").await?;
    let mut template = document(crate::world::TEST_OBJ, json!({}));
    template["kind"] = "Nope".into();
    world.template(json!({ "template": template })).await?;
    let subject = world.runnable("r", json!({})).await?;
    let wanted = format!(
        "unable to apply object [{}/run-] for run template [{}]: unable to list from api server: no matches for kind \"Nope\" in version \"test.run/v1\"",
        world.namespace,
        world.template_name()
    );
    assert_eq!(
        subject
            .fails_in_full("StampedObjectRejectedByAPIServer", "")
            .await?,
        wanted
    );
    Ok(())
}

#[tokio::test]
async fn of_a_kind_that_is_not_served_it_is_said_what_was_probably_meant() -> Result<()> {
    let world = World::new("meant").await?;
    for (api_version, kind, meant) in [
        ("apps/v1", "Job", "Job is in batch/v1"),
        ("batch/v1beta1", "Job", "Job is in batch/v1"),
        ("batch/v1", "Jobs", "did you mean 'Job'?"),
        ("test.run/v9", "TestObj", "TestObj is in test.run/v1"),
    ] {
        let mut template = document(crate::world::TEST_OBJ, json!({}));
        template["apiVersion"] = api_version.into();
        template["kind"] = kind.into();
        let mut spec = json!({ "template": template });
        if meant.contains("Job") {
            spec["runner"] = json!({});
        }
        world.template(spec).await?;
        let name = format!("{api_version}-{kind}").replace('/', "-");
        let subject = world.runnable(&name.to_lowercase(), json!({})).await?;
        let cure = format!("to do: correct apiVersion and kind ({meant}), or install");
        let reason = "StampedObjectRejectedByAPIServer";
        subject.fails(reason, &cure).await?;
    }
    Ok(())
}

/// Refuses objects of this namespace with the label `team: none`, once it is in force.
async fn deny(world: &World) -> Result<()> {
    let (group, name) = ("admissionregistration.k8s.io/v1", &world.namespace);
    let metadata = json!({ "name": name });
    let rule = json!({ "apiGroups": ["test.run"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"] });
    let allowed = json!({
        "expression": "!('labels' in object.metadata) || !('team' in object.metadata.labels) || object.metadata.labels['team'] != 'none'",
        "message": "a team has a name",
    });
    let policy = json!({
        "apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": {
            "failurePolicy": "Fail", "matchConstraints": { "resourceRules": [rule] }, "validations": [allowed],
        },
    });
    let here = json!({ "matchLabels": { "kubernetes.io/metadata.name": name } });
    let binding = json!({
        "apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata, "spec": {
            "policyName": name, "validationActions": ["Deny"], "matchResources": { "namespaceSelector": here },
        },
    });
    world.put(policy).await?;
    world.put(binding).await?;
    let probe = json!({
        "apiVersion": "test.run/v1", "kind": "TestObj", "metadata": { "name": "probe", "labels": { "team": "none" } },
    });
    let (probe, api) = world.among_its_kind(&probe)?;
    let tried = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let look = || async {
        Ok(match api.create(&tried, &probe).await {
            Err(_) => Seen::Done(()),
            Ok(_) => Seen::NotYet("it is taken".to_owned()),
        })
    };
    world.eventually("the policy to be in force", look).await
}

#[tokio::test]
async fn a_run_that_a_policy_denies_is_told_in_the_words_of_the_policy() -> Result<()> {
    let world = World::new("policy").await?;
    deny(&world).await?;
    let mut spec = answers();
    spec["template"]["metadata"]["labels"] = json!({ "team": "none" });
    world.template(spec).await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": 1 } }))
        .await?;
    let said = subject
        .fails("StampedObjectRejectedByAPIServer", "a team has a name")
        .await?;
    assert!(said.starts_with("the run was not admitted: "), "{said}");
    assert!(said.contains("denied request: "), "{said}");
    assert!(said.contains("to do: do as the answer says; "), "{said}");
    world.template(answers()).await?;
    subject.answer(1, json!("mended")).await
}

#[tokio::test]
async fn a_run_that_the_api_server_refuses_is_refused_in_its_words() -> Result<()> {
    let (world, subject, _) = started("refused").await?;
    let mut spec = answers();
    spec["template"]["metadata"]["labels"] = json!({ "app": "not a label!" });
    world.template(spec).await?;
    let said = subject
        .fails_in_full("StampedObjectRejectedByAPIServer", "")
        .await?;
    let name = subject.status().await?["currentRun"]["name"].take();
    let wanted = format!(
        "unable to apply object [{}/{}] for run template [{}]: create: TestObj.test.run \"{1}\" is invalid: metadata.labels: Invalid value: \
         \"not a label!\": ",
        world.namespace,
        text(&name),
        world.template_name()
    );
    assert!(said.starts_with(&wanted), "{said}\nwanted {wanted}");
    let status = subject.status().await?;
    assert_eq!(status["currentRun"]["phase"], "Rejected");
    let object = subject.object().await?;
    let stamped = condition(&object, "StampedObjectCondition");
    assert_eq!(
        (text(&stamped["status"]), text(&stamped["reason"])),
        ("Unknown", "Unknown")
    );
    world.template(answers()).await?;
    subject.runs(2).await?;
    Ok(())
}

#[tokio::test]
async fn ready_is_the_sum_of_the_others() -> Result<()> {
    let (world, subject, run) = started("sum").await?;
    // A run that reports nothing yet.
    subject
        .says("RunTemplateReady", "True", "Ready", "")
        .await?;
    subject
        .says("Ready", "Unknown", "RunInProgress", "")
        .await?;
    // Going on, failed, succeeded.
    world.play(&run, succeeded("Unknown", "going on")).await?;
    subject
        .says("Ready", "Unknown", "RunInProgress", "going on")
        .await?;
    world.play(&run, succeeded("False", "it burned")).await?;
    assert_eq!(
        subject
            .says("Ready", "False", "SucceededCondition", "")
            .await?,
        "it burned"
    );
    world.play(&run, crate::world::answered(1)).await?;
    assert_eq!(subject.says("Ready", "True", "Ready", "").await?, "");
    // Succeeded, but the template is broken: False beats True.
    world.template(stamps(json!({ "x": "$()$" }))).await?;
    let broken = subject
        .says("RunTemplateReady", "False", "TemplateStampFailure", "")
        .await?;
    assert_eq!(
        subject
            .says("Ready", "False", "TemplateStampFailure", "")
            .await?,
        broken
    );
    let object = subject.object().await?;
    assert_eq!(
        types(&object)[..3],
        ["RunTemplateReady", "StampedObjectCondition", "Ready"]
    );
    Ok(())
}

#[tokio::test]
async fn the_status_is_that_of_the_latest_run() -> Result<()> {
    let (world, subject, run) = started("latest").await?;
    subject.ready("Unknown").await?;
    world.play(&run, succeeded("False", "first failed")).await?;
    subject
        .says("Ready", "False", "SucceededCondition", "first failed")
        .await?;
    subject.input("foo", 2).await?;
    subject.ready("Unknown").await?;
    let run = subject.run(2).await?;
    world.play(&run, crate::world::answered(2)).await?;
    subject.ready("True").await?;
    subject.input("foo", 3).await?;
    let object = subject.ready("Unknown").await?;
    let stamped = condition(&object, "StampedObjectCondition");
    assert_eq!(stamped["status"], "Unknown", "{stamped}");
    Ok(())
}

#[tokio::test]
async fn every_condition_tells_which_generation_it_speaks_of() -> Result<()> {
    let (_, subject, _) = started("generation").await?;
    for value in [2, 3] {
        subject.input("foo", value).await?;
        let object = subject.observed().await?;
        let generation = &object["metadata"]["generation"];
        assert_eq!(*generation, value);
        for condition in object["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten()
        {
            assert_eq!(condition["observedGeneration"], *generation, "{condition}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn reconciling_and_stalled_are_there_only_while_they_are_true() -> Result<()> {
    let (world, subject, run) = started("abnormal").await?;
    let abnormal = async |wanted: &[&str]| {
        let what = format!("{wanted:?} after Ready");
        let found = subject
            .until(&what, |object| types(object)[3..] == *wanted)
            .await?;
        let all = found["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        for condition in &all[3..] {
            assert_eq!(condition["status"], "True");
        }
        anyhow::Ok(())
    };
    abnormal(&["Reconciling"]).await?;
    world.play(&run, succeeded("False", "it burned")).await?;
    abnormal(&["Stalled"]).await?;
    world.play(&run, crate::world::answered(1)).await?;
    abnormal(&[]).await?;
    subject.input("foo", 2).await?;
    abnormal(&["Reconciling"]).await?;
    world.template(stamps(json!({ "x": "$()$" }))).await?;
    abnormal(&["Stalled"]).await
}

#[tokio::test]
async fn a_time_changes_only_with_the_status() -> Result<()> {
    let (world, subject, run) = started("times").await?;
    world.play(&run, succeeded("Unknown", "pulling")).await?;
    subject
        .says("Ready", "Unknown", "RunInProgress", "pulling")
        .await?;
    let since = async |kind: &str| {
        let object = subject.object().await?;
        anyhow::Ok(text(&condition(&object, kind)["lastTransitionTime"]).to_owned())
    };
    let (ready, template) = (since("Ready").await?, since("RunTemplateReady").await?);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    world.play(&run, succeeded("Unknown", "unpacking")).await?;
    subject
        .says("Ready", "Unknown", "RunInProgress", "unpacking")
        .await?;
    assert_eq!(since("Ready").await?, ready, "only the message is another");
    world.play(&run, crate::world::answered(1)).await?;
    subject.ready("True").await?;
    assert_ne!(since("Ready").await?, ready);
    assert_eq!(since("RunTemplateReady").await?, template);
    Ok(())
}

#[tokio::test]
async fn what_has_settled_is_not_written_again() -> Result<()> {
    let (_, subject, _) = started("settled").await?;
    subject.answer(1, json!(42)).await?;
    let before = subject.ready("True").await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let after = subject.object().await?;
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&before), version(&after));
    Ok(())
}
