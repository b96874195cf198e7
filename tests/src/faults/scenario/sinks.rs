//! Outputs that are written to other objects, one of them sensitive.

use std::collections::BTreeMap;

use anyhow::Result;
use cartouche_crds::{Runnable, SINK_OF_ANNOTATION, SINK_SEQUENCE_ANNOTATION};
use kube::{ResourceExt, api::ListParams};
use serde_json::{Value, json};

use super::gives;
use crate::{
    cluster::{Rights, Seen, eventually},
    faults::stage::{APP, PATIENCE, Stage},
    kind::{CONFIG_MAP, SECRET},
    lab::{self, TRIAL, succeeds},
};

/// Resources of the requests that write outputs.
pub(in crate::faults) const RESOURCES: [&str; 3] = ["configmaps", "secrets", "runnables.carto.run"];

fn to(kind: &str, name: &str) -> Value {
    json!({ "kind": kind, "name": name })
}

async fn writers(stage: &Stage) -> Result<()> {
    let runs = Rights {
        verbs: &["list", "create", "delete"],
        ..TRIAL.rights(&[])
    };
    let writes: &[&str] = &["get", "create", "update", "delete"];
    let rights = [runs, CONFIG_MAP.rights(writes), SECRET.rights(writes)];
    eventually("rights to be given", PATIENCE, || async {
        stage.cluster.grant(&stage.account, &rights).await?;
        Ok(Seen::Done(()))
    })
    .await?;
    let mut template = lab::template(TRIAL);
    template["outputs"]["pin"] = json!(".status.phase");
    template["sensitiveOutputs"] = json!(["pin"]);
    stage.template(template).await
}

pub(super) async fn settled(stage: &Stage) -> Result<()> {
    writers(stage).await?;
    let sinks = json!([to("Secret", APP), to("ConfigMap", APP)]);
    let spec = json!({ "inputs": succeeds(1), "writeOutputsTo": sinks });
    stage.runnable(APP, spec).await?;
    stage.start_controller().await?;
    let first = |r: &_| gives(r, 1, 1);
    stage.until(APP, "its output", first).await.map(drop)
}

/// Changes the input, so that both objects are written anew; then replaces one of them by another.
pub(super) async fn act(stage: &Stage) -> Result<()> {
    stage.change(APP, succeeds(2)).await?;
    stage
        .until(APP, "its output", |r| gives(r, 2, 2) && are_written(r, APP))
        .await?;
    let others = json!([to("Secret", APP), to("ConfigMap", "other")]);
    let patch = json!({ "spec": { "writeOutputsTo": others } });
    stage.patch(APP, patch).await
}

pub(super) fn is_over(runnable: &Runnable) -> bool {
    gives(runnable, 2, 2) && are_written(runnable, "other")
}

/// Returns true if the outputs of the second run have reached their objects.
fn are_written(runnable: &Runnable, config_map: &str) -> bool {
    let sinks = runnable.status.iter().flat_map(|status| &status.sinks);
    let written = sinks.filter(|sink| sink.sequence == 2 && !sink.behind);
    let names: Vec<&str> = written.map(|sink| sink.name.as_str()).collect();
    names == [APP, config_map]
}

impl Stage {
    /// Returns the content of the objects that outputs were written to, with the number of its run.
    pub(in crate::faults) async fn sinks(&self) -> Result<BTreeMap<String, Value>> {
        let mut sinks = BTreeMap::new();
        for kind in [SECRET, CONFIG_MAP] {
            for object in self.api(kind).list(&ListParams::default()).await? {
                let annotations = object.annotations();
                if annotations.contains_key(SINK_OF_ANNOTATION) {
                    let sequence = annotations.get(SINK_SEQUENCE_ANNOTATION);
                    let content = json!([sequence, object.data["data"]]);
                    sinks.insert(format!("{} {}", kind.name, object.name_any()), content);
                }
            }
        }
        Ok(sinks)
    }
}
