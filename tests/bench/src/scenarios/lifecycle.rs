//! Many Runnables whose runs wait for each other, or fail and are retried, while others go on.

use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::template_edit::{self, RATE};
use crate::{
    api::{self, Happening},
    command_line::Settings,
    kinds::RunKind,
    load::{Field, SeenRun, paced, warm_up},
    measure::{Held, Subject, float, mib},
    phase::{cpu_seconds, plan_for},
    requests,
    site::Site,
};

/// Duration of a run under `LatestOnly`.
const LASTS: Duration = Duration::from_mins(1);
/// Interval between changes of each Runnable.
const EVERY: Duration = Duration::from_secs(10);
/// Duration of the changes.
const CHANGES_FOR: Duration = Duration::from_mins(3);
/// Number of runs of each change that fail.
const FAILURES: usize = 2;

/// Policy of a template.
struct Case {
    what: &'static str,
    spec: Value,
    lasts: Duration,
    failures: usize,
}

/// Measures both, each on a cluster of its own.
pub(crate) async fn both(settings: &Settings, runnables: usize) -> Result<Vec<Held>> {
    let latest = Case {
        what: "LatestOnly: runs last a minute, inputs change every 10 s for 3 minutes",
        spec: json!({ "concurrencyPolicy": "LatestOnly" }),
        lasts: LASTS,
        failures: 0,
    };
    let backoff = json!({ "initial": "10s", "factor": 2 });
    let retried = Case {
        what: "retry: every Runnable changes once, two runs of it fail, pauses of about 10 s and 20 s",
        spec: json!({ "retry": { "limit": FAILURES, "backoff": backoff } }),
        lasts: Duration::ZERO,
        failures: FAILURES,
    };
    Ok(vec![
        held(settings, runnables, latest).await?,
        held(settings, runnables, retried).await?,
    ])
}

async fn held(settings: &Settings, runnables: usize, case: Case) -> Result<Held> {
    let site = Site::prepare(settings).await?;
    let controller = site.run(Subject::Controller, settings).await?;
    let (mut field, mut others) = fields(&site, settings, runnables, &case).await?;
    let seen = observe(&field).await?;
    others.board.take_tally();
    let audit = site.cluster.audit().ok();
    let before = mib(controller.process.memory()?.resident);
    let cpu = cpu_seconds(controller.process)?;
    let step = site.progress.step(case.what);
    let begin = Instant::now();
    let load = async {
        match case.failures {
            0 => {
                let rate = float(runnables as u64) / EVERY.as_secs_f64();
                paced(&mut field, rate, CHANGES_FOR).await.map(drop)
            }
            _ => warm_up(&mut field, 1).await,
        }
    };
    tokio::select! {
        done = load => done?,
        ended = meanwhile(&mut others) => match ended? {},
    }
    let seconds = begin.elapsed().as_secs_f64();
    others.all_answered().await?;
    step.done();
    controller.runs()?;
    let spent = cpu_seconds(controller.process)? - cpu;
    let tally = others.board.take_tally();
    let changes = (0..runnables).map(|index| field.board.latest(index)).sum();
    let (runs, at_once) = {
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        (seen.known.len(), seen.at_once)
    };
    let all = runs + tally.answered();
    Ok(Held {
        what: case.what.to_owned(),
        runnables,
        changes,
        runs,
        all_runs: all,
        at_once,
        losses: field.losses().await?,
        seconds,
        others_change_to_run: tally.change_to_run.quantiles(),
        others_change_to_output: tally.change_to_output.quantiles(),
        cpu_ms_per_run: spent * 1000.0 / float(all.max(1) as u64),
        memory_before: before,
        memory_peak: mib(controller.process.memory()?.peak),
        requests: match &audit {
            Some(log) => requests::counted(log, &controller.user, &field.plan.namespace, all)?,
            None => Vec::new(),
        },
    })
}

/// Makes the measured Runnables, and those beside them, each with its first outputs.
async fn fields(
    site: &Site,
    settings: &Settings,
    runnables: usize,
    case: &Case,
) -> Result<(Field, Field)> {
    let mut template = RunKind::number(0).template("held", "first");
    if let (Some(spec), Some(asked)) = (template["spec"].as_object_mut(), case.spec.as_object()) {
        spec.extend(asked.clone());
    }
    let path = "/apis/carto.run/v1alpha1/clusterruntemplates";
    api::ensure(&site.client(), path, &template).await?;
    let mut plan = plan_for(site, runnables, settings.keep.into()).await?;
    for (_, template) in &mut plan.kinds {
        "held".clone_into(template);
    }
    (plan.lasts, plan.failures) = (case.lasts, case.failures);
    let step = site
        .progress
        .step(format!("the first runs of {runnables} Runnables"));
    let mut field = Field::new(site.client(), plan).await?;
    field.sow().await?;
    step.done();
    Ok((
        field,
        template_edit::others(site, settings.keep.into()).await?,
    ))
}

/// Changes other Runnables for ever.
async fn meanwhile(others: &mut Field) -> Result<Infallible> {
    loop {
        paced(others, RATE, Duration::from_secs(1)).await?;
    }
}

/// The runs that a watch has shown.
#[derive(Default)]
struct Seen {
    known: HashSet<String>,
    at_work: HashMap<usize, HashSet<String>>,
    /// Maximum number of runs of one Runnable at the same time.
    at_once: usize,
}

async fn observe(field: &Field) -> Result<Arc<Mutex<Seen>>> {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let (kind, _) = field.plan.kinds.first().context("no kind of runs")?;
    let path = kind.path(&field.plan.namespace);
    let version = api::version(&field.client, &path).await?;
    let shown = seen.clone();
    let show = move |happening, run: SeenRun| {
        let Some((index, _)) = run.marked() else {
            return;
        };
        let mut seen = shown.lock().unwrap_or_else(PoisonError::into_inner);
        let at_work = seen.at_work.entry(index).or_default();
        if happening == Happening::Gone || run.has_ended() {
            at_work.remove(run.uid());
            return;
        }
        at_work.insert(run.uid().to_owned());
        seen.at_once = seen.at_once.max(seen.at_work[&index].len());
        seen.known.insert(run.uid().to_owned());
    };
    tokio::spawn(api::watch(field.client.clone(), path, "", version, show));
    Ok(seen)
}
