//! A sample of all fault plans.

use anyhow::Result;
use cartouche_tests::faults::{
    campaign::{Performed, enumerate, perform_all, record_all},
    plan::Outcome,
    scenario::Scenario,
};
use clap::ValueEnum;

use crate::{DEMO, cluster};

/// Every n-th plan is carried out here; `cargo faults run` carries out all of them.
const STRIDE: usize = 43;
/// Plans at the same time.
const AT_ONCE: usize = 6;

#[tokio::test]
async fn whatever_request_is_broken_the_api_server_records_what_it_does_without_faults()
-> Result<()> {
    let cluster = cluster().await?;
    let recordings = record_all(DEMO, &cluster, Scenario::value_variants(), AT_ONCE).await?;
    let all = enumerate(&recordings);
    assert!(all.len() >= 600, "only {} plans", all.len());
    let sample = all.iter().step_by(STRIDE).cloned().collect();
    let tell = |performed: &Performed| {
        println!(
            "{} ({:.1} s): {:?}",
            performed.plan, performed.seconds, performed.outcome
        );
    };
    let results = perform_all(DEMO, &cluster, &recordings, sample, AT_ONCE, None, tell).await?;
    println!("{} of {} plans, every {STRIDE}th", results.len(), all.len());
    let failed: Vec<String> = results
        .iter()
        .filter(|result| matches!(result.outcome, Outcome::Failed(_)))
        .map(|result| format!("{}: {:?}", result.plan, result.outcome))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let reached = |result: &&Performed| result.outcome != Outcome::NotReached;
    let reached = results.iter().filter(reached).count();
    assert!(
        reached * 10 >= results.len() * 8,
        "only {reached} plans met their request"
    );
    Ok(())
}
