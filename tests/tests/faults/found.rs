//! Plans that failed once.

use anyhow::Result;
use cartouche_tests::{
    fault_proxy::{Call, Counted, Fault},
    faults::{
        plan::{Outcome, Plan, perform, record},
        scenario::Scenario,
    },
};

use crate::{DEMO, cluster};

async fn holds(scenario: Scenario, verb: &str, resource: &str, fault: Fault) -> Result<()> {
    let cluster = cluster().await?;
    let recording = record(DEMO, &cluster, scenario).await?;
    let plan = Plan {
        scenario,
        at: Counted {
            call: Call::new(verb, resource),
            number: 1,
        },
        fault,
    };
    let outcome = perform(DEMO, &cluster, &plan, &recording).await?;
    assert_eq!(outcome, Outcome::Held, "{plan}");
    Ok(())
}

/// The list that a watch begins with had no deadline: nothing was followed for five minutes.
#[tokio::test]
async fn a_list_of_a_watch_that_is_never_answered_is_given_up() -> Result<()> {
    holds(
        Scenario::ChangedWhileDown,
        "list",
        "trials.lab.test",
        Fault::Drop,
    )
    .await
}

/// A conflict was taken for the end of the run, which stayed until the next change.
#[tokio::test]
async fn a_delete_that_met_a_conflict_is_tried_again() -> Result<()> {
    holds(
        Scenario::Retention,
        "delete",
        "trials.lab.test",
        Fault::Conflict,
    )
    .await
}
