//! The events of a plan, apart from its fault.
//!
//! Inputs move on only after the previous run was made. So nothing coalesces, and the same runs are made
//! every time.

pub mod diamond;
mod exceptions;
mod original;
mod removed_kind;
pub(super) mod sinks;
mod together;
mod undecided;

use anyhow::Result;
use cartouche_crds::{APPROVED_ANNOTATION, RunPhase, RunResult, Runnable};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use undecided::Undecided;

use super::stage::{APP, PATIENCE, Stage};
use crate::{
    cluster::{Cluster, Seen, eventually},
    fixture::{condition, current, output},
    lab::{self, TRIAL, fails, hangs, succeeds},
    status::without_ledger,
};

/// A scenario: its preparation, its actions, and its end.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// A new Runnable has its first run.
    FirstRun,
    /// An input changes.
    InputChange,
    /// An input changes, and changes back while the run between is under way.
    ThereAndBack,
    /// An input changes while no controller runs.
    ChangedWhileDown,
    /// The template changes.
    TemplateChange,
    /// The selector picks another object.
    SelectorChange,
    /// The user requests a re-run.
    Rerun,
    /// A run fails, and the input changes.
    FailedThenChanged,
    /// A user deletes a run that is under way.
    DeletedRun,
    /// The account may not create runs, and later it may.
    RejectedThenGranted,
    /// Old runs are deleted by the retention policy, and a new one is made.
    Retention,
    /// The status loses its ledger.
    LostStatus,
    /// Objects of the original controller are taken over.
    Takeover,
    /// The kind of a finished run is removed and comes back, and the input changes.
    KindRemoved,
    /// The kind of a run is removed while the run is under way, and comes back, and the input changes.
    KindRemovedAmidRun,
    /// The right to create is removed while a create is on its way, and given back.
    RevokedAmidCreate,
    /// A user deletes a run after it was made and before it is confirmed (the exception I1).
    DeletedUnconfirmed,
    /// A run ends and is deleted while no controller runs (the exception I2).
    EndedUnseen,
    /// An old status is restored while no controller runs (the exception I3).
    RestoredStatus,
    /// A run fails, is retried a second later, and fails again, which was the last attempt.
    Retried,
    /// A run works for longer than its timeout and is stopped.
    TimedOut,
    /// An input changes while a run is at work that the new one replaces, so it is stopped.
    Replaced,
    /// An input changes, and its run waits for approval.
    Approved,
    /// More Runnables change at once than are reconciled at once, so that confirmations wait.
    ChangedTogether,
    /// The common source of two Runnables changes, and so does the Runnable that reads both.
    Diamond,
    /// An input changes, and so do the objects that outputs were written to; then the outputs go elsewhere.
    Sinks,
}

/// Dates everything in the ledger to the Unix epoch, so that it is old.
fn age(status: &mut Value) {
    // The scenario fails without a status.
    *status = crate::status::aged(status.take()).unwrap_or_default();
}

/// Returns true if the run with this number exists, according to the ledger.
#[must_use]
pub fn made(runnable: &Runnable, sequence: i64) -> bool {
    current(runnable).is_some_and(|run| run.sequence == sequence && run.phase == RunPhase::Created)
}

/// Returns true if the run with this number has succeeded and given this output, and the status is of the
/// present generation.
#[must_use]
pub fn gives(runnable: &Runnable, sequence: i64, value: i64) -> bool {
    let ready = condition(runnable, "Ready").is_some_and(|ready| {
        ready.status == "True" && ready.observed_generation == runnable.metadata.generation
    });
    made(runnable, sequence) && ready && output(runnable) == Some(value)
}

/// Returns the value that approves the run that waits for approval, if any.
fn wanted(runnable: &Runnable) -> Option<String> {
    let pending = runnable.status.as_ref()?.pending.as_ref()?;
    pending.approval.clone()
}

fn failed(runnable: &Runnable) -> bool {
    current(runnable).is_some_and(|run| run.result == Some(RunResult::Failed))
}

/// Returns true if the API server refused to make the present run.
#[must_use]
pub fn rejected(runnable: &Runnable) -> bool {
    current(runnable).is_some_and(|run| run.phase == RunPhase::Rejected)
}

impl Scenario {
    /// Returns its name on the command line and in tables.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }

    /// Returns the stage on which it is played.
    pub async fn set(self, demo: &str, cluster: &Cluster, name: &str) -> Result<Stage> {
        let mut stage = Stage::set(demo, cluster, name).await?;
        match self {
            Self::KindRemoved | Self::KindRemovedAmidRun => stage.with_own_kind().await,
            Self::ChangedTogether => {
                together::crowd(&mut stage);
                Ok(stage)
            }
            Self::Diamond => {
                diamond::beside(&mut stage);
                Ok(stage)
            }
            _ => Ok(stage),
        }
    }

    /// Prepares everything before the first counted request.
    pub async fn prepare(self, stage: &Stage) -> Result<()> {
        match self {
            Self::FirstRun | Self::RevokedAmidCreate | Self::DeletedUnconfirmed => {
                return stage.start_controller().await;
            }
            Self::Takeover => return original::original_left(stage).await,
            Self::RejectedThenGranted => {
                stage.grant(false).await?;
                return stage.start_controller().await;
            }
            Self::ChangedTogether => return together::settled(stage).await,
            Self::Diamond => return diamond::settled(stage).await,
            Self::Sinks => return sinks::settled(stage).await,
            Self::SelectorChange => sources(stage).await?,
            Self::TimedOut | Self::Replaced => stoppable(stage).await?,
            _ => {}
        }
        let mut spec = json!({ "inputs": self.first_inputs() });
        if self == Self::SelectorChange {
            spec["selector"] = selector("one");
        }
        if self == Self::Retried {
            let soon = json!({ "initial": "1s", "max": "1s" });
            spec["retry"] = json!({ "limit": 1, "backoff": soon });
        }
        if self == Self::TimedOut {
            spec["timeout"] = json!("3s");
        }
        if self == Self::Replaced {
            spec["concurrencyPolicy"] = json!("Replace");
        }
        if self == Self::Retention {
            spec["retentionPolicy"] = json!({ "maxFailedRuns": 1, "maxSuccessfulRuns": 1 });
        }
        stage.runnable(APP, spec).await?;
        stage.start_controller().await?;
        match self {
            Self::FailedThenChanged => stage.until(APP, "a failure", failed).await?,
            Self::DeletedRun | Self::KindRemovedAmidRun => {
                stage.until(APP, "a run", |r| made(r, 1)).await?
            }
            Self::Retention | Self::RestoredStatus => {
                for value in 2..=3 {
                    let before = value - 1;
                    stage
                        .until(APP, "its output", |r| gives(r, before, before))
                        .await?;
                    stage.change(APP, succeeds(value)).await?;
                }
                stage.until(APP, "its output", |r| gives(r, 3, 3)).await?
            }
            _ => stage.until(APP, "its output", |r| gives(r, 1, 1)).await?,
        };
        if self == Self::Approved {
            let manual = json!({ "spec": { "approval": "Manual" } });
            stage.patch(APP, manual).await?;
            // A change of the spec, which is reported.
            stage.until(APP, "its output", |r| gives(r, 1, 1)).await?;
        }
        if self == Self::EndedUnseen {
            stage.change(APP, hangs(2)).await?;
            stage.until(APP, "a run", |r| made(r, 2)).await?;
        }
        if [
            Self::ChangedWhileDown,
            Self::EndedUnseen,
            Self::RestoredStatus,
        ]
        .contains(&self)
        {
            stage.kill_controller().await?;
        }
        Ok(())
    }

    fn first_inputs(self) -> Value {
        match self {
            Self::FailedThenChanged => fails(1),
            Self::DeletedRun | Self::KindRemovedAmidRun => hangs(1),
            _ => succeeds(1),
        }
    }

    /// Performs its actions.
    pub async fn act(self, stage: &Stage) -> Result<()> {
        match self {
            Self::FirstRun => stage
                .runnable(APP, json!({ "inputs": succeeds(1) }))
                .await
                .map(drop),
            Self::InputChange | Self::FailedThenChanged => stage.change(APP, succeeds(2)).await,
            Self::Retried => stage.change(APP, fails(2)).await,
            Self::TimedOut => stage.change(APP, hangs(2)).await,
            Self::ThereAndBack => {
                stage.change(APP, hangs(2)).await?;
                stage.until(APP, "the run between", |r| made(r, 2)).await?;
                stage.change(APP, succeeds(1)).await
            }
            Self::Replaced => {
                stage.change(APP, hangs(2)).await?;
                stage.until(APP, "what makes way", |r| made(r, 2)).await?;
                stage.change(APP, succeeds(3)).await
            }
            Self::Approved => {
                stage.change(APP, succeeds(2)).await?;
                let waiting = stage
                    .until(APP, "what waits", |r| wanted(r).is_some())
                    .await?;
                let approval = json!({ APPROVED_ANNOTATION: wanted(&waiting) });
                let patch = json!({ "metadata": { "annotations": approval } });
                stage.patch(APP, patch).await
            }
            Self::ChangedWhileDown => {
                stage.change(APP, succeeds(2)).await?;
                stage.start_controller().await
            }
            Self::TemplateChange => {
                let mut template = lab::template(TRIAL);
                template["template"]["spec"]["value"] = json!(2);
                stage.template(template).await
            }
            Self::SelectorChange => {
                let patch = json!({ "spec": { "selector": selector("two") } });
                stage.patch(APP, patch).await
            }
            Self::Rerun => {
                let token = json!({ "carto.run/rerun-token": "again" });
                stage
                    .patch(APP, json!({ "metadata": { "annotations": token } }))
                    .await
            }
            Self::DeletedRun => {
                let run = stage.sees(1).await?;
                stage
                    .delete_trial(&run.metadata.name.unwrap_or_default())
                    .await
            }
            Self::RejectedThenGranted => {
                stage
                    .runnable(APP, json!({ "inputs": succeeds(1) }))
                    .await?;
                stage.until(APP, "a refusal", rejected).await?;
                stage.grant(true).await
            }
            Self::Retention => {
                stage.edit_status(APP, age).await?;
                left(stage, 1).await?;
                stage.change(APP, succeeds(4)).await
            }
            Self::LostStatus => stage.edit_status(APP, without_ledger).await,
            Self::Takeover => stage.start_controller().await,
            Self::KindRemoved => removed_kind::of_a_finished_run(stage).await,
            Self::KindRemovedAmidRun => removed_kind::amid_a_run(stage).await,
            Self::RevokedAmidCreate => exceptions::revoked_amid_create(stage).await,
            Self::DeletedUnconfirmed => exceptions::deleted_unconfirmed(stage).await,
            Self::EndedUnseen => exceptions::ended_unseen(stage).await,
            Self::RestoredStatus => exceptions::restored_status(stage).await,
            Self::ChangedTogether => together::change(stage).await,
            Self::Diamond => stage.change(diamond::ROOT, succeeds(2)).await,
            Self::Sinks => sinks::act(stage).await,
        }
    }

    /// Returns true if it is over, according to the Runnable; the record shows the rest.
    #[must_use]
    pub fn is_over(self, runnable: &Runnable) -> bool {
        match self {
            Self::FirstRun
            | Self::LostStatus
            | Self::RejectedThenGranted
            | Self::RevokedAmidCreate => gives(runnable, 1, 1),
            Self::InputChange
            | Self::ChangedWhileDown
            | Self::TemplateChange
            | Self::SelectorChange
            | Self::FailedThenChanged
            | Self::KindRemoved
            | Self::ChangedTogether
            | Self::Approved
            | Self::Diamond
            | Self::Takeover => gives(runnable, 2, 2),
            Self::KindRemovedAmidRun | Self::DeletedUnconfirmed => gives(runnable, 3, 2),
            Self::EndedUnseen | Self::Replaced => gives(runnable, 3, 3),
            Self::Rerun => gives(runnable, 2, 1),
            Self::ThereAndBack => gives(runnable, 3, 1),
            Self::DeletedRun => made(runnable, 2),
            Self::Retried => made(runnable, 3) && failed(runnable),
            Self::TimedOut => made(runnable, 2) && failed(runnable),
            Self::Retention | Self::RestoredStatus => gives(runnable, 4, 4),
            Self::Sinks => sinks::is_over(runnable),
        }
    }
}

/// Makes two objects to select from, and a template that takes its value from the selected one.
pub async fn sources(stage: &Stage) -> Result<()> {
    for (value, pick) in [(1, "one"), (2, "two")] {
        stage
            .trial(json!({
                "apiVersion": "lab.test/v1", "kind": "Trial",
                "metadata": { "name": format!("source-{pick}"), "labels": { "pick": pick } },
                "spec": { "value": value },
            }))
            .await?;
    }
    let mut template = lab::template(TRIAL);
    template["template"]["spec"]["value"] = json!("$(selected.spec.value)$");
    stage.template(template).await
}

/// Makes a template whose runs fail when they are stopped, and an account that may stop them.
async fn stoppable(stage: &Stage) -> Result<()> {
    stage.allow(&["list", "create", "delete", "patch"]).await?;
    let mut template = lab::template(TRIAL);
    template["stop"] = json!({ "mergePatch": { "spec": { "play": "fail" } } });
    stage.template(template).await
}

/// Returns a selector of the object that carries this label.
#[must_use]
pub fn selector(pick: &str) -> Value {
    json!({
        "resource": { "apiVersion": "lab.test/v1", "kind": "Trial" },
        "matchingLabels": { "pick": pick },
    })
}

/// Waits until this number of runs is left.
async fn left(stage: &Stage, count: usize) -> Result<()> {
    eventually("retention", PATIENCE, || async {
        let exist = stage.end(APP).await?.exist;
        Ok(if exist.len() == count {
            Seen::Done(())
        } else {
            Seen::NotYet(format!("{exist:?}"))
        })
    })
    .await
}
