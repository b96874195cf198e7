//! Chains of Runnables: a Runnable that reads two others, which derive from one, by a short way and by a long
//! one, while two controllers are killed by turns; one that is killed between two links; and many changes,
//! one after the other.

use std::{collections::BTreeMap, env, time::Duration};

use anyhow::{Context, Result, ensure};
use cartouche_crds::Runnable;
use cartouche_tests::{
    fixture::objects::{name_of, text},
    kind::RUNNABLE,
};
use serde_json::{Value, json};
use tokio::{
    select,
    time::{Instant, sleep},
};

use crate::{
    engine::{TRIAL, succeeds, template},
    oracle::Made,
    restart::Chance,
    scene::Scene,
    sight::output,
};

/// Number of changes of the first input: few, unless this variable is set.
const CHANGES: (&str, i64) = ("CHAIN_CHANGES", 12);
/// Number of Runnables on the long way from its beginning to its end.
const LENGTH: (&str, i64) = ("CHAIN_LENGTH", 4);
/// The same for the test in which each change is awaited and nothing is killed.
const STEADY_CHANGES: (&str, i64) = ("STEADY_CHANGES", 20);
const STEADY_LENGTH: (&str, i64) = ("STEADY_LENGTH", 5);
/// The source of all others, and the Runnable that derives from all others.
const FIRST: &str = "link-1";
const SHORT: &str = "short";
const LAST: &str = "last";

pub fn asked((variable, few): (&str, i64)) -> Result<i64> {
    match env::var(variable) {
        Ok(asked) => asked
            .parse()
            .with_context(|| format!("{variable} is no number")),
        Err(_) => Ok(few),
    }
}

/// Returns the output of another Runnable, as this input.
fn from(name: &str, of: &str) -> Value {
    json!({ "name": name, "runnableRef": { "name": of, "output": "value" } })
}

/// Returns a template whose runs show the values of both ways.
fn joins() -> Value {
    let mut template = template(TRIAL);
    template["template"]["spec"]["other"] = json!("$(runnable.spec.inputs.other)$");
    template
}

fn link(number: i64) -> String {
    format!("link-{number}")
}

fn reads(sources: &Value) -> Value {
    json!({ "inputs": { "play": "succeed" }, "inputsFrom": sources })
}

/// Makes this many Runnables, of which each reads the previous one.
async fn line(scene: &Scene, length: i64) -> Result<()> {
    let rights = [TRIAL.rights_of_a_runnable(), RUNNABLE.rights(&["get"])];
    scene.cluster.grant(&scene.account, &rights).await?;
    scene.runnable(FIRST, succeeds(0)).await?;
    for number in 2..=length {
        let sources = json!([from("value", &link(number - 1))]);
        scene.runnable_with(&link(number), reads(&sources)).await?;
    }
    Ok(())
}

async fn links(scene: &Scene, length: i64) -> Result<()> {
    line(scene, length).await?;
    let sources = json!([from("value", FIRST)]);
    scene.runnable_with(SHORT, reads(&sources)).await?;
    let joins_both = format!("{}-joins", scene.namespace);
    scene.template_named(&joins_both, joins()).await?;
    let mut last = reads(&json!([from("value", SHORT), from("other", &link(length))]));
    last["runTemplateRef"] = json!({ "name": joins_both });
    scene.runnable_with(LAST, last).await.map(drop)
}

/// Returns the values of both ways in the runs of the last one, in the order of their numbers.
fn joined(scene: &Scene) -> Result<Vec<(i64, i64)>> {
    let number = |run: &Value| {
        let number = text(&run["metadata"]["labels"]["carto.run/run-sequence"]);
        number.parse::<i64>().unwrap_or_default()
    };
    let mut runs = scene.chronicle.made()?;
    runs.retain(|run| text(&run["metadata"]["labels"]["carto.run/runnable-name"]) == LAST);
    runs.sort_by_key(number);
    let value = |run: &Value, field: &str| run["spec"][field].as_i64().unwrap_or(-1);
    Ok(runs
        .iter()
        .map(|run| (value(run, "value"), value(run, "other")))
        .collect())
}

#[tokio::test]
async fn what_stems_from_one_change_by_two_ways_runs_once_for_it_while_controllers_are_killed()
-> Result<()> {
    let (changes, length) = (asked(CHANGES)?, asked(LENGTH)?);
    let scene = Scene::begin("chain").await?;
    let mut controllers = [scene.controller(&[]).await?, scene.controller(&[]).await?];
    links(&scene, length).await?;
    scene.gives(LAST, 0).await?;

    let (mut chance, mut kills, begin) = (Chance::new()?, 0, Instant::now());
    let changing = async {
        for value in 1..=changes {
            scene.change(FIRST, succeeds(value)).await?;
            // Every fifth is followed by the next before it has come to the end.
            if value % 5 == 0 && value < changes {
                scene.sees(FIRST, value).await?;
            } else {
                scene.sees(LAST, value).await?;
            }
        }
        anyhow::Ok(())
    };
    let killing = async {
        loop {
            for controller in &mut controllers {
                sleep(Duration::from_millis(200)).await;
                chance.moment(800).await;
                controller.restart().await?;
                kills += 1;
            }
        }
    };
    let done: Result<()> = select! {
        end = changing => end,
        end = killing => end,
    };
    done?;
    scene.gives(LAST, changes).await?;

    let ran = joined(&scene)?;
    let took = begin.elapsed().as_secs();
    println!(
        "{changes} changes by {length} links, {kills} kills, {} runs of the last in {took} s",
        ran.len()
    );
    let (values, others): (Vec<i64>, Vec<i64>) = ran.into_iter().unzip();
    assert_eq!(values, others, "a run is made of two states");
    assert!(values.is_sorted_by(|a, b| a < b), "{values:?}");
    let waited_for = (0..=changes).filter(|it| *it == 0 || it % 5 != 0 || *it == changes);
    let missing: Vec<i64> = waited_for.filter(|it| !values.contains(it)).collect();
    assert_eq!(missing, Vec::<i64>::new(), "changes without a run");
    for name in [FIRST, SHORT, LAST] {
        scene.outputs_only_went_forward(name)?;
    }
    scene.nothing_twice()
}

/// The API server's record of a line, read on as it grows: by the end of many changes it is too much to judge
/// at once.
#[derive(Default)]
struct Record {
    /// Numbers and values of the runs, by Runnable, in the order of their creation.
    made: BTreeMap<String, Vec<(i64, i64)>>,
    /// The number of the run whose outputs a Runnable has.
    gives: BTreeMap<String, i64>,
}

impl Record {
    fn read_on(&mut self, scene: &Scene) -> Result<()> {
        for event in scene.chronicle.news()? {
            let Some(object) = event
                .response_object
                .as_ref()
                .filter(|_| event.took_effect())
            else {
                continue;
            };
            if event.verb == "create" && event.resource() == TRIAL.audited() {
                let run = Made::of(object);
                let made = (run.sequence, run.value.unwrap_or(-1));
                self.made.entry(run.runnable).or_default().push(made);
            } else if event.resource() == format!("{}/status", RUNNABLE.audited()) {
                let from = object.pointer("/status/outputsFrom/sequence");
                let from = from.and_then(Value::as_i64).unwrap_or_default();
                let name = name_of(object);
                let before = self.gives.insert(name.to_owned(), from);
                ensure!(
                    before <= Some(from),
                    "{name}: outputs went back from {before:?} to {from}"
                );
            }
        }
        Ok(())
    }
}

#[tokio::test]
async fn each_of_many_changes_runs_once_in_each_link() -> Result<()> {
    let (changes, length) = (asked(STEADY_CHANGES)?, asked(STEADY_LENGTH)?);
    let scene = Scene::begin("steady").await?;
    let _controller = scene.controller(&[]).await?;
    line(&scene, length).await?;
    let (last, mut record) = (link(length), Record::default());
    scene.gives(&last, 0).await?;
    let begin = Instant::now();
    for value in 1..=changes {
        scene.change(FIRST, succeeds(value)).await?;
        scene.gives(&last, value).await?;
        record.read_on(&scene)?;
    }
    let took = begin.elapsed().as_secs();
    // Every controller with something to make has made it by then.
    sleep(Duration::from_secs(2)).await;
    record.read_on(&scene)?;
    let runs: Vec<usize> = record.made.values().map(Vec::len).collect();
    println!("{changes} changes by {length} links in {took} s: {runs:?} runs with the first");
    assert_eq!(i64::try_from(record.made.len())?, length);
    let all: Vec<(i64, i64)> = (0..=changes).map(|value| (value + 1, value)).collect();
    for (link, made) in &record.made {
        assert_eq!(*made, all, "{link}");
    }
    Ok(())
}

/// Makes a branch whose run hangs until the test ends it.
async fn branch_that_hangs(scene: &Scene, name: &str) -> Result<()> {
    let mut spec = reads(&json!([from("value", FIRST)]));
    spec["inputs"]["play"] = json!("hang");
    scene.runnable_with(name, spec).await.map(drop)
}

async fn ends(scene: &Scene, branch: &str, value: i64) -> Result<()> {
    let run = scene.sees(branch, value).await?;
    scene.end(&run, true).await
}

#[tokio::test]
async fn a_controller_that_dies_between_a_branch_and_the_join_makes_one_run_of_the_join()
-> Result<()> {
    let scene = Scene::begin("between").await?;
    let mut controller = scene.controller(&[]).await?;
    line(&scene, 1).await?;
    for branch in ["b", "c"] {
        branch_that_hangs(&scene, branch).await?;
    }
    let joins_both = format!("{}-joins", scene.namespace);
    scene.template_named(&joins_both, joins()).await?;
    let mut last = reads(&json!([from("value", "b"), from("other", "c")]));
    last["runTemplateRef"] = json!({ "name": joins_both });
    scene.runnable_with(LAST, last).await?;
    for branch in ["b", "c"] {
        ends(&scene, branch, 0).await?;
    }
    scene.gives(LAST, 0).await?;

    // Both have ended unseen.
    scene.change(FIRST, succeeds(1)).await?;
    scene.sees("b", 1).await?;
    scene.sees("c", 1).await?;
    controller.kill()?;
    for branch in ["b", "c"] {
        ends(&scene, branch, 1).await?;
    }
    controller.restart().await?;
    scene.gives(LAST, 1).await?;
    // One is known to have ended, and the other is at work.
    scene.change(FIRST, succeeds(2)).await?;
    scene.sees("c", 2).await?;
    ends(&scene, "b", 2).await?;
    scene.gives("b", 2).await?;
    controller.kill()?;
    ends(&scene, "c", 2).await?;
    controller.restart().await?;
    scene.gives(LAST, 2).await?;
    // All that the join waits for is known, and there is no controller to make its run.
    scene.change(FIRST, succeeds(3)).await?;
    ends(&scene, "b", 3).await?;
    scene.gives("b", 3).await?;
    ends(&scene, "c", 3).await?;
    let c_has_ended = |r: &Runnable| output(r) == Some(3);
    scene.until("c", "its output", c_has_ended).await?;
    controller.kill()?;
    controller.restart().await?;
    scene.gives(LAST, 3).await?;
    assert_eq!(joined(&scene)?, [(0, 0), (1, 1), (2, 2), (3, 3)]);
    scene.nothing_twice()
}
