//! Runnables that read each other.

use anyhow::Result;
use serde_json::{Value, json};

use super::gives;
use crate::{
    cluster::{Rights, Seen, eventually},
    faults::stage::{APP, PATIENCE, Stage},
    kind::{CONFIG_MAP, RUNNABLE},
    lab::{self, TRIAL, succeeds},
};

/// The source of all others.
pub const ROOT: &str = "a";
/// The Runnables that [`APP`] reads.
pub const BRANCHES: [&str; 2] = ["b", "c"];

/// Lets the account read Runnables and `ConfigMaps`, and has the template show all inputs.
pub async fn readers(stage: &Stage) -> Result<()> {
    let runs = Rights {
        verbs: &["list", "create", "delete"],
        ..TRIAL.rights(&[])
    };
    let rights = [runs, RUNNABLE.rights(&["get"]), CONFIG_MAP.rights(&["get"])];
    eventually("rights to be given", PATIENCE, || async {
        stage.cluster.grant(&stage.account, &rights).await?;
        Ok(Seen::Done(()))
    })
    .await?;
    let mut template = lab::template(TRIAL);
    template["template"]["spec"]["inputs"] = json!("$(runnable.spec.inputs)$");
    template["outputs"]["phase"] = json!(".status.phase");
    stage.template(template).await
}

/// Returns an input from the output of another Runnable.
#[must_use]
pub fn from(input: &str, of: &str, output: &str) -> Value {
    json!({ "name": input, "runnableRef": { "name": of, "output": output } })
}

/// Returns a Runnable that takes its value from another.
#[must_use]
pub fn follows(of: &str) -> Value {
    json!({ "inputs": { "play": "succeed" }, "inputsFrom": [from("value", of, "value")] })
}

/// Returns a Runnable that takes its value from one branch and shows that of the other.
#[must_use]
pub fn joins() -> Value {
    let [one, other] = BRANCHES;
    let sources = [from("value", one, "value"), from("other", other, "value")];
    json!({ "inputs": { "play": "succeed" }, "inputsFrom": sources })
}

pub(super) fn beside(stage: &mut Stage) {
    stage.beside = [ROOT, BRANCHES[0], BRANCHES[1]].map(str::to_owned).into();
}

pub(super) async fn settled(stage: &Stage) -> Result<()> {
    readers(stage).await?;
    let root = json!({ "inputs": succeeds(1) });
    stage.runnable(ROOT, root).await?;
    for branch in BRANCHES {
        stage.runnable(branch, follows(ROOT)).await?;
    }
    stage.runnable(APP, joins()).await?;
    stage.start_controller().await?;
    let first = |r: &_| gives(r, 1, 1);
    stage.until(APP, "its output", first).await.map(drop)
}
