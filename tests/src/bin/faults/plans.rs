//! Lists plans and carries them out.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use cartouche_tests::{
    cluster::Cluster,
    faults::{
        campaign::{Performed, enumerate, interleaved, perform_all, record_all},
        plan::{Outcome, Plan, Recording},
        scenario::Scenario,
        stage, table,
    },
    repository,
};
use clap::ValueEnum;

use crate::command_line::Which;

type Recordings = BTreeMap<Scenario, Arc<Recording>>;

pub(crate) async fn list(itself: &str, which: &Which) -> Result<ExitCode> {
    let cluster = stage::prepared(itself).await?;
    let (_, plans) = chosen(itself, &cluster, which).await?;
    for plan in &plans {
        println!("{plan}");
    }
    println!("{} plans", plans.len());
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn run(itself: &str, which: &Which, docs: Option<&Path>) -> Result<ExitCode> {
    let begin = Instant::now();
    let cluster = stage::prepared(itself).await?;
    let (recordings, plans) = chosen(itself, &cluster, which).await?;
    let all = plans.len();
    let mut done = 0;
    let tell = |performed: &Performed| {
        done += 1;
        let said = match &performed.outcome {
            Outcome::Held => "held".to_owned(),
            Outcome::Undecidable(name) => format!("undecidable: {name}"),
            Outcome::NotReached => "not reached".to_owned(),
            Outcome::Failed(why) => format!("FAILED\n{why}"),
        };
        println!(
            "{done}/{all} {:.1} s {}: {said}",
            performed.seconds, performed.plan
        );
    };
    let until = which
        .minutes
        .map(|minutes| begin + Duration::from_secs(60 * minutes));
    let plans = interleaved(&plans);
    let at_once = which.at_once;
    let results = perform_all(itself, &cluster, &recordings, plans, at_once, until, tell).await?;
    let page = table::page(&results, all, begin.elapsed());
    println!("{page}");
    if let Some(docs) = docs {
        fs::write(docs, &page).with_context(|| format!("writing {}", docs.display()))?;
    }
    let file = keep(&results)?;
    println!("every plan with its result: {}", file.display());
    let failed = results
        .iter()
        .any(|r| matches!(r.outcome, Outcome::Failed(_)));
    Ok(ExitCode::from(u8::from(failed)))
}

async fn chosen(itself: &str, cluster: &Cluster, which: &Which) -> Result<(Recordings, Vec<Plan>)> {
    let all = Scenario::value_variants();
    let scenarios: &[Scenario] = if which.scenario.is_empty() {
        all
    } else {
        &which.scenario
    };
    let recordings = record_all(itself, cluster, scenarios, which.at_once).await?;
    let named = |plan: &Plan| {
        let text = which.plan.as_deref().unwrap_or_default();
        plan.to_string().contains(text)
    };
    let plans = enumerate(&recordings)
        .into_iter()
        .filter(named)
        .step_by(which.every.max(1))
        .collect();
    Ok((recordings, plans))
}

/// The full list, for programs.
fn keep(results: &[Performed]) -> Result<PathBuf> {
    let folder = repository().join("target/faults");
    fs::create_dir_all(&folder)?;
    let file = folder.join("plans.json");
    fs::write(&file, serde_json::to_string_pretty(results)?)?;
    Ok(file)
}
