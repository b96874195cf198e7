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
        minutes::{self, Minutes, Waited},
        plan::{Outcome, Plan, Recording},
        scenario::Scenario,
        stage, table,
    },
    repository,
};
use clap::ValueEnum;
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use crate::command_line::Which;

type Recordings = BTreeMap<Scenario, Arc<Recording>>;

pub(crate) async fn list(itself: &str, which: &Which) -> Result<ExitCode> {
    let cluster = stage::prepared(itself).await?;
    let (_, plans) = chosen(itself, &cluster, which).await?;
    for plan in &plans {
        println!("{plan}");
    }
    println!("{} plans", plans.len());
    for what in long(which) {
        println!("{}: {}", what.name(), what.told());
    }
    Ok(ExitCode::SUCCESS)
}

/// Selection among the chosen plans, after an earlier campaign.
pub(crate) enum Scope {
    /// All of them.
    All,
    /// Those that failed then.
    Failed(Campaign),
    /// Those that were not carried out then.
    Rest(Campaign),
}

/// Results of a campaign.
#[derive(Serialize, Deserialize)]
pub(crate) struct Campaign {
    /// Number of plans to choose from.
    all: usize,
    /// Duration in seconds.
    seconds: u64,
    plans: Vec<Performed>,
    /// Results of the faults that last minutes.
    #[serde(default)]
    long: Vec<Waited>,
}

impl Campaign {
    fn failed(&self) -> impl Iterator<Item = &Performed> {
        let failed = |result: &&Performed| matches!(result.outcome, Outcome::Failed(_));
        self.plans.iter().filter(failed)
    }

    fn failed_long(&self) -> impl Iterator<Item = &Waited> {
        let failed = |result: &&Waited| matches!(result.outcome, Outcome::Failed(_));
        self.long.iter().filter(failed)
    }

    /// Replaces results of the same plans by later ones, and adds the others.
    fn with(mut self, later: Self) -> Self {
        for result in later.plans {
            self.plans.retain(|earlier| earlier.plan != result.plan);
            self.plans.push(result);
        }
        self.plans.sort_by(|a, b| a.plan.cmp(&b.plan));
        for result in later.long {
            self.long.retain(|earlier| earlier.what != result.what);
            self.long.push(result);
        }
        self.long.sort_by_key(|result| result.what);
        self.seconds += later.seconds;
        self
    }
}

pub(crate) async fn run(
    itself: &str,
    which: &Which,
    docs: Option<&Path>,
    scope: Scope,
) -> Result<ExitCode> {
    let begin = Instant::now();
    let cluster = stage::prepared(itself).await?;
    let (recordings, mut plans) = chosen(itself, &cluster, which).await?;
    let mut long = long(which);
    match &scope {
        Scope::All => {}
        Scope::Failed(earlier) => {
            plans = earlier.failed().map(|result| result.plan.clone()).collect();
            long = earlier.failed_long().map(|result| result.what).collect();
        }
        Scope::Rest(earlier) => {
            plans.retain(|plan| earlier.plans.iter().all(|result| result.plan != *plan));
            long.retain(|what| earlier.long.iter().all(|result| result.what != *what));
        }
    }
    let all = plans.len();
    let mut done = 0;
    let tell = |performed: &Performed| {
        done += 1;
        let said = said(&performed.outcome);
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
    let (plans, long) = tokio::try_join!(
        perform_all(itself, &cluster, &recordings, plans, at_once, until, tell),
        wait_all(itself, &cluster, &long),
    )?;
    let mut campaign = Campaign {
        all,
        seconds: begin.elapsed().as_secs(),
        plans,
        long,
    };
    match scope {
        Scope::All => {}
        Scope::Failed(earlier) => campaign = earlier.with(campaign),
        Scope::Rest(mut earlier) => {
            earlier.all = earlier.plans.len() + all;
            campaign = earlier.with(campaign);
        }
    }
    let took = Duration::from_secs(campaign.seconds);
    let page = table::page(&campaign.plans, campaign.all, &campaign.long, took);
    println!("{page}");
    if let Some(docs) = docs {
        fs::write(docs, &page).with_context(|| format!("writing {}", docs.display()))?;
    }
    let file = keep(&campaign)?;
    println!("every plan with its result: {}", file.display());
    let failed = campaign.failed().next().is_some() || campaign.failed_long().next().is_some();
    Ok(ExitCode::from(u8::from(failed)))
}

/// Returns the faults that last minutes, if they are selected.
fn long(which: &Which) -> Vec<Minutes> {
    let all = Minutes::value_variants().iter().copied();
    all.filter(|_| which.has_long()).collect()
}

/// Plays all of them at the same time, because they mostly wait.
async fn wait_all(itself: &str, cluster: &Cluster, all: &[Minutes]) -> Result<Vec<Waited>> {
    let waiting = all.iter().map(|what| async {
        let waited = minutes::wait(itself, cluster, *what).await?;
        let said = said(&waited.outcome);
        println!("{} s {}: {said}", waited.seconds, what.name());
        anyhow::Ok(waited)
    });
    try_join_all(waiting).await
}

fn said(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Held => "held".to_owned(),
        Outcome::Undecidable(name) => format!("undecidable: {name}"),
        Outcome::NotReached => "not reached".to_owned(),
        Outcome::Failed(why) => format!("FAILED\n{why}"),
    }
}

async fn chosen(itself: &str, cluster: &Cluster, which: &Which) -> Result<(Recordings, Vec<Plan>)> {
    let all: &[Scenario] = if which.long {
        &[]
    } else {
        Scenario::value_variants()
    };
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

fn file() -> PathBuf {
    repository().join("target/faults/plans.json")
}

/// Keeps the full list, for other programs and for `--again` and `--rest`.
fn keep(campaign: &Campaign) -> Result<PathBuf> {
    let file = file();
    fs::create_dir_all(repository().join("target/faults"))?;
    fs::write(&file, serde_json::to_string_pretty(campaign)?)?;
    Ok(file)
}

/// Reads the campaign that was kept last.
pub(crate) fn kept() -> Result<Campaign> {
    let file = file();
    let text = fs::read_to_string(&file)
        .with_context(|| format!("reading {}: was there a campaign before?", file.display()))?;
    Ok(serde_json::from_str(&text)?)
}
