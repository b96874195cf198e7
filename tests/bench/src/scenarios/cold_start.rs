//! A start of a controller on a cluster that has everything already.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::growth;
use crate::{
    command_line::Settings,
    load::Plan,
    measure::{MemoryUse, Start, Subject, mib},
    phase::plan_for,
    preload::Model,
    proc::Process,
    requests,
    site::{Running, Site},
};

/// Share of CPU time below which it counts as quiet.
const QUIET_SHARE: f64 = 0.03;
/// Time that it has to be quiet.
const QUIET_FOR: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(200);
/// Time after which memory counts as settled.
const SETTLE: Duration = Duration::from_secs(8);
/// Maximum time until it is quiet.
const PATIENCE: Duration = Duration::from_mins(5);

/// Starts a controller on this many Runnables with this many finished runs each.
pub(crate) async fn prepared(
    site: &Site,
    settings: &Settings,
    runnables: usize,
    runs_each: usize,
) -> Result<(Running, Start, Plan)> {
    let mut plan = plan_for(site, runnables, runs_each.max(settings.keep.into())).await?;
    plan.active = growth::active(runnables);
    let first = site.run(Subject::Controller, settings).await?;
    let model = Model::learn(site, plan.clone()).await?;
    drop(first);
    let step = site.progress.step(format!(
        "writing {runnables} Runnables and {} finished runs",
        runnables * runs_each
    ));
    model.write(site, &plan, runs_each).await?;
    step.done();
    let step = site.progress.step("starting the controller");
    let (running, start) = start(site, settings, &plan, runs_each).await?;
    step.done();
    site.progress.note(&format!(
        "  quiet after {:.1} s and {:.1} s of CPU; memory {:.1} MiB, at most {:.1} MiB; {} writes, {} runs made",
        start.seconds, start.cpu_seconds, start.memory.settled, start.memory.peak, start.writes, start.creates
    ));
    Ok((running, start, plan))
}

/// Starts a controller and waits until it has nothing left to do.
pub(crate) async fn start(
    site: &Site,
    settings: &Settings,
    plan: &Plan,
    runs_each: usize,
) -> Result<(Running, Start)> {
    let audit = site.cluster.audit().ok();
    let begin = Instant::now();
    let running = site.run(Subject::Controller, settings).await?;
    let busy_until = quiet(running.process).await?;
    running.runs()?;
    let cpu = running.process.cpu()?;
    tokio::time::sleep(SETTLE).await;
    let memory = running.process.memory()?;
    let requests = match &audit {
        Some(log) => requests::counted(log, &running.user, &plan.namespace, 1)?,
        None => Vec::new(),
    };
    let total = |verbs: &[&str]| {
        let counted = requests.iter().filter(|request| {
            verbs.contains(&request.verb.as_str()) && !request.resource.starts_with("events")
        });
        counted.map(|request| request.total).sum()
    };
    let start = Start {
        runnables: plan.runnables,
        runs_each,
        seconds: busy_until.saturating_duration_since(begin).as_secs_f64(),
        cpu_seconds: cpu.as_secs_f64(),
        memory: MemoryUse {
            before: 0.0,
            peak: mib(memory.peak),
            settled: mib(memory.resident),
        },
        writes: total(&["create", "update", "patch", "delete"]),
        creates: total(&["create"]),
        lists: total(&["list"]),
        reads: total(&["get"]),
        requests,
    };
    Ok((running, start))
}

/// Waits until a process uses hardly any CPU time any more; returns when it last did.
async fn quiet(process: Process) -> Result<Instant> {
    let begin = Instant::now();
    let mut busy = begin;
    let mut before = process.cpu()?;
    while busy.elapsed() < QUIET_FOR && begin.elapsed() < PATIENCE {
        let look = Instant::now();
        tokio::time::sleep(LOOK).await;
        let now = process.cpu()?;
        let share = now.saturating_sub(before).as_secs_f64() / look.elapsed().as_secs_f64();
        // A tick is 10 ms: one of them in a look is no work.
        if share > QUIET_SHARE && now.saturating_sub(before) > Duration::from_millis(10) {
            busy = Instant::now();
        }
        before = now;
    }
    Ok(busy)
}
