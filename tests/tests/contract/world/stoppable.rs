//! Runs that a field in their spec stops.

use anyhow::Result;
use cartouche_tests::cluster::Seen;
use serde_json::{Value, json};

use super::{Kind, World, answers, text};

/// Returns a template whose runs a field in their spec stops.
pub fn stoppable() -> Value {
    let mut template = answers();
    template["stop"] = json!({ "mergePatch": { "spec": { "halt": { "now": true } } } });
    template
}

impl World {
    /// Waits until this run was stopped.
    pub async fn told_to_stop(&self, kind: Kind, run: &Value) -> Result<Value> {
        let name = text(&run["metadata"]["name"]);
        self.eventually("a run to be told to stop", || async {
            let run = self.get(kind, name).await?;
            Ok(if run["spec"]["halt"]["now"] == true {
                Seen::Done(run)
            } else {
                Seen::NotYet(run["spec"].to_string())
            })
        })
        .await
    }
}
