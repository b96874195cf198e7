//! Mistakes in reads between Runnables.

use anyhow::Result;
use cartouche_controller::mutants::Mutant;
use cartouche_crds::Runnable;
use cartouche_tests::{
    fault_proxy::Fault,
    faults::{
        plan::quiet,
        scenario::{
            diamond::{BRANCHES, ROOT, follows, from, joins, readers},
            gives, made,
        },
        stage::{APP, Stage},
    },
    lab::{hangs, succeeds},
};
use serde_json::{Value, json};

use super::{Noticed, at, inputs, is_noticed};

/// Returns true if a run waits for others.
fn waits(runnable: &Runnable) -> bool {
    let pending = runnable.status.as_ref().and_then(|it| it.pending.as_ref());
    pending.is_some_and(|pending| pending.reason.starts_with("Dependency"))
}

/// Returns the runs of the last one, if they are not of these values.
async fn ran(stage: &Stage, values: &[i64]) -> Result<Noticed> {
    quiet(stage).await?;
    let mut noticed = stage.record.breaches()?;
    let made = stage.end(APP).await?.made;
    let own = made.iter().filter(|run| run.runnable == APP);
    let ran: Vec<i64> = own.filter_map(|run| run.value).collect();
    if ran != values {
        noticed.push(format!("ran {ran:?} instead of {values:?}"));
    }
    Ok(noticed)
}

/// Makes the root, and these that derive from it; all have run.
async fn settled(stage: &Stage, others: &[(&str, Value)]) -> Result<()> {
    readers(stage).await?;
    stage.runnable(ROOT, inputs(&succeeds(1))).await?;
    for (name, spec) in others {
        stage.runnable(name, spec.clone()).await?;
    }
    let first = |r: &Runnable| made(r, 1) && gives(r, 1, 1);
    stage.until(APP, "an output", first).await?;
    quiet(stage).await
}

#[tokio::test]
async fn an_intent_for_a_remembered_source_is_noticed() -> Result<()> {
    is_noticed(Mutant::SourcesRemembered, |stage| async move {
        readers(&stage).await?;
        let size = |value: i64| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "sizes" },
                "data": { "small": value.to_string() },
            })
        };
        stage.put(size(1)).await?;
        let reference = json!({ "name": "sizes", "key": "small", "as": "JSON" });
        let from = json!([{ "name": "value", "configMapKeyRef": reference }]);
        let spec = json!({ "inputs": { "play": "succeed" }, "inputsFrom": from });
        stage.runnable(APP, spec).await?;
        stage.until(APP, "an output", |r| gives(r, 1, 1)).await?;
        quiet(&stage).await?;
        stage
            .proxy
            .begin(at("event", "configmaps", &[1], Fault::Delay));
        stage.put(size(2)).await?;
        let own = json!({ "play": "succeed", "note": "new" });
        stage.change(APP, own).await?;
        let over = |r: &Runnable| cartouche_tests::fixture::output(r) == Some(2);
        stage.until(APP, "an output", over).await?;
        ran(&stage, &[1, 2]).await
    })
    .await
}

#[tokio::test]
async fn a_run_of_two_states_is_noticed() -> Result<()> {
    is_noticed(Mutant::CoherenceUnchecked, |stage| async move {
        let [one, other] = BRANCHES;
        let all = [(one, follows(ROOT)), (other, follows(ROOT)), (APP, joins())];
        settled(&stage, &all).await?;
        // From now on its runs fail, so that it stays at the first state.
        stage.change(other, json!({ "play": "fail" })).await?;
        stage.until(other, "a run", |r| made(r, 2)).await?;
        quiet(&stage).await?;
        stage.change(ROOT, succeeds(2)).await?;
        let over = |r: &Runnable| waits(r) || made(r, 2);
        stage.until(APP, "a word, or a run", over).await?;
        ran(&stage, &[1]).await
    })
    .await
}

#[tokio::test]
async fn a_ledger_that_does_not_move_on_is_noticed() -> Result<()> {
    is_noticed(Mutant::NeverMovesOn, |stage| async move {
        let [one, other] = BRANCHES;
        // Its input never changes, and its runs are all the same.
        let unaffected = json!({
            "inputs": succeeds(1), "inputsFrom": [from("phase", ROOT, "phase")],
        });
        let last = json!({
            "inputs": { "play": "succeed" },
            "inputsFrom": [from("value", other, "value"), from("other", one, "value")],
        });
        let all = [(one, unaffected), (other, follows(ROOT)), (APP, last)];
        settled(&stage, &all).await?;
        stage.change(ROOT, succeeds(2)).await?;
        let over = |r: &Runnable| waits(r) || made(r, 2);
        stage.until(APP, "a word, or a run", over).await?;
        ran(&stage, &[1, 2]).await
    })
    .await
}

#[tokio::test]
async fn a_run_beside_an_ancestor_that_is_at_work_is_noticed() -> Result<()> {
    is_noticed(Mutant::AncestorsUnasked, |stage| async move {
        let between = BRANCHES[0];
        let all = [(between, follows(ROOT)), (APP, follows(between))];
        settled(&stage, &all).await?;
        stage.change(ROOT, hangs(2)).await?;
        stage.until(ROOT, "a run", |r| made(r, 2)).await?;
        quiet(&stage).await?;
        let own = json!({ "play": "succeed", "note": "new" });
        stage.change(APP, own).await?;
        let over = |r: &Runnable| waits(r) || made(r, 2);
        stage.until(APP, "a word, or a run", over).await?;
        ran(&stage, &[1]).await
    })
    .await
}
