//! Many plans, several at a time.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use anyhow::Result;
use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};

use super::{
    plan::{Outcome, Plan, Recording, perform, plans, record},
    scenario::Scenario,
};
use crate::cluster::Cluster;

/// A plan and its outcome.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Performed {
    /// The plan.
    #[serde(flatten)]
    pub plan: Plan,
    /// Its outcome.
    pub outcome: Outcome,
    /// Its duration, in seconds.
    pub seconds: f64,
}

/// Plays each scenario once without faults, several at a time.
pub async fn record_all(
    demo: &str,
    cluster: &Cluster,
    scenarios: &[Scenario],
    at_once: usize,
) -> Result<BTreeMap<Scenario, Arc<Recording>>> {
    let recordings = stream::iter(scenarios.iter().copied())
        .map(|scenario| async move {
            let recording = record(demo, cluster, scenario).await?;
            anyhow::Ok((scenario, Arc::new(recording)))
        })
        .buffer_unordered(at_once)
        .collect::<Vec<_>>()
        .await;
    recordings.into_iter().collect()
}

/// Returns every plan of these recordings, scenario by scenario.
#[must_use]
pub fn enumerate(recordings: &BTreeMap<Scenario, Arc<Recording>>) -> Vec<Plan> {
    recordings.values().flat_map(|r| plans(r)).collect()
}

/// Returns the same plans in an order that reaches every scenario early, for a campaign that may be cut
/// short.
#[must_use]
pub fn interleaved(plans: &[Plan]) -> Vec<Plan> {
    const STRIDE: usize = 29;
    let rounds = 0..STRIDE;
    rounds
        .flat_map(|first| plans.iter().skip(first).step_by(STRIDE))
        .cloned()
        .collect()
}

/// Carries plans out, several at a time, and reports each to `tell`. After `until`, if given, no further plan
/// begins.
pub async fn perform_all(
    demo: &str,
    cluster: &Cluster,
    recordings: &BTreeMap<Scenario, Arc<Recording>>,
    plans: Vec<Plan>,
    at_once: usize,
    until: Option<Instant>,
    mut tell: impl FnMut(&Performed),
) -> Result<Vec<Performed>> {
    let mut performing = stream::iter(plans)
        .take_while(|_| {
            let late = until.is_some_and(|until| Instant::now() > until);
            std::future::ready(!late)
        })
        .filter_map(|plan| async move {
            let recording = recordings.get(&plan.scenario)?.clone();
            Some((plan, recording))
        })
        .map(|(plan, recording)| async move {
            let begin = Instant::now();
            let outcome = perform(demo, cluster, &plan, &recording).await?;
            anyhow::Ok(Performed {
                plan,
                outcome,
                seconds: begin.elapsed().as_secs_f64(),
            })
        })
        .buffer_unordered(at_once)
        .boxed_local();
    let mut results = Vec::new();
    while let Some(result) = performing.next().await {
        let result = result?;
        tell(&result);
        results.push(result);
    }
    results.sort_by(|a, b| a.plan.cmp(&b.plan));
    Ok(results)
}
