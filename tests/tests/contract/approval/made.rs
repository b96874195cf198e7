//! An approval covers everything that a run is made of, even if a user who may not approve changes a part of
//! it.

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_tests::kind::Kind;
use serde_json::{Value, json};

use super::{approve, asked, asked_anew, begun};
use crate::world::{
    GUARDED_OBJ, PROFILE, Subject, TEST_OBJ, World, answers, condition, document, name_of,
    succeeded,
};

/// Longer than the controller takes for an immediate action.
const A_WHILE: Duration = Duration::from_secs(2);

/// A Runnable whose annotation `arg` a user may change. Its profile reads the annotation, and the profile's
/// owner may change its values.
struct Guarded {
    subject: Subject,
    profile: String,
}

impl Guarded {
    /// Makes one with these fields in the specs of the template and of the Runnable.
    async fn new(prefix: &str, of_template: Value, of_runnable: Value) -> Result<Self> {
        let world = World::new(prefix).await?;
        let mut template = answers();
        template["template"] = document(
            TEST_OBJ,
            json!({ "foo": "$(runnable.spec.inputs.foo)$", "region": "$(profile.values.region)$" }),
        );
        template["approval"] = "Manual".into();
        template["profile"] = "Required".into();
        merge(&mut template, of_template);
        world.template(template).await?;
        let mut spec = json!({ "inputs": { "foo": 1 } });
        merge(&mut spec, of_runnable);
        let metadata = json!({ "name": "r", "annotations": { "arg": "good" } });
        let guarded = Self {
            profile: format!("{}-p", world.namespace),
            subject: world.runnable_with(metadata, spec).await?,
        };
        guarded.put("north").await?;
        Ok(guarded)
    }

    /// Writes the profile, with this region in its values.
    async fn put(&self, region: &str) -> Result<()> {
        let world = &self.subject.world;
        let arg = "$(runnable.metadata.annotations.arg)$";
        let patch = |kind: Kind| json!({ "apiVersion": "test.run/v1", "kind": kind.name, "patch": { "spec": { "size": arg } } });
        let object = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfile",
            "metadata": { "name": self.profile },
            "spec": {
                "rules": [{ "templates": [world.template_name()] }],
                "patches": [patch(TEST_OBJ), patch(GUARDED_OBJ)], "values": { "region": region },
            },
        });
        world.put(object).await?;
        let is_known = |it: &Value| {
            let is_of_it = it["status"]["observedGeneration"] == it["metadata"]["generation"];
            is_of_it && condition(it, "Accepted")["status"] == "True"
        };
        world
            .observed(PROFILE, &self.profile, "to be accepted", is_known)
            .await?;
        Ok(())
    }

    async fn says(&self, arg: &str) -> Result<()> {
        self.subject
            .edit(|it| it["metadata"]["annotations"]["arg"] = arg.into())
            .await
    }

    /// Waits until another approval is needed after the change, and checks that only these runs have begun.
    async fn waits_anew(&self, sequence: i64, before: &str, runs: usize) -> Result<String> {
        let text = asked_anew(&self.subject, sequence, before).await?;
        self.stays_at(runs).await?;
        Ok(text)
    }

    /// Checks that there are `count` runs, now and a while later, independent of the number of the last.
    async fn stays_at(&self, count: usize) -> Result<()> {
        tokio::time::sleep(A_WHILE).await;
        for kind in [TEST_OBJ, GUARDED_OBJ] {
            let own = "carto.run/runnable-name=r";
            let runs = self.subject.world.list(kind, own).await?;
            ensure!(runs.is_empty() || runs.len() == count, "{runs:?}");
        }
        Ok(())
    }
}

fn merge(into: &mut Value, fields: Value) {
    if let Value::Object(fields) = fields {
        for (key, value) in fields {
            into[key] = value;
        }
    }
}

fn retries() -> Value {
    json!({ "retry": { "limit": 1, "backoff": { "initial": "1s", "max": "1s" } } })
}

#[tokio::test]
async fn what_was_approved_and_waits_for_its_turn_is_asked_about_anew_when_a_profile_reads_another()
-> Result<()> {
    let latest = json!({ "concurrencyPolicy": "LatestOnly" });
    let guarded = Guarded::new("turn", json!({}), latest).await?;
    let subject = &guarded.subject;
    let first = begun(subject, 1, 1).await?;
    assert_eq!(first["spec"]["size"], "good");
    subject.input("foo", 2).await?;
    let approval = asked(subject, 2).await?;
    approve(subject, &approval).await?;
    subject.says("Ready", "Unknown", "RunAtWork", "").await?;
    guarded.says("EVIL").await?;
    let other = guarded.waits_anew(2, &approval, 1).await?;
    let told = "does not match the run any more";
    subject
        .says("Ready", "Unknown", "ApprovalRequired", told)
        .await?;
    subject.answer(1, json!("first")).await?;
    guarded.stays_at(1).await?;
    approve(subject, &other).await?;
    assert_eq!(subject.run(2).await?["spec"]["size"], "EVIL");
    Ok(())
}

#[tokio::test]
async fn a_further_attempt_is_made_of_what_was_approved() -> Result<()> {
    let guarded = Guarded::new("attempts", json!({}), retries()).await?;
    let subject = &guarded.subject;
    let first = begun(subject, 1, 1).await?;
    guarded.says("EVIL").await?;
    let failed = succeeded("False", "it broke");
    subject.world.play(&first, failed).await?;
    guarded.waits_anew(2, "", 1).await?;
    guarded.says("good").await?;
    let second = subject.run(2).await?;
    assert_eq!(second["spec"]["size"], "good");
    let object = subject.object().await?;
    assert_eq!(object["status"]["currentRun"]["attempt"], 2);
    Ok(())
}

#[tokio::test]
async fn a_run_that_was_deleted_is_made_again_of_what_was_approved() -> Result<()> {
    let guarded = Guarded::new("again", json!({}), json!({})).await?;
    let subject = &guarded.subject;
    let first = begun(subject, 1, 1).await?;
    guarded.says("EVIL").await?;
    subject.world.delete(TEST_OBJ, name_of(&first)).await?;
    guarded.waits_anew(2, "", 0).await?;
    guarded.says("good").await?;
    assert_eq!(subject.run(1).await?["spec"]["size"], "good");
    Ok(())
}

#[tokio::test]
async fn a_create_that_was_refused_is_sent_again_of_what_was_approved() -> Result<()> {
    let account = json!({ "serviceAccountName": "runner" });
    let template = json!({ "template": document(GUARDED_OBJ, json!({})) });
    let guarded = Guarded::new("refused", template, account).await?;
    let subject = &guarded.subject;
    let world = subject.world.clone();
    let may = |verbs: &'static [&'static str]| [GUARDED_OBJ.rights(verbs)];
    world
        .allow("runner", &may(&["get", "list", "watch"]))
        .await?;
    let approval = asked(subject, 1).await?;
    approve(subject, &approval).await?;
    let is_refused = |it: &Value| it["status"]["currentRun"]["phase"] == "Rejected";
    let object = subject.until("to be refused", is_refused).await?;
    let approved = &object["status"]["currentRun"]["approved"];
    assert_eq!(approval, format!("1:{}", crate::world::text(approved)));
    guarded.says("EVIL").await?;
    let anew = guarded.waits_anew(1, &approval, 0).await?;
    let all = may(&["get", "list", "watch", "create", "delete"]);
    world.allow("runner", &all).await?;
    guarded.stays_at(0).await?;
    approve(subject, &anew).await?;
    let runs = subject.runs_of(GUARDED_OBJ, 1).await?;
    assert_eq!(runs[0]["spec"]["size"], "EVIL");
    let object = subject.object().await?;
    assert_eq!(object["status"]["currentRun"]["sequence"], 1);
    Ok(())
}

#[tokio::test]
async fn a_rerun_token_that_the_run_reads_is_the_one_that_was_approved() -> Result<()> {
    let world = World::new("token").await?;
    let mut template = answers();
    template["template"] = document(TEST_OBJ, json!({ "foo": "$(run.rerunToken)$" }));
    template["approval"] = "Manual".into();
    world.template(template).await?;
    let token = "carto.run/rerun-token";
    let metadata = json!({ "name": "r", "annotations": { token: "good" } });
    let spec = json!({ "inputs": { "foo": 1 } });
    let subject = world.runnable_with(metadata, spec).await?;
    let approval = asked(&subject, 1).await?;
    subject
        .edit(|it| {
            it["metadata"]["annotations"][token] = "EVIL; rm -rf /".into();
            it["metadata"]["annotations"][super::APPROVED] = approval.clone().into();
        })
        .await?;
    let anew = asked_anew(&subject, 1, &approval).await?;
    subject.stays_at(0).await?;
    approve(&subject, &anew).await?;
    assert_eq!(subject.run(1).await?["spec"]["foo"], "EVIL; rm -rf /");
    Ok(())
}

/// Changes something that the run is made of while it is suspended.
async fn changed_while_suspended(guarded: &Guarded, recreate: bool) -> Result<()> {
    let subject = &guarded.subject;
    let approval = asked(subject, 1).await?;
    subject
        .edit(|it| {
            it["spec"]["suspend"] = true.into();
            it["metadata"]["annotations"][super::APPROVED] = approval.clone().into();
        })
        .await?;
    subject.says("Ready", "Unknown", "Suspended", "").await?;
    if recreate {
        subject.world.delete(PROFILE, &guarded.profile).await?;
        guarded.put("north").await?;
    } else {
        guarded.put("south").await?;
    }
    subject
        .edit(|it| it["spec"]["suspend"] = false.into())
        .await?;
    let anew = guarded.waits_anew(1, &approval, 0).await?;
    ensure!(anew != approval, "{anew}");
    approve(subject, &anew).await?;
    let region = if recreate { "north" } else { "south" };
    assert_eq!(subject.run(1).await?["spec"]["region"], region);
    Ok(())
}

#[tokio::test]
async fn values_of_a_profile_that_a_template_reads_are_approved_with_the_rest() -> Result<()> {
    let guarded = Guarded::new("values", json!({}), json!({})).await?;
    changed_while_suspended(&guarded, false).await
}

#[tokio::test]
async fn a_profile_that_is_deleted_and_made_anew_is_another_one() -> Result<()> {
    let guarded = Guarded::new("anewp", json!({}), json!({})).await?;
    changed_while_suspended(&guarded, true).await
}

#[tokio::test]
async fn an_attempt_has_a_name_and_number_of_its_own_and_needs_no_other_yes() -> Result<()> {
    let open = document(TEST_OBJ, json!({ "foo": "$(run.name)$ $(run.sequence)$" }));
    let template = json!({ "template": open });
    let guarded = Guarded::new("named", template, retries()).await?;
    let subject = &guarded.subject;
    let first = begun(subject, 1, 1).await?;
    assert_eq!(first["spec"]["foo"], format!("{} 1", name_of(&first)));
    let failed = succeeded("False", "it broke");
    subject.world.play(&first, failed).await?;
    let second = subject.run(2).await?;
    assert_eq!(second["spec"]["foo"], format!("{} 2", name_of(&second)));
    Ok(())
}
