//! Two releases with different hashes at the same time.

use super::*;

#[tokio::test]
async fn a_number_of_another_release_that_is_given_up_at_once_is_noticed() -> Result<()> {
    is_noticed(Mutant::OtherReleaseSuperseded, |mut stage| async move {
        stage.begin_as("next").await?;
        let trials = "trials.lab.test";
        stage.proxy.begin(at("create", trials, &[1], Fault::Late));
        let second = stage.second_of_this_release().await?;
        // It wakes up when the other one has given a number, whose create is on its way.
        second.pause()?;
        stage.runnable(APP, inputs(&succeeds(1))).await?;
        let is_intended = |r: &Runnable| {
            let status = r.status.as_ref();
            let current = status.and_then(|status| status.current_run.as_ref());
            current.is_some_and(|run| run.input_hash.starts_with("v2:") && run.uid.is_none())
        };
        stage.until(APP, "an intent", is_intended).await?;
        second.resume()?;
        stage
            .until(APP, "an output", |r| output(r) == Some(1))
            .await?;
        // The late create has arrived by then.
        tokio::time::sleep(2 * cartouche_tests::fault_proxy::LATE).await;
        noticed(&stage, &[1]).await
    })
    .await
}
