//! Runs of one Runnable that may not be at work at once.

use std::collections::BTreeSet;

use cartouche_crds::ConcurrencyPolicy;
use serde_json::{Value, json};

use crate::{discovery::Resource, stops, store::Change};

/// The concurrency policy of all Runnables of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The policy: a change waits for the previous run, or has it stopped.
    pub policy: ConcurrencyPolicy,
    /// True if the templates ask for it, false if the Runnables do.
    pub by_template: bool,
}

impl Overlap {
    /// Draws a policy.
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

    /// Writes it into the specs that have it, with a way to stop runs where there is none yet.
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

/// Returns the number of runs that were reported as waiting for others.
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
