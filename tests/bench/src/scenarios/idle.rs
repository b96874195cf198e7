//! A controller without work, and its restart.

use std::time::Duration;

use anyhow::Result;

use super::cold_start;
use crate::{command_line::Settings, measure::Idle, phase::cpu_seconds, requests, site::Site};

/// Leaves a controller alone for this many seconds: longer than a watch lives, so that it looks again.
pub(crate) async fn idle(
    settings: &Settings,
    runnables: usize,
    runs_each: usize,
    seconds: u64,
) -> Result<Idle> {
    let site = Site::prepare(settings).await?;
    let (controller, _, plan) = cold_start::prepared(&site, settings, runnables, runs_each).await?;
    let audit = site.cluster.audit().ok();
    let cpu = cpu_seconds(controller.process)?;
    let step = site.progress.step(format!("waiting {seconds} s"));
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    step.done();
    let spent = cpu_seconds(controller.process)? - cpu;
    let requests = match &audit {
        Some(log) => requests::counted(log, &controller.user, &plan.namespace, 1)?,
        None => Vec::new(),
    };
    let reading = ["get", "list", "watch"];
    let writes = requests
        .iter()
        .filter(|request| !reading.contains(&request.verb.as_str()))
        .map(|request| request.total)
        .sum();
    drop(controller);
    let step = site.progress.step("starting the controller again");
    let (_controller, restart) = cold_start::start(&site, settings, &plan, runs_each).await?;
    step.done();
    Ok(Idle {
        runnables,
        runs_each,
        seconds: Duration::from_secs(seconds).as_secs_f64(),
        cpu_seconds: spent,
        writes,
        requests,
        restart,
    })
}
