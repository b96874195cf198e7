//! Waits of a scene, and reads of a Runnable.

use std::time::Duration;

use anyhow::{Context, Result};
use cartouche_crds::{CurrentRun, RunResult, Runnable, RunnableStatus};
use cartouche_tests::cluster::Seen;
use cartouche_tests::fixture::objects::text;
pub use cartouche_tests::{
    fixture::{condition, output},
    status::without_ledger,
};
use kube::{
    ResourceExt,
    api::{DynamicObject, ListParams},
};
use serde_json::json;

use crate::{
    engine::{Kind, TRIAL, succeeds},
    scene::{SOON, Scene},
};

/// Prefix of the names of Runnables that only show that a controller is at work.
pub const CANARY: &str = "canary-";

/// Returns the status, or an empty one.
pub fn status(runnable: &Runnable) -> RunnableStatus {
    runnable.status.clone().unwrap_or_default()
}

/// Returns true if a condition has this status and reason, for the present generation.
pub fn says(runnable: &Runnable, name: &str, status: &str, reason: &str) -> bool {
    condition(runnable, name).is_some_and(|condition| {
        condition.status == status
            && condition.reason == reason
            && condition.observed_generation == runnable.metadata.generation
    })
}

/// Returns true if the run for the present inputs has succeeded.
pub fn ready(runnable: &Runnable) -> bool {
    says(runnable, "Ready", "True", "Ready")
}

/// Returns true if the run for the present inputs has failed.
pub fn failed(runnable: &Runnable) -> bool {
    let is_false = condition(runnable, "Ready").is_some_and(|it| {
        it.status == "False" && it.observed_generation == runnable.metadata.generation
    });
    is_false && result(runnable) == Some(RunResult::Failed)
}

pub fn current(runnable: &Runnable) -> Result<CurrentRun> {
    status(runnable)
        .current_run
        .with_context(|| format!("{} has no current run", runnable.name_any()))
}

/// Returns true if there is a run that is known to exist.
pub fn confirmed(runnable: &Runnable) -> bool {
    current(runnable).is_ok_and(|run| run.uid.is_some())
}

/// Returns true if the API server refuses its run.
pub fn refused(runnable: &Runnable) -> bool {
    let reason = "StampedObjectRejectedByAPIServer";
    says(runnable, "RunTemplateReady", "False", reason)
}

/// Returns a sign that the run with this number is current and known to exist.
pub fn is_at(sequence: i64) -> impl Fn(&Runnable) -> bool {
    move |r| current(r).is_ok_and(|run| run.sequence == sequence && run.uid.is_some())
}

pub fn result(runnable: &Runnable) -> Option<RunResult> {
    status(runnable).current_run?.result
}

impl Scene {
    /// Returns the present state of a Runnable.
    pub async fn now(&self, name: &str) -> Result<Runnable> {
        Ok(self.runnables().get(name).await?)
    }

    /// Waits until the run for the present inputs has given this output.
    pub async fn gives(&self, name: &str, value: i64) -> Result<Runnable> {
        self.until(name, &format!("output {value}"), |r| {
            ready(r) && output(r) == Some(value)
        })
        .await
    }

    /// Waits until these Runnables all give this output.
    pub async fn all_give(&self, names: &[String], value: i64) -> Result<()> {
        self.cluster
            .eventually(&format!("all outputs to be {value}"), 2 * SOON, || async {
                let all = self.runnables().list(&ListParams::default()).await?;
                let late: Vec<String> = all
                    .iter()
                    .filter(|r| names.contains(&r.name_any()))
                    .filter(|r| !ready(r) || output(r) != Some(value))
                    .map(|r| format!("{}: {:?}", r.name_any(), condition(r, "Ready")))
                    .collect();
                if late.is_empty() {
                    return Ok(Seen::Done(()));
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok(Seen::NotYet(late.join("\n")))
            })
            .await
    }

    /// Waits until the run of a Runnable with this value exists.
    pub async fn sees(&self, name: &str, value: i64) -> Result<DynamicObject> {
        self.sees_of(TRIAL, name, value).await
    }

    pub async fn sees_of(&self, kind: Kind, name: &str, value: i64) -> Result<DynamicObject> {
        let of = format!("carto.run/runnable-name={name}");
        self.run_for(&self.api(kind), &of, value).await
    }

    /// Proves that a controller is at work, and that it has had the time for anything that it should not do:
    /// it serves a new Runnable.
    pub async fn is_served(&self) -> Result<()> {
        let others = self.runnables().list(&ListParams::default()).await?;
        let canary = format!("{CANARY}{}", others.items.len());
        let inputs = json!({ "inputs": succeeds(0) });
        self.runnable_with(&canary, inputs).await?;
        let served = |r: &Runnable| !status(r).conditions.is_empty();
        self.until(&canary, "served", served).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(())
    }

    /// Returns the messages of the events of a Runnable with this type and reason.
    pub async fn events(&self, name: &str, kind: &str, reason: &str) -> Result<Vec<String>> {
        let mut events = self.events_of(name).await?;
        events.retain(|event| event["type"] == kind && event["reason"] == reason);
        let messages = events
            .iter()
            .map(|event| text(&event["message"]).to_owned());
        Ok(messages.collect())
    }

    /// Checks that one run was made of the input 1, and that the next input runs as usual.
    pub async fn goes_on_after_one_run(&self, name: &str) -> Result<()> {
        assert_eq!(self.made(name)?, [1]);
        self.change(name, succeeds(2)).await?;
        self.gives(name, 2).await?;
        assert_eq!(self.made(name)?, [1, 2]);
        Ok(())
    }

    /// Waits until a Warning event with this reason mentions `of`.
    pub async fn warns(&self, name: &str, reason: &str, of: &str) -> Result<()> {
        self.event(name, "Warning", reason, of).await.map(drop)
    }
}
