//! Debounce: a rendering must stay the same for a while before it runs.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use crate::{discovery::Resource, store::Change};

/// The debounce of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debounce {
    /// In seconds.
    pub seconds: u64,
    /// True if the templates ask for it, false if the Runnables do.
    pub by_template: bool,
}

impl Debounce {
    /// Draws a debounce.
    pub fn draw(random: &mut fastrand::Rng) -> Self {
        Self {
            seconds: random.u64(2..=8),
            by_template: random.bool(),
        }
    }

    /// Writes it into the specs that have it.
    pub fn ask(self, object: &mut Value, is_template: bool) {
        if is_template == self.by_template {
            object["spec"]["start"] = json!({ "debounce": format!("{}s", self.seconds) });
        }
    }

    /// Returns the time that a change has to stay the same.
    #[must_use]
    pub fn pause(self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

/// Returns the number of changes that were reported as settling.
#[must_use]
pub fn held(log: &[Change]) -> usize {
    let runnables = log
        .iter()
        .filter(|change| change.key.resource == Resource::Runnables);
    let held = runnables.filter_map(|change| {
        let pending = &change.object["status"]["pending"];
        if pending["reason"] != "Debouncing" {
            return None;
        }
        let sequence = pending["sequence"].as_i64()?;
        Some((change.object["metadata"]["uid"].as_str()?, sequence))
    });
    held.collect::<BTreeSet<_>>().len()
}
