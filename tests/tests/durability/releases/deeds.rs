//! Actions that bring a Runnable to its state.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result};
use cartouche_crds::{
    APPROVED_ANNOTATION, CANCEL_REQUEST_ANNOTATION, Cancellation, REJECTED_ANNOTATION, Rejection,
    Runnable,
};
use cartouche_tests::{cluster::Seen, controller::Controller, fixture::Fixture, kind::RUNNABLE};
use kube::{
    ResourceExt,
    api::{DeleteParams, DynamicObject},
};
use serde_json::{Value, json};

use super::Player;
use crate::{engine::TRIAL, scene::Scene, sight::status};

/// Longer than two releases take to agree on the approval to ask for.
const HEARD_WITHIN: Duration = Duration::from_mins(2);

/// The action that is performed once, after the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Nothing,
    Suspend,
    /// Its status names a requirement that neither release knows.
    Need,
    Approve,
    Reject,
    /// Its run is asked to stop, as `cartouche cancel` does it.
    Cancel,
    DeleteRun,
    /// The same while no controller works.
    DeleteUnseen,
    /// It is deleted itself, and a finalizer keeps it.
    Delete,
}

/// A user's answer to a waiting run, as an annotation.
type Answer = fn(String) -> (&'static str, String);

fn approval(approval: String) -> (&'static str, String) {
    (APPROVED_ANNOTATION, approval)
}

fn rejection(approval: String) -> (&'static str, String) {
    let rejection = Rejection {
        approval,
        ..Rejection::default()
    };
    (REJECTED_ANNOTATION, rejection.annotation())
}

impl Scene {
    /// Performs for each the action that brings it to its state. Returns those that need what neither release
    /// knows, as they are from then on.
    pub(super) async fn do_deeds(
        &self,
        players: &[Player],
        controllers: &mut [Controller; 2],
    ) -> Result<BTreeMap<String, Value>> {
        let mut alone = BTreeMap::new();
        for player in players {
            self.do_deed(player).await?;
            if player.state.deed == Deed::Need {
                let name = &player.name;
                alone.insert(name.clone(), self.get(RUNNABLE, name).await?);
            }
        }
        self.delete_unseen(players, controllers).await?;
        Ok(alone)
    }

    async fn do_deed(&self, player: &Player) -> Result<()> {
        let name = &player.name;
        match player.state.deed {
            Deed::Nothing | Deed::DeleteUnseen => Ok(()),
            Deed::Suspend => {
                let suspended = json!({ "spec": { "suspend": true } });
                self.patch(name, suspended).await
            }
            Deed::Need => {
                let needs = |status: &mut Value| status["needs"] = json!(["ticks"]);
                self.edit_status(name, needs).await
            }
            Deed::Approve => self.answer(name, player.state.rests, approval).await,
            Deed::Reject => self.answer(name, player.state.rests, rejection).await,
            Deed::Cancel => {
                let request = Cancellation::default().annotation();
                let cancelled = json!({
                    "metadata": { "annotations": { CANCEL_REQUEST_ANNOTATION: request } },
                    "spec": { "play": "fail" },
                });
                let run = self.run_of(name).await?;
                self.patch_of(TRIAL, &run.name_any(), cancelled).await
            }
            Deed::DeleteRun => {
                let run = self.run_of(name).await?;
                self.delete(TRIAL, &run).await?;
                // Only a controller that saw it go knows that it did not end.
                let (what, is_seen) = ("its run was seen to go", player.state.rests);
                let seen = self.within(HEARD_WITHIN, name, what, is_seen);
                seen.await.map(drop)
            }
            Deed::Delete => {
                let kept = json!({ "metadata": { "finalizers": ["lab.test/kept"] } });
                self.patch(name, kept).await?;
                Fixture::delete(self, RUNNABLE, name).await
            }
        }
    }

    /// Approves a waiting run, as a user does.
    pub(crate) async fn approve(
        &self,
        name: &str,
        is_heard: impl Fn(&Runnable) -> bool,
    ) -> Result<()> {
        self.answer(name, is_heard, approval).await
    }

    /// Repeats the answer until it takes effect: with two releases the question may change.
    async fn answer(
        &self,
        name: &str,
        is_heard: impl Fn(&Runnable) -> bool,
        answer: Answer,
    ) -> Result<()> {
        let answering = || async {
            let now = self.now(name).await?;
            if is_heard(&now) {
                return Ok(Seen::Done(()));
            }
            let asked = status(&now).pending.and_then(|it| it.approval);
            if let Some((annotation, given)) = asked.map(answer)
                && now.annotations().get(annotation) != Some(&given)
            {
                let given = json!({ "metadata": { "annotations": { annotation: given } } });
                self.patch(name, given).await?;
            }
            Ok(Seen::NotYet(format!("{:?}", now.status)))
        };
        let what = format!("the answer to {name} to be heard");
        self.cluster
            .eventually(&what, HEARD_WITHIN, answering)
            .await
    }

    /// Deletes runs while no controller works.
    async fn delete_unseen(
        &self,
        players: &[Player],
        controllers: &mut [Controller; 2],
    ) -> Result<()> {
        let mut unseen = players
            .iter()
            .filter(|it| it.state.deed == Deed::DeleteUnseen)
            .peekable();
        if unseen.peek().is_none() {
            return Ok(());
        }
        for controller in controllers.iter() {
            controller.kill()?;
        }
        for player in unseen {
            let run = self.run_of(&player.name).await?;
            let deleting = DeleteParams::background();
            self.trials().delete(&run.name_any(), &deleting).await?;
            self.gone(TRIAL, &run.name_any()).await?;
        }
        for controller in controllers {
            controller.restart().await?;
        }
        Ok(())
    }

    /// Returns the one run of a Runnable.
    async fn run_of(&self, name: &str) -> Result<DynamicObject> {
        let run = self.runs(TRIAL, name).await?.pop();
        run.with_context(|| format!("{name} has no run"))
    }
}
