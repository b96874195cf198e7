//! The measurements: each scenario answers a question.

mod attacks;
mod chain;
mod cold_start;
mod growth;
mod idle;
mod lifecycle;
mod shapes;
mod template_edit;

use std::{fs, time::Duration};

use anyhow::{Context, Result, bail};

pub(crate) use attacks::{Attack, broken};

use crate::{
    command_line::{Command, Settings},
    docs,
    measure::{Measured, Subject, mib},
    phase::{Load, Pattern, compare},
    report,
    site::{Site, machine},
};

/// Time for a controller without work to become quiet.
const SETTLE: Duration = Duration::from_secs(3);

/// Runs a scenario and reports the measurements.
pub(crate) fn run(scenario: &Command, settings: &Settings) -> Result<()> {
    if let Command::Docs { files } = scenario {
        return docs::write(files);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let measured = runtime.block_on(async {
        tokio::select! {
            outcome = measure(scenario, settings) => outcome,
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        }
    })?;
    println!("{}", report::tables(&measured));
    keep(settings, &measured)?;
    let broken: Vec<_> = measured.attacks.iter().filter_map(broken).collect();
    if !broken.is_empty() {
        bail!("{}", broken.join("\n"));
    }
    if let Command::Attacks { attacks } = scenario
        && measured.attacks.len() < attacks.len()
    {
        bail!("not every attack could be measured");
    }
    Ok(())
}

/// Writes all measurements to the file of `--json`, if there is one.
fn keep(settings: &Settings, measured: &Measured) -> Result<()> {
    if let Some(file) = &settings.json {
        let text = serde_json::to_string_pretty(measured)?;
        fs::write(file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

async fn measure(scenario: &Command, settings: &Settings) -> Result<Measured> {
    let mut measured = Measured {
        machine: machine(),
        ..Measured::default()
    };
    match scenario {
        Command::Scale { points, kinds } => {
            for point in points {
                let (start, row) = growth::point(settings, point.runnables, point.runs).await?;
                measured.starts.push(start);
                measured.rows.push(row);
            }
            for &kinds in kinds {
                measured.rows.push(growth::kinds(settings, kinds).await?);
            }
        }
        Command::ColdStart { points } => {
            for point in points {
                let site = Site::prepare(settings).await?;
                let (_, start, _) =
                    cold_start::prepared(&site, settings, point.runnables, point.runs).await?;
                measured.starts.push(start);
            }
        }
        Command::TemplateEdit { runnables } => {
            for &runnables in runnables {
                measured
                    .edits
                    .push(template_edit::edit(settings, runnables).await?);
            }
        }
        Command::Lifecycle { runnables } => {
            for &runnables in runnables {
                measured
                    .held
                    .extend(lifecycle::both(settings, runnables).await?);
            }
        }
        Command::Chain { chains } => {
            measured
                .chains
                .extend(chain::both(settings, *chains).await?);
        }
        Command::Idle { point, minutes } => {
            let seconds = minutes * 60;
            let idle = idle::idle(settings, point.runnables, point.runs, seconds).await?;
            measured.idle.push(idle);
        }
        Command::Attacks { attacks } => {
            for attack in attacks {
                match attacks::attacked(settings, *attack).await {
                    Ok(one) => {
                        measured.attacks.push(one);
                        // Each takes minutes: those that were measured outlive an interruption.
                        keep(settings, &measured)?;
                    }
                    Err(error) => eprintln!("warning: {}: {error:#}", attack.title()),
                }
            }
        }
        Command::Shapes { requests } => {
            measured.shapes = shapes::shapes(settings, *requests).await?;
        }
        _ => compared(scenario, settings, &mut measured).await?,
    }
    Ok(measured)
}

/// Runs the scenarios in which the references take turns with the controller.
async fn compared(scenario: &Command, settings: &Settings, into: &mut Measured) -> Result<()> {
    let site = Site::prepare(settings).await?;
    let controller = site.run(Subject::Controller, settings).await?;
    tokio::time::sleep(SETTLE).await;
    controller.runs()?;
    let idle = mib(controller.process.memory()?.resident);
    site.progress.note(&format!(
        "memory of the controller before any Runnable: {idle:.1} MiB"
    ));
    into.idle_mib = Some(idle);
    for load in loads(scenario, settings) {
        into.rows
            .extend(compare(&site, &controller, settings, &load).await?);
    }
    Ok(())
}

fn loads(scenario: &Command, settings: &Settings) -> Vec<Load> {
    let load = |name: &str, runnables: usize, pattern: Pattern| Load {
        scenario: name.to_owned(),
        runnables,
        pattern,
        seconds: Duration::from_secs(settings.seconds),
        earlier: settings.earlier,
        lasts: Duration::from_millis(settings.lasts),
        perf: settings.perf.clone(),
    };
    let each = |name: &str, runnables: &[usize], pattern: Pattern| {
        let loads = runnables.iter().map(|&count| load(name, count, pattern));
        loads.collect()
    };
    match scenario {
        Command::Alone => vec![load("alone", 1, Pattern::Sequential)],
        Command::Together { runnables } => each("together", runnables, Pattern::Rounds),
        Command::Load { runnables, rate } => {
            let pattern = rate.map_or(Pattern::Closed, Pattern::Rate);
            each("load", runnables, pattern)
        }
        _ => Vec::new(),
    }
}
