//! The API server and etcd die in the middle of every scenario.

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_oracle::Sight;
use cartouche_tests::{
    cluster::Cluster,
    control_plane::Part,
    faults::{
        campaign::record_all,
        record::End,
        scenario::{Scenario, Undecided},
        stage::{self, APP, PATIENCE, Stage},
    },
};
use clap::ValueEnum;
use futures::future::try_join_all;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::DEMO;

/// Returns the comparable part of an end. A killed server may not have logged everything, so `made` and
/// `deleted` are left out. The existing objects show the made runs, because these scenarios delete none
/// without a number. A deleted run leaves the history with the next write, at any time.
fn in_objects(end: &End) -> End {
    let mut end = End {
        made: Vec::new(),
        deleted: 0,
        ..end.clone()
    };
    let exist: Vec<i64> = end.exist.iter().map(|run| run.sequence).collect();
    let exists = |entry: &Value| {
        let sequence = entry["sequence"].as_i64();
        sequence.is_some_and(|sequence| exist.contains(&sequence))
    };
    end.history.retain(exists);
    end
}

async fn play(stage: &Stage, scenario: Scenario, expected: &End) -> Result<Option<Undecided>> {
    scenario.act(stage).await?;
    let begin = Instant::now();
    let (mut found, mut since) = (End::default(), Instant::now());
    loop {
        sleep(Duration::from_millis(300)).await;
        if let Ok(end) = stage.end(APP).await {
            if in_objects(&end) != in_objects(&found) {
                since = Instant::now();
            }
            found = end;
        }
        let over = in_objects(&found) == in_objects(expected);
        let undecidable = scenario.undecidable(&found).filter(|_| !over);
        if (over || undecidable.is_some()) && since.elapsed() > Duration::from_secs(3) {
            println!(
                "{}: {}",
                scenario.name(),
                undecidable.map_or("as ever", |undecided| undecided.name)
            );
            return Ok(undecidable);
        }
        ensure!(
            begin.elapsed() < PATIENCE,
            "{} ended with {found:#?} instead of {expected:#?}",
            scenario.name()
        );
    }
}

#[tokio::test]
async fn every_scenario_ends_as_ever_when_the_api_server_and_etcd_die_in_its_middle() -> Result<()>
{
    let cluster = stage::prepared(DEMO).await?;
    let scenarios = Scenario::value_variants();
    let recordings = record_all(DEMO, &cluster, scenarios, 6).await?;
    let stages = scenarios.iter().map(|scenario| async {
        let stage = scenario.set(DEMO, &cluster, "servers").await?;
        scenario.prepare(&stage).await?;
        anyhow::Ok((*scenario, stage))
    });
    let stages = try_join_all(stages).await?;
    let playing = stages
        .iter()
        .map(|(scenario, stage)| play(stage, *scenario, &recordings[scenario].end));
    let (ends, ()) = tokio::try_join!(try_join_all(playing), die(&cluster))?;
    for ((scenario, stage), undecided) in stages.iter().zip(ends) {
        let twice = undecided.and_then(|undecided| undecided.twice);
        let breaches = stage.record.breaches_of(Sight::Torn, twice)?;
        ensure!(breaches.is_empty(), "{}: {breaches:?}", scenario.name());
    }
    Ok(())
}

/// Kills each server three times, at moments that fall into different steps.
async fn die(cluster: &Cluster) -> Result<()> {
    let plane = cluster.control_plane()?;
    for (pause, part) in [
        (150, Part::ApiServer),
        (400, Part::Etcd),
        (700, Part::ApiServer),
        (1000, Part::Etcd),
        (2500, Part::ApiServer),
        (4000, Part::Etcd),
    ] {
        sleep(Duration::from_millis(pause)).await;
        plane.restart(part).await?;
    }
    Ok(())
}
