//! The runs of a stage.

use anyhow::Result;
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, PostParams},
};
use serde_json::Value;

use super::stage::{PATIENCE, Stage};
use crate::cluster::{Seen, eventually};

impl Stage {
    /// Returns the API of the Trials of this stage, or of the kind in their place.
    #[must_use]
    pub fn trials(&self) -> Api<DynamicObject> {
        self.objects_of(&self.kind)
    }

    /// Makes an object of the kind of the runs.
    pub async fn trial(&self, object: Value) -> Result<DynamicObject> {
        let object = serde_json::from_value(object)?;
        let trials = self.trials();
        Ok(trials.create(&PostParams::default(), &object).await?)
    }

    /// Deletes a run, as a user with kubectl might.
    pub async fn delete_trial(&self, name: &str) -> Result<()> {
        let (trials, background) = (self.trials(), DeleteParams::background());
        eventually("a run to be deleted", PATIENCE, || async {
            let run = trials.get_opt(name).await?;
            self.record.see(run.as_slice())?;
            match trials.delete(name, &background).await {
                // An earlier delete, whose answer was lost, took effect.
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                other => drop(other?),
            }
            Ok(Seen::Done(()))
        })
        .await
    }

    /// Ends a run that hangs.
    pub async fn finish(&self, run: &DynamicObject, succeeded: bool) -> Result<()> {
        self.end_trial(&self.trials(), run, succeeded).await
    }

    /// Waits until the run with this value exists, and returns it.
    pub async fn sees(&self, value: i64) -> Result<DynamicObject> {
        let trials = self.trials();
        self.run_for(&trials, "carto.run/runnable-name", value)
            .await
    }

    /// Deletes a run and waits until it is gone.
    pub async fn remove_trial(&self, name: &str) -> Result<()> {
        self.delete_trial(name).await?;
        let (cluster, trials) = (&self.cluster, self.trials());
        cluster.wait_until_gone(&trials, name, PATIENCE).await
    }
}
