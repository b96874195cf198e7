//! Runs of one Runnable that may not be at work at once.

use std::collections::BTreeSet;

use cartouche_crds::ConcurrencyPolicy;
use serde_json::{Value, json};

use crate::{discovery::Resource, stops, store::Change};

/// How all Runnables of a plan keep their runs from being at work at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Whether a change waits for the run before, or has it stopped.
    pub policy: ConcurrencyPolicy,
    /// It is the templates that say so.
    pub by_template: bool,
}

impl Overlap {
    /// Draws how.
    pub fn draw(random: &mut fastrand::Rng) -> Self {
        Self {
            policy: if random.bool() {
                ConcurrencyPolicy::LatestOnly
            } else {
                ConcurrencyPolicy::Replace
            },
            by_template: random.bool(),
        }
    }

    /// Writes it into the specs that have it, and how runs are stopped where nothing says so yet.
    pub fn ask(self, object: &mut Value, is_template: bool) {
        let spec = &mut object["spec"];
        if is_template == self.by_template {
            spec["concurrencyPolicy"] = json!(self.policy);
        }
        if is_template && spec["stop"].is_null() {
            stops::give_way(spec, false);
        }
    }
}

/// How many runs were said to wait for others.
#[must_use]
pub fn waits(log: &[Change]) -> usize {
    let runnables = log
        .iter()
        .filter(|change| change.key.resource == Resource::Runnables);
    let waiting = runnables.filter_map(|change| {
        let sequence = change.object["status"]["pending"]["sequence"].as_i64()?;
        Some((change.object["metadata"]["uid"].as_str()?, sequence))
    });
    waiting.collect::<BTreeSet<_>>().len()
}
