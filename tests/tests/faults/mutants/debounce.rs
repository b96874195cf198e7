//! A mistake in the debounce.

use anyhow::Result;
use cartouche_controller::mutants::Mutant;
use cartouche_crds::Runnable;
use cartouche_tests::{
    faults::{plan::quiet, scenario::made, stage::APP},
    fixture::condition,
    lab::succeeds,
};
use serde_json::json;

use super::is_noticed;

#[tokio::test]
async fn a_change_that_runs_before_it_has_settled_is_noticed() -> Result<()> {
    is_noticed(Mutant::NeverSettles, |stage| async move {
        let spec = json!({ "inputs": succeeds(1), "start": { "debounce": "1h" } });
        stage.runnable(APP, spec).await?;
        let settles =
            |r: &Runnable| condition(r, "Ready").is_some_and(|it| it.reason == "Debouncing");
        let over = |r: &Runnable| settles(r) || made(r, 1);
        stage.until(APP, "a word, or a run", over).await?;
        quiet(&stage).await?;
        let made = stage.end(APP).await?.made.len();
        let noticed = (made > 0).then(|| "it ran before it had settled".to_owned());
        Ok(noticed.into_iter().collect())
    })
    .await
}
