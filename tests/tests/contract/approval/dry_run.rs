//! The API server's answer about a waiting run, before its approval.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{approve, asked};
use crate::world::{GUARDED_OBJ, POD, Subject, World, document, specless, text};

/// Returns the answer about the waiting run of a template with this document, as the account `runner`.
async fn told(prefix: &str, document: Value, account: &str) -> Result<(Subject, String, String)> {
    let world = World::new(prefix).await?;
    world.template(json!({ "template": document })).await?;
    world.allow("runner", &[]).await?;
    let spec = json!({ "approval": "Manual", "serviceAccountName": account });
    let subject = world.runnable("r", spec).await?;
    let approval = asked(&subject, 1).await?;
    let said = text(&subject.status().await?["pending"]["dryRun"]).to_owned();
    Ok((subject, approval, said))
}

#[tokio::test]
async fn what_the_server_would_refuse_is_known_before_anybody_approves_it() -> Result<()> {
    let pod = json!({ "restartPolicy": "hunter2", "containers": [{ "name": "a", "image": "b" }] });
    let (subject, approval, said) = told("invalid", document(POD, pod), "default").await?;
    ensure!(said.starts_with("refused: "), "{said}");
    ensure!(
        said.contains("spec.restartPolicy: Unsupported value: (withheld)"),
        "{said}"
    );
    ensure!(!said.contains("hunter2"), "{said}");
    subject.stays_at_of(POD, 0).await?;
    // The failure shows after the approval, too.
    approve(&subject, &approval).await?;
    subject
        .fails("StampedObjectRejectedByAPIServer", "spec.restartPolicy")
        .await?;
    subject.runs_of(POD, 0).await?;
    Ok(())
}

/// The API server refuses the type of a field in other words than a value.
#[tokio::test]
async fn no_value_of_a_wrong_type_is_told() -> Result<()> {
    let pod = json!({ "containers": [{ "name": "a", "image": { "pin": "hunter2" } }] });
    let (_, _, said) = told("typed", document(POD, pod), "default").await?;
    ensure!(said.starts_with("refused: "), "{said}");
    ensure!(!said.contains("hunter2"), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_right_that_the_account_lacks_is_named() -> Result<()> {
    let (subject, approval, said) =
        told("lacking", document(GUARDED_OBJ, json!({})), "runner").await?;
    ensure!(said.starts_with("refused: "), "{said}");
    ensure!(
        said.contains("guardedobjs.test.run is forbidden") && said.contains("cannot create"),
        "{said}"
    );
    // The dry run happens once: the create finds out about a right that is granted meanwhile.
    let world = &subject.world;
    world
        .allow(
            "runner",
            &[GUARDED_OBJ.rights(&["list", "create", "delete"])],
        )
        .await?;
    approve(&subject, &approval).await?;
    subject.runs_of(GUARDED_OBJ, 1).await?;
    Ok(())
}

#[tokio::test]
async fn a_name_that_is_taken_is_known_before_anybody_approves_the_run() -> Result<()> {
    let world = World::new("taken").await?;
    let taken = crate::world::config_map("fixed", json!({}), json!({ "a": "b" }));
    world.put(taken).await?;
    let mut document = specless(crate::world::CONFIG_MAP, "data", json!({ "said": "hello" }));
    document["metadata"] = json!({ "name": "fixed" });
    world.template(json!({ "template": document })).await?;
    let subject = world.runnable("r", json!({ "approval": "Manual" })).await?;
    asked(&subject, 1).await?;
    let said = text(&subject.status().await?["pending"]["dryRun"]).to_owned();
    ensure!(said.starts_with("refused: "), "{said}");
    ensure!(said.contains("already exists"), "{said}");
    Ok(())
}

#[tokio::test]
async fn what_is_told_of_one_run_is_not_told_of_the_next() -> Result<()> {
    let pod = json!({
        "restartPolicy": "$(runnable.spec.inputs.policy)$",
        "containers": [{ "name": "a", "image": "b" }],
    });
    let world = World::new("next").await?;
    world
        .template(json!({ "template": document(POD, pod) }))
        .await?;
    let spec = json!({ "approval": "Manual", "inputs": { "policy": "Sometimes" } });
    let subject = world.runnable("r", spec).await?;
    let is = |it: &Value, said: &str| text(&it["status"]["pending"]["dryRun"]).starts_with(said);
    subject
        .until("to be refused", |it| is(it, "refused: "))
        .await?;
    subject.input("policy", "Never").await?;
    subject
        .until("to be accepted", |it| is(it, "accepted"))
        .await?;
    Ok(())
}
