//! A Runnable that reads two others, which stem from one, by a short way and by a long one, while two controllers are killed
//! by turns.

use std::{env, time::Duration};

use anyhow::{Context, Result};
use cartouche_tests::{fixture::objects::text, kind::RUNNABLE};
use serde_json::{Value, json};
use tokio::{
    select,
    time::{Instant, sleep},
};

use crate::{
    engine::{TRIAL, succeeds, template},
    restart::Chance,
    scene::Scene,
};

/// How many times the first input changes: few, unless this variable says how many.
const CHANGES: (&str, i64) = ("CHAIN_CHANGES", 12);
/// How many Runnables the long way has from its beginning to its end.
const LENGTH: (&str, i64) = ("CHAIN_LENGTH", 4);
/// The Runnable that all others stem from, and the one that stems from all others.
const FIRST: &str = "link-1";
const SHORT: &str = "short";
const LAST: &str = "last";

fn asked((variable, few): (&str, i64)) -> Result<i64> {
    match env::var(variable) {
        Ok(asked) => asked
            .parse()
            .with_context(|| format!("{variable} is no number")),
        Err(_) => Ok(few),
    }
}

/// The output of another Runnable, as this input.
fn from(name: &str, of: &str) -> Value {
    json!({ "name": name, "runnableRef": { "name": of, "output": "value" } })
}

/// Runs that show the values of both ways.
fn joins() -> Value {
    let mut template = template(TRIAL);
    template["template"]["spec"]["other"] = json!("$(runnable.spec.inputs.other)$");
    template
}

async fn links(scene: &Scene, length: i64) -> Result<()> {
    let rights = [TRIAL.rights_of_a_runnable(), RUNNABLE.rights(&["get"])];
    scene.cluster.grant(&scene.account, &rights).await?;
    let reads = |sources: Value| json!({ "inputs": { "play": "succeed" }, "inputsFrom": sources });
    scene.runnable(FIRST, succeeds(0)).await?;
    for number in 2..=length {
        let before = format!("link-{}", number - 1);
        let sources = json!([from("value", &before)]);
        scene
            .runnable_with(&format!("link-{number}"), reads(sources))
            .await?;
    }
    let sources = json!([from("value", FIRST)]);
    scene.runnable_with(SHORT, reads(sources)).await?;
    let joins_both = format!("{}-joins", scene.namespace);
    scene.template_named(&joins_both, joins()).await?;
    let long = format!("link-{length}");
    let mut last = reads(json!([from("value", SHORT), from("other", &long)]));
    last["runTemplateRef"] = json!({ "name": joins_both });
    scene.runnable_with(LAST, last).await.map(drop)
}

/// The values of both ways in the runs of the last one, in the order of their numbers.
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
