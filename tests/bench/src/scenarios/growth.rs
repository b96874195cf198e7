//! Growth of cost with Runnables, with finished runs, and with kinds.

use std::time::Duration;

use anyhow::Result;

use super::cold_start;
use crate::{
    command_line::Settings,
    kinds::RunKind,
    load::Field,
    measure::{Row, Start, Subject, mib},
    phase::{Load, Pattern, plan_for, under_load},
    site::Site,
};

/// Number of Runnables that change, each again as soon as its outputs have arrived.
const ACTIVE: usize = 100;
/// Runnables of each kind in a measurement of many kinds.
const RUNNABLES_OF_A_KIND: usize = 2;

/// Measures one point: this many Runnables with this many finished runs each.
pub(crate) async fn point(
    settings: &Settings,
    runnables: usize,
    runs_each: usize,
) -> Result<(Start, Row)> {
    let site = Site::prepare(settings).await?;
    let (controller, start, plan) =
        cold_start::prepared(&site, settings, runnables, runs_each).await?;
    let mut field = Field::new(site.client(), plan).await?;
    field.adopt();
    let load = Load {
        scenario: "scale".to_owned(),
        runnables,
        pattern: Pattern::Closed,
        seconds: Duration::from_secs(settings.seconds),
        earlier: settings.earlier,
        lasts: Duration::from_millis(settings.lasts),
        perf: settings.perf.clone(),
    };
    let step = site.progress.step(format!(
        "{ACTIVE} of {runnables} Runnables with {runs_each} runs each are changed"
    ));
    let sum = under_load(&site, &controller, &load, &mut field).await?;
    step.done();
    let mut row = sum.row(&load, Subject::Controller);
    row.runs_each = runs_each;
    row.memory.before = start.memory.settled;
    Ok((start, row))
}

/// Measures one point: runs of this many kinds.
pub(crate) async fn kinds(settings: &Settings, kinds: usize) -> Result<Row> {
    let site = Site::prepare(settings).await?;
    let all: Vec<RunKind> = (0..kinds).map(RunKind::number).collect();
    let step = site.progress.step(format!("installing {kinds} kinds"));
    site.install_kinds(&all, true).await?;
    site.cluster.definitions_served().await?;
    let mut templates = Vec::new();
    for kind in all {
        let name = format!("bench-{}", kind.plural);
        site.template(&kind, &name).await?;
        templates.push((kind, name));
    }
    step.done();
    let controller = site.run(Subject::Controller, settings).await?;
    let runnables = (kinds * RUNNABLES_OF_A_KIND).max(ACTIVE);
    let mut plan = plan_for(&site, runnables, settings.keep.into()).await?;
    plan.kinds = templates;
    plan.active = runnables;
    let before = controller.process.memory()?;
    let mut field = Field::new(site.client(), plan).await?;
    field.sow().await?;
    let load = Load {
        scenario: "kinds".to_owned(),
        runnables,
        pattern: Pattern::Closed,
        seconds: Duration::from_secs(settings.seconds),
        earlier: settings.earlier,
        lasts: Duration::from_millis(settings.lasts),
        perf: settings.perf.clone(),
    };
    let step = site.progress.step(format!(
        "{runnables} Runnables with runs of {kinds} kinds are changed"
    ));
    let sum = under_load(&site, &controller, &load, &mut field).await?;
    step.done();
    let mut row = sum.row(&load, Subject::Controller);
    row.kinds = kinds;
    row.memory.before = mib(before.resident);
    Ok(row)
}

/// Returns the number of Runnables of a plan that change.
pub(super) fn active(runnables: usize) -> usize {
    runnables.min(ACTIVE)
}
