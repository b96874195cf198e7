//! One template is edited under many Runnables, while others go on.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::cold_start;
use crate::{
    api::{self, Happening},
    command_line::Settings,
    kinds::RunKind,
    load::{Field, Plan, SeenRun, SeenRunnable, paced},
    measure::{Edit, Latencies, float, mib},
    phase::{cpu_seconds, plan_for},
    requests,
    site::Site,
};

/// Runnables of another template, which change meanwhile.
const OTHERS: usize = 10;
/// Changes of them per second.
pub(super) const RATE: f64 = 5.0;
const MARK: &str = "second";
/// Time without any further output after which no more are awaited.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Default)]
struct Progress {
    /// Number of runs with the new mark, of each Runnable.
    runs: HashMap<usize, u32>,
    /// Time at which the outputs of each Runnable had the new mark.
    outputs: HashMap<usize, Instant>,
}

/// Edits the template of this many Runnables.
pub(crate) async fn edit(settings: &Settings, runnables: usize) -> Result<Edit> {
    let site = Site::prepare(settings).await?;
    let (controller, start, plan) = cold_start::prepared(&site, settings, runnables, 1).await?;
    let field = Field::new(site.client(), plan.clone()).await?;
    field.adopt();
    let mut others = others(&site, settings.keep.into()).await?;
    let progress = observe(&site, &plan).await?;
    others.board.take_tally();

    let audit = site.cluster.audit().ok();
    let cpu = cpu_seconds(controller.process)?;
    let step = site
        .progress
        .step(format!("the template of {runnables} Runnables is edited"));
    let begin = Instant::now();
    let body = json!({ "spec": { "template": { "spec": { "mark": MARK } } } });
    let path = "/apis/carto.run/v1alpha1/clusterruntemplates/bench";
    api::send::<Value>(&site.client(), "PATCH", path, &body).await?;
    let (done, meanwhile) = tokio::join!(
        all_restamped(&progress, runnables),
        meanwhile(&mut others, &progress, runnables)
    );
    let last = done?;
    meanwhile?;
    step.done();
    let seconds = last.saturating_duration_since(begin).as_secs_f64();
    let spent = cpu_seconds(controller.process)? - cpu;
    let found = progress.lock().unwrap_or_else(PoisonError::into_inner);
    let mut latencies = Latencies::default();
    found
        .outputs
        .values()
        .for_each(|at| latencies.record(begin, *at));
    let tally = others.board.take_tally();
    let runs = found.outputs.len();
    let both = runs + tally.answered();
    Ok(Edit {
        runnables,
        seconds,
        runs_per_second: float(runs as u64) / seconds.max(0.001),
        all_runs_per_second: float(both as u64) / seconds.max(0.001),
        edit_to_output: latencies.quantiles(),
        others_change_to_run: tally.change_to_run.quantiles(),
        others_change_to_output: tally.change_to_output.quantiles(),
        duplicates: found
            .runs
            .values()
            .map(|&runs| u64::from(runs.saturating_sub(1)))
            .sum(),
        losses: (runnables - runs.min(runnables)) as u64,
        cpu_ms_per_run: spent * 1000.0 / float(both.max(1) as u64),
        memory_before: start.memory.settled,
        memory_peak: mib(controller.process.memory()?.peak),
        requests: match &audit {
            Some(log) => requests::counted(log, &controller.user, &plan.namespace, both)?,
            None => Vec::new(),
        },
    })
}

/// Makes the other Runnables, which have run.
pub(super) async fn others(site: &Site, keep: usize) -> Result<Field> {
    let mut field = unsown_others(site, keep).await?;
    field.sow().await?;
    Ok(field)
}

/// Makes the namespace of others, without a Runnable yet.
pub(super) async fn unsown_others(site: &Site, keep: usize) -> Result<Field> {
    site.template(&RunKind::number(0), "others").await?;
    let mut plan = plan_for(site, OTHERS, keep).await?;
    plan.active = OTHERS;
    for (_, template) in &mut plan.kinds {
        "others".clone_into(template);
    }
    Field::new(site.client(), plan).await
}

/// Observes the new mark in runs and in outputs.
async fn observe(site: &Site, plan: &Plan) -> Result<Arc<Mutex<Progress>>> {
    let progress = Arc::new(Mutex::new(Progress::default()));
    let client = site.client();
    let (kind, _) = plan.kinds.first().context("no kind of runs")?;
    let path = kind.path(&plan.namespace);
    let version = api::version(&client, &path).await?;
    let seen = progress.clone();
    let mut known = std::collections::HashSet::new();
    let show = move |happening, run: SeenRun| {
        let Some((index, MARK)) = run.marked() else {
            return;
        };
        if happening == Happening::There && known.insert(run.uid().to_owned()) {
            let mut progress = seen.lock().unwrap_or_else(PoisonError::into_inner);
            *progress.runs.entry(index).or_default() += 1;
        }
    };
    tokio::spawn(api::watch(client.clone(), path, "", version, show));
    let version = api::version(&client, &plan.path()).await?;
    let seen = progress.clone();
    let show = move |_, runnable: SeenRunnable| {
        if let Some((index, MARK)) = runnable.marked() {
            let mut progress = seen.lock().unwrap_or_else(PoisonError::into_inner);
            progress.outputs.entry(index).or_insert_with(Instant::now);
        }
    };
    tokio::spawn(api::watch(client, plan.path(), "", version, show));
    Ok(progress)
}

fn restamped(progress: &Mutex<Progress>) -> usize {
    let progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
    progress.outputs.len()
}

/// Waits until every Runnable has the outputs of its new run; returns the time of the last one.
async fn all_restamped(progress: &Mutex<Progress>, runnables: usize) -> Result<Instant> {
    let (mut before, mut last) = (0, Instant::now());
    loop {
        let now = restamped(progress);
        if now >= runnables {
            return Ok(Instant::now());
        }
        if now > before {
            (before, last) = (now, Instant::now());
        }
        if last.elapsed() > PATIENCE {
            bail!("only {now} of {runnables} Runnables have the outputs of the edited template");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Changes other Runnables until then.
async fn meanwhile(others: &mut Field, progress: &Mutex<Progress>, runnables: usize) -> Result<()> {
    while restamped(progress) < runnables {
        paced(others, RATE, Duration::from_secs(1)).await?;
    }
    Ok(())
}
