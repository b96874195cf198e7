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

/// Returns the outcome of the plan that breaks this request, the `number`-th of its sort.
async fn outcome(
    scenario: Scenario,
    (verb, resource, number): (&str, &str, usize),
    fault: Fault,
) -> Result<Outcome> {
    let cluster = cluster().await?;
    let recording = record(DEMO, &cluster, scenario).await?;
    let plan = Plan {
        scenario,
        at: Counted {
            call: Call::new(verb, resource),
            number,
        },
        fault,
    };
    println!("{plan}");
    perform(DEMO, &cluster, &plan, &recording).await
}

async fn holds(scenario: Scenario, verb: &str, resource: &str, fault: Fault) -> Result<()> {
    let outcome = outcome(scenario, (verb, resource, 1), fault).await?;
    assert_eq!(outcome, Outcome::Held);
    Ok(())
}

/// The list at the beginning of a watch had no deadline: nothing was followed for five minutes.
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

/// A deletion that was seen together with that of the kind was forgotten with the kind, and the run was given
/// up as lost. The recording alone, without a fault, asks for the run that is made in its place.
#[tokio::test]
async fn an_unfinished_run_that_goes_with_its_kind_is_made_again_when_the_kind_is_back()
-> Result<()> {
    holds(
        Scenario::KindRemovedAmidRun,
        "update",
        "runnables.carto.run/status",
        Fault::LostReply,
    )
    .await
}

/// The exception I1 really occurs, and is exactly as documented.
#[tokio::test]
async fn a_run_deleted_before_its_confirmation_died_with_the_controller_is_made_again_once()
-> Result<()> {
    let confirmation = ("update", "runnables.carto.run/status", 2);
    let scenario = Scenario::DeletedUnconfirmed;
    let outcome = outcome(scenario, confirmation, Fault::CrashBefore).await?;
    let Outcome::Undecidable(name) = &outcome else {
        panic!("{outcome:?}");
    };
    assert!(name.starts_with("I1: "), "{name}");
    Ok(())
}
