//! Requests that are held back while a scenario acts.

use anyhow::Result;
use serde_json::{Value, json};

use super::stage::{PATIENCE, Stage};
use crate::{
    cluster::{Seen, eventually},
    fault_proxy::{Call, Waits},
};

/// Selects the creates of runs.
pub(super) fn creates() -> Waits {
    Box::new(|call: &Call, _| call.verb == "create" && call.resource.starts_with("trials."))
}

/// Selects the writes of a status that confirm a run.
pub(super) fn confirmations() -> Waits {
    Box::new(|call: &Call, body| {
        let written = serde_json::from_slice::<Value>(body).unwrap_or_default();
        call.to_string() == "update runnables.carto.run/status"
            && written.pointer("/status/currentRun/phase") == Some(&json!("Created"))
    })
}

/// Selects the first of these requests, and not its repetitions.
pub(super) fn first(mut of: Waits) -> Waits {
    let mut met = false;
    Box::new(move |call, body| {
        let now = !met && of(call, body);
        met |= now;
        now
    })
}

impl Stage {
    /// Waits until a request is held back.
    pub(super) async fn holds(&self) -> Result<()> {
        eventually("a request to be held back", PATIENCE, || async {
            Ok(match self.proxy.held() {
                0 => Seen::NotYet("none".to_owned()),
                _ => Seen::Done(()),
            })
        })
        .await
    }
}
