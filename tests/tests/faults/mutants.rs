//! Deliberate mistakes, switched on in the controller: each must be noticed in the API server's record, and
//! without it there must be nothing to notice.

mod approval;
mod chain;
mod concurrency;
mod debounce;
mod lifecycle;
mod releases;

use anyhow::{Result, bail};
use cartouche_controller::mutants::Mutant;
use cartouche_crds::Runnable;
use cartouche_tests::{
    cluster::{Seen, eventually},
    fault_proxy::{Call, Fault},
    faults::{
        plan::quiet,
        scenario::{gives, made, rejected},
        stage::{APP, PATIENCE, Stage},
    },
    fixture::{condition, output},
    lab::{self, TRIAL, fails, hangs, succeeds},
};
use clap::ValueEnum;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::{DEMO, cluster};

/// Noticed breaches; empty if all is well.
type Noticed = Vec<String>;

/// Makes a stage with this mistake, or without one.
async fn stage(mutant: Option<Mutant>) -> Result<Stage> {
    let mut stage = Stage::set(DEMO, &cluster().await?, "mutant").await?;
    let name = mutant.and_then(|mutant| mutant.to_possible_value());
    stage.mistaken(name.as_ref().map(clap::builder::PossibleValue::get_name));
    stage.start_controller().await?;
    Ok(stage)
}

/// Breaks the n-th request, or event, of a sort.
fn at(
    verb: &str,
    resource: &str,
    numbers: &[usize],
    fault: Fault,
) -> cartouche_tests::fault_proxy::Chooser {
    let (wanted, numbers) = (Call::new(verb, resource), numbers.to_vec());
    Box::new(move |call, number| (*call == wanted && numbers.contains(&number)).then_some(fault))
}

/// Plays a scene with the mistake and without it.
async fn is_noticed<Play, Playing>(mutant: Mutant, play: Play) -> Result<()>
where
    Play: Fn(Stage) -> Playing,
    Playing: Future<Output = Result<Noticed>>,
{
    let (healthy, mistaken) = tokio::try_join!(
        Box::pin(async { play(stage(None).await?).await }),
        Box::pin(async { play(stage(Some(mutant)).await?).await }),
    )?;
    println!("{mutant:?}: {mistaken:?}");
    if !healthy.is_empty() {
        bail!("without the mistake: {}", healthy.join("; "));
    }
    if mistaken.is_empty() {
        bail!("{mutant:?} was not noticed");
    }
    Ok(())
}

/// Returns the breaches of the protocol in the record, and the values that were run, if they are not these.
async fn noticed(stage: &Stage, values: &[i64]) -> Result<Noticed> {
    quiet(stage).await?;
    let mut noticed = stage.record.breaches()?;
    let made = stage.end(APP).await?.made;
    let ran: Vec<i64> = made.iter().filter_map(|run| run.value).collect();
    if ran != values {
        noticed.push(format!("ran {ran:?} instead of {values:?}"));
    }
    Ok(noticed)
}

/// Waits until the controller has tried to write this many statuses, or to make a run.
async fn writes_or_runs(stage: &Stage, writes: usize) -> Result<()> {
    let what = "the controller to write, or to make a run";
    eventually(what, PATIENCE, || async {
        let calls = stage.proxy.calls();
        let count = |call: &str| {
            let asked = calls.iter().filter(|asked| asked.call.to_string() == call);
            asked.count()
        };
        let written = count("update runnables.carto.run/status");
        Ok(
            if written >= writes || count("create trials.lab.test") > 0 {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{written} writes"))
            },
        )
    })
    .await
}

fn inputs(inputs: &Value) -> Value {
    json!({ "inputs": inputs })
}

fn conflicts(runnable: &Runnable) -> bool {
    let conditions = runnable.status.iter().flat_map(|status| &status.conditions);
    conditions
        .into_iter()
        .any(|condition| condition.reason == "NameConflict")
}

fn ready_says(runnable: &Runnable, text: &str) -> bool {
    condition(runnable, "Ready").is_some_and(|ready| ready.message.contains(text))
}

#[tokio::test]
async fn a_status_written_over_what_another_controller_wrote_is_noticed() -> Result<()> {
    is_noticed(Mutant::NoPrecondition, |stage| async move {
        stage.runnable(APP, inputs(&succeeds(1))).await?;
        stage.until(APP, "an output", |r| gives(r, 1, 1)).await?;
        let second = stage.second_controller().await?;
        quiet(&stage).await?;
        // The first controller sleeps while the second serves two changes. When it wakes up, it sees nothing
        // of the runs, which would make it read the Runnable again, and only the first change of the
        // Runnable. Then the second sleeps, so that it cannot correct the first.
        let mut gate = at("event", "runnables.carto.run", &[1, 2], Fault::Gate);
        let mut silence = at("event", "trials.lab.test", &[1], Fault::Silence);
        let both = Box::new(move |call: &Call, number| {
            gate(call, number).or_else(|| silence(call, number))
        });
        stage.proxy.begin(both);
        stage.pause_controller().await?;
        for value in 2..=3 {
            stage.change(APP, succeeds(value)).await?;
            let over = |r: &Runnable| gives(r, value, value);
            stage.until(APP, "an output", over).await?;
        }
        stage.proxy.let_pass();
        second.pause()?;
        stage.resume_controller().await?;
        writes_or_runs(&stage, 2).await?;
        second.resume()?;
        stage.proxy.let_pass();
        noticed(&stage, &[1, 2, 3]).await
    })
    .await
}

#[tokio::test]
async fn deleting_young_runs_is_noticed() -> Result<()> {
    is_noticed(Mutant::NoMinimumAge, |stage| async move {
        let mut spec = inputs(&succeeds(1));
        spec["retentionPolicy"] = json!({ "maxFailedRuns": 1, "maxSuccessfulRuns": 1 });
        stage.runnable(APP, spec).await?;
        for value in 1..=3 {
            stage.change(APP, succeeds(value)).await?;
            stage
                .until(APP, "an output", |r| gives(r, value, value))
                .await?;
        }
        quiet(&stage).await?;
        let deleted = stage.record.deleted()?;
        Ok((deleted > 0)
            .then(|| format!("{deleted} young runs were deleted"))
            .into_iter()
            .collect())
    })
    .await
}

#[tokio::test]
async fn a_name_made_of_the_hash_is_noticed_when_inputs_go_back() -> Result<()> {
    is_noticed(Mutant::NameOfHash, |stage| async move {
        stage.runnable(APP, inputs(&succeeds(1))).await?;
        stage.until(APP, "an output", |r| gives(r, 1, 1)).await?;
        stage.change(APP, succeeds(2)).await?;
        stage.until(APP, "an output", |r| gives(r, 2, 2)).await?;
        stage.change(APP, succeeds(1)).await?;
        let over = |r: &Runnable| gives(r, 3, 1) || conflicts(r);
        stage
            .until(APP, "the third run, or a name that is taken", over)
            .await?;
        noticed(&stage, &[1, 2, 1]).await
    })
    .await
}

#[tokio::test]
async fn a_name_that_the_server_chooses_is_noticed_when_an_answer_is_lost() -> Result<()> {
    is_noticed(Mutant::GenerateNameOnly, |stage| async move {
        let fault = at("create", "trials.lab.test", &[1], Fault::LostReply);
        stage.proxy.begin(fault);
        stage.runnable(APP, inputs(&succeeds(1))).await?;
        stage
            .until(APP, "an output", |r| output(r) == Some(1))
            .await?;
        noticed(&stage, &[1]).await
    })
    .await
}

#[tokio::test]
async fn a_run_without_an_intent_is_noticed() -> Result<()> {
    is_noticed(Mutant::NoIntent, |stage| async move {
        stage.runnable(APP, inputs(&succeeds(1))).await?;
        stage.until(APP, "an output", |r| gives(r, 1, 1)).await?;
        noticed(&stage, &[1]).await
    })
    .await
}

#[tokio::test]
async fn an_intent_for_a_stale_template_is_noticed() -> Result<()> {
    is_noticed(Mutant::StaleTemplate, |stage| async move {
        stage.runnable(APP, inputs(&succeeds(1))).await?;
        stage.until(APP, "an output", |r| gives(r, 1, 1)).await?;
        quiet(&stage).await?;
        let templates = "clusterruntemplates.carto.run";
        stage
            .proxy
            .begin(at("event", templates, &[1], Fault::Delay));
        let mut template = lab::template(TRIAL);
        template["template"]["spec"]["note"] = json!("new");
        stage.template(template).await?;
        stage.change(APP, succeeds(2)).await?;
        stage
            .until(APP, "an output", |r| output(r) == Some(2))
            .await?;
        noticed(&stage, &[1, 2]).await
    })
    .await
}

#[tokio::test]
async fn taking_a_strangers_object_for_ones_own_is_noticed() -> Result<()> {
    is_noticed(Mutant::AdoptUnchecked, |stage| async move {
        let mut template = lab::template(TRIAL);
        template["template"]["metadata"] = json!({ "name": "fixed" });
        stage.template(template).await?;
        let stranger = json!({
            "apiVersion": "lab.test/v1", "kind": "Trial",
            "metadata": { "name": "fixed" }, "spec": succeeds(99),
        });
        stage.trial(stranger).await?;
        stage.runnable(APP, inputs(&succeeds(1))).await?;
        let over = |r: &Runnable| rejected(r) || output(r).is_some();
        let end = stage.until(APP, "a refusal, or an output", over).await?;
        Ok(output(&end)
            .map(|value| format!("a stranger's object gave the output {value}"))
            .into_iter()
            .collect())
    })
    .await
}

#[tokio::test]
async fn outputs_of_the_run_that_ended_last_are_noticed() -> Result<()> {
    is_noticed(Mutant::OutputsByTime, |stage| async move {
        stage.runnable(APP, inputs(&succeeds(1))).await?;
        stage.until(APP, "an output", |r| gives(r, 1, 1)).await?;
        stage.change(APP, hangs(2)).await?;
        stage.until(APP, "a run", |r| made(r, 2)).await?;
        let between = stage.sees(2).await?;
        stage.change(APP, succeeds(3)).await?;
        stage.until(APP, "an output", |r| gives(r, 3, 3)).await?;
        stage.finish(&between, true).await?;
        let ended = |r: &Runnable| {
            let mut history = r.status.iter().flat_map(|status| status.history.iter());
            history.all(|entry| entry.result.is_some())
        };
        let end = stage.until(APP, "the end of the second run", ended).await?;
        let mut noticed = noticed(&stage, &[1, 2, 3]).await?;
        if output(&end) != Some(3) {
            noticed.push(format!("the output is {:?}", output(&end)));
        }
        Ok(noticed)
    })
    .await
}

#[tokio::test]
async fn a_create_sent_again_without_a_look_at_the_ledger_is_noticed() -> Result<()> {
    is_noticed(Mutant::PostRetried, |stage| async move {
        let trials = "trials.lab.test";
        stage
            .proxy
            .begin(at("create", trials, &[1], Fault::Unavailable));
        stage.runnable(APP, inputs(&succeeds(1))).await?;
        stage.until(APP, "an output", |r| gives(r, 1, 1)).await?;
        let mut sent = 0;
        let mut noticed = noticed(&stage, &[1]).await?;
        for counted in stage.proxy.calls() {
            match counted.call.to_string().as_str() {
                "create trials.lab.test" => sent += 1,
                "get runnables.carto.run" | "update runnables.carto.run/status" => sent = 0,
                _ => {}
            }
            if sent > 1 {
                noticed.push("a create was sent twice for one reading of the ledger".to_owned());
            }
        }
        Ok(noticed)
    })
    .await
}

#[tokio::test]
async fn giving_up_on_a_name_that_is_taken_is_noticed_when_an_answer_is_lost() -> Result<()> {
    is_noticed(Mutant::TakenIsTheEnd, |stage| async move {
        let fault = at("create", "trials.lab.test", &[1], Fault::LostReply);
        stage.proxy.begin(fault);
        stage.runnable(APP, inputs(&fails(1))).await?;
        let stuck = |r: &Runnable| ready_says(r, "existed already");
        let over = |r: &Runnable| made(r, 1) || stuck(r);
        let end = stage
            .until(APP, "a run, or a word about its name", over)
            .await?;
        Ok(stuck(&end)
            .then(|| format!("{} is stuck on its own run", end.name_any()))
            .into_iter()
            .collect())
    })
    .await
}

#[test]
fn every_mistake_has_its_scene() {
    let scenes = [
        include_str!("mutants.rs"),
        include_str!("mutants/approval.rs"),
        include_str!("mutants/chain.rs"),
        include_str!("mutants/concurrency.rs"),
        include_str!("mutants/debounce.rs"),
        include_str!("mutants/lifecycle.rs"),
        include_str!("mutants/releases.rs"),
    ];
    // A pace and a flood show over minutes only: `mistakes_on_purpose_are_found` of the simulation plays
    // them.
    let simulated = [Mutant::WordsAtOnce, Mutant::FloodFirst];
    for mutant in Mutant::value_variants() {
        if simulated.contains(mutant) {
            continue;
        }
        let played = format!("is_noticed(Mutant::{mutant:?},");
        let is_played = scenes.iter().any(|scenes| scenes.contains(&played));
        assert!(is_played, "{mutant:?} is never played");
    }
}
