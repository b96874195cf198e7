//! The run to follow, which may not be made yet.

use std::time::Duration;

use anyhow::bail;
use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::{
    Runnable,
    conditions::{READY, STALLED, TRUE},
};
use cartouche_protocol::{category::Category, messages::format::MessageParts, status::RunState};
use tokio::time::Instant;

use crate::{
    cluster::Cluster,
    live::runs::{self, LedgerRun},
    outcome::print_error,
};

/// Interval between two reads of the Runnable.
const PAUSE: Duration = Duration::from_secs(1);
/// Time that a problem has to last before the wait ends: objects applied together are not seen together.
const GRACE: Duration = Duration::from_secs(3);

/// Run to follow, as the status has it.
#[derive(Debug)]
enum FollowedRun {
    /// This run exists.
    Run(Box<LedgerRun>),
    /// There is no run yet, for this reason.
    NotYet(String),
    /// There is no run until something changes, for this reason.
    InVain(String),
}

/// Waits for the run that answers the last change of the Runnable. Prints to standard error why there is none yet.
pub(super) async fn wait_for_run(name: &str, cluster: &Cluster) -> anyhow::Result<LedgerRun> {
    let mut reported = String::new();
    let mut in_vain_since = None;
    loop {
        let runnable = cluster.runnable(name).await?;
        let why = match awaited(&runnable) {
            FollowedRun::Run(run) => return Ok(*run),
            FollowedRun::InVain(why) => {
                let since = in_vain_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= GRACE {
                    bail!("{name} has no run, and none will be made now: {why}");
                }
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            FollowedRun::NotYet(why) => why,
        };
        in_vain_since = None;
        if why != reported {
            print_error(&format!("there is no run of {name} yet: {why}\n"))?;
            reported = why;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn awaited(runnable: &Runnable) -> FollowedRun {
    let observed = runnable
        .status
        .as_ref()
        .and_then(|status| status.observed_generation);
    if observed != runnable.metadata.generation {
        let why = "the controller has not observed the last change yet";
        return FollowedRun::NotYet(why.to_owned());
    }
    let waits = runnable
        .status
        .as_ref()
        .is_some_and(|status| status.pending.is_some());
    let current = runs::runs(runnable)
        .into_iter()
        .find(|run| run.current && !waits);
    let is_made = |run: &LedgerRun| !matches!(run.state, RunState::Pending | RunState::Rejected);
    if let Some(run) = current.filter(is_made) {
        return FollowedRun::Run(Box::new(run));
    }
    let ready = runs::condition(runnable, READY);
    let why = ready.map_or(
        "no controller has reconciled it yet",
        |ready| match MessageParts::own(&ready.message) {
            "" => &ready.reason,
            message => message,
        },
    );
    let why = in_one_line(why);
    let is_stalled = runs::condition(runnable, STALLED).is_some_and(|it| it.status == TRUE);
    let is_held = ready.is_some_and(|it| it.reason == Category::Suspended.as_str());
    if is_stalled || is_held {
        FollowedRun::InVain(why)
    } else {
        FollowedRun::NotYet(why)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn looked_at(observed: i64, conditions: &Value, run: &Value) -> FollowedRun {
        awaited(&serde_json::from_value(looking_at(observed, conditions, run)).unwrap())
    }

    fn looking_at(observed: i64, conditions: &Value, run: &Value) -> Value {
        let mut status = json!({ "observedGeneration": observed, "conditions": conditions });
        if !run.is_null() {
            status["currentRun"] = run.clone();
        }
        json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": "hello", "generation": 2 },
            "spec": { "runTemplateRef": { "name": "greet" } }, "status": status,
        })
    }

    fn run(phase: &str) -> Value {
        json!({
            "sequence": 1, "name": "r", "inputHash": "v1:a", "apiVersion": "batch/v1", "kind": "Job",
            "phase": phase,
        })
    }

    fn condition(name: &str, status: &str, reason: &str) -> Value {
        json!({
            "type": name, "status": status, "reason": reason, "message": "no; to do: yes; in full: x",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    }

    #[test]
    fn the_run_of_an_older_change_is_not_followed() {
        let older = looked_at(1, &json!([]), &run("Created"));
        assert!(matches!(older, FollowedRun::NotYet(_)), "{older:?}");
        let made = looked_at(2, &json!([]), &run("Created"));
        assert!(matches!(made, FollowedRun::Run(_)), "{made:?}");
    }

    #[test]
    fn the_run_before_the_one_that_waits_is_not_followed() {
        let mut runnable = looking_at(2, &json!([]), &run("Created"));
        runnable["status"]["pending"] = json!({
            "sequence": 2, "inputHash": "", "reason": "Debouncing", "since": "2026-01-01T00:00:00Z",
        });
        let waits = awaited(&serde_json::from_value(runnable).unwrap());
        assert!(matches!(waits, FollowedRun::NotYet(_)), "{waits:?}");
    }

    #[test]
    fn what_is_to_be_made_is_waited_for_unless_only_a_change_helps() {
        let refused = json!([condition(
            "Ready",
            "False",
            "StampedObjectRejectedByAPIServer"
        )]);
        for phase in ["Pending", "Rejected"] {
            match looked_at(2, &refused, &run(phase)) {
                FollowedRun::NotYet(why) => assert_eq!(why, "no; to do: yes"),
                other => panic!("{other:?}"),
            }
        }
        let none = looked_at(2, &json!([]), &Value::Null);
        assert!(matches!(none, FollowedRun::NotYet(_)), "{none:?}");
        let stalled = json!([
            condition("Ready", "False", "RunTemplateNotFound"),
            condition("Stalled", "True", "RunTemplateNotFound"),
        ]);
        let held = json!([condition("Ready", "Unknown", "Suspended")]);
        for conditions in [stalled, held] {
            let in_vain = looked_at(2, &conditions, &Value::Null);
            assert!(matches!(in_vain, FollowedRun::InVain(_)), "{in_vain:?}");
        }
    }
}
