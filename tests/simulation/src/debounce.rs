//! What is rendered has to stay the same for a while before it runs.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use crate::{discovery::Resource, store::Change};

/// How long changes have to stay in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debounce {
    /// In seconds.
    pub seconds: u64,
    /// It is the templates that say so.
    pub by_template: bool,
}

impl Debounce {
    /// Draws how long.
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

    /// How long a change has to stay.
    #[must_use]
    pub fn pause(self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

/// Of how many changes it was said that they settle.
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
