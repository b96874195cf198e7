//! Attacks of tenants and strangers on a controller, and through it on others: each ten at once, at the
//! permitted size.

mod ground;
mod heavy;
mod loops;
mod many;

use std::{
    future::Future,
    time::{Duration, Instant},
};

use anyhow::Result;
use clap::ValueEnum;
use tokio::task::JoinSet;

use super::{SETTLE, template_edit};
use crate::{
    command_line::Settings,
    load::{Field, paced},
    measure::{Attacked, Subject, float, mib},
    phase::cpu_seconds,
    site::Site,
};
use ground::Ground;

/// Number of each sort.
const AT_ONCE: usize = 10;
/// Time between the beginning and the measurement at rest; the long one is for attacks where very many
/// objects are read for the first time.
const AFTERMATH: Duration = Duration::from_secs(20);
const LONG_AFTERMATH: Duration = Duration::from_secs(90);
/// Maximum memory of the controller, in MiB: half of its shipped limit.
const MOST_MIB: f64 = 256.0;
/// Maximum factor by which others may wait longer than before; for the slowest of them, than where the
/// attacker is not served.
const MOST_DELAY: f64 = 2.0;

/// An attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attack {
    /// Runnables that read 8 objects, which just fit together.
    ObjectsThatFit,
    /// The same beside a `ConfigMap` that they read, too, and that changes 50 times a second.
    SourcesThatChange,
    /// Runnables that read 8 objects of 1 MB, maps in each other.
    Objects,
    /// The same with 32 objects.
    ManyObjects,
    /// Those 32 objects alone, which no Runnable reads: the share of the API server.
    ObjectsAlone,
    /// Runnables that read 32 inputs out of JSON in a `ConfigMap`, which just fit together, and those that
    /// read 1 MB of it.
    Texts,
    /// Runnables that read 32 inputs out of 1 MB of numbers in a `ConfigMap`, and are annotated 50 times a second.
    TextsThatChange,
    /// Runnables and `ConfigMap`s with 1 MB of short labels.
    Labels,
    /// Suspended Runnables with inputs that just fit.
    InputsThatFit,
    /// Suspended Runnables with 1 MB of inputs, maps in each other.
    Inputs,
    /// The same while the attacker watches them, and writes the status of the first one while the others are
    /// made: the API server's share of one such write and one such watch.
    InputsWritten,
    /// The inputs hidden in a text, behind a key with a special meaning in a library; and 300 Runnables with
    /// 15 KB of it.
    Hidden,
    /// Runnables whose run has 1,000 containers, each of which gets the additions of a profile to all.
    Stars,
    /// 1,500 Runnables that name 32 missing Secrets each.
    Secrets,
    /// 1,500 connections to the port of metrics and health, with heads that do not end.
    Heads,
    /// Templates that render the permitted maximum, and templates that render far more.
    Templates,
    /// Runs that give the permitted maximum, and runs that give far more.
    Outputs,
    /// Runs of 1 MB, maps in each other, that give none of it.
    Runs,
    /// Pairs of Runnables that wait for approval, and read each other's version.
    PairsThatWait,
    /// Pairs of Runnables that wait for a run, and read each other's version.
    PairsAtWork,
    /// Runs that are refused, beside a `ConfigMap` that changes 50 times a second.
    Refused,
    /// The same where the change is rendered.
    RefusedAnew,
    /// 200 Runnables that wait for approval, with 50 changes a second.
    Events,
}

impl Attack {
    /// Begins the attack. Its continuous part runs in `tasks`.
    async fn begin(self, ground: &Ground<'_>, tasks: &mut JoinSet<Result<()>>) -> Result<()> {
        match self {
            Self::ObjectsThatFit => heavy::sources(ground, 8, heavy::FITTING / 8).await,
            Self::SourcesThatChange => heavy::sources_that_change(ground, tasks).await,
            Self::Objects => heavy::sources(ground, 8, heavy::MEGABYTE).await,
            Self::ManyObjects => heavy::sources(ground, 32, heavy::MEGABYTE).await,
            Self::ObjectsAlone => heavy::objects(ground, 32, heavy::MEGABYTE).await,
            Self::Texts => heavy::texts(ground).await,
            Self::TextsThatChange => heavy::texts_that_change(ground, tasks).await,
            Self::InputsWritten => heavy::inputs_written(ground, tasks).await,
            Self::Labels => heavy::labels(ground).await,
            Self::InputsThatFit => heavy::inputs(ground, heavy::FITTING).await,
            Self::Inputs => heavy::inputs(ground, heavy::MEGABYTE).await,
            Self::Hidden => heavy::hidden(ground).await,
            Self::Stars => many::stars(ground).await,
            Self::Templates => heavy::templates(ground).await,
            Self::Outputs => heavy::outputs(ground).await,
            Self::Runs => heavy::runs(ground).await,
            Self::Secrets => many::secrets(ground).await,
            Self::Heads => many::heads(ground, tasks),
            Self::Events => many::events(ground, tasks).await,
            Self::PairsThatWait => loops::pairs_that_wait(ground).await,
            Self::PairsAtWork => loops::pairs_at_work(ground).await,
            Self::Refused => loops::refused(ground, tasks, "fixed").await,
            Self::RefusedAnew => loops::refused(ground, tasks, "count").await,
        }
    }

    /// Returns an attack that is as much work for an API server, and needs no controller that serves the
    /// attacker, because it makes no runs.
    fn alone(self) -> Option<Self> {
        match self {
            Self::Outputs | Self::Runs => Some(Self::ObjectsAlone),
            Self::Inputs => Some(Self::InputsWritten),
            Self::PairsAtWork => None,
            other => Some(other),
        }
    }

    fn aftermath(self) -> Duration {
        match self {
            Self::Secrets => LONG_AFTERMATH,
            _ => AFTERMATH,
        }
    }

    pub(crate) fn title(self) -> String {
        let value = self.to_possible_value();
        let value = value.as_ref();
        let help = value.and_then(|it| it.get_help()).map(ToString::to_string);
        let name = value.map(clap::builder::PossibleValue::get_name);
        let help = help.unwrap_or_default();
        format!("`{}`: {help}", name.unwrap_or_default())
    }
}

/// Returns the factor by which the slowest of others wait longer than before the attack, or than beside a
/// controller that does not serve the attacker.
fn slowest(it: &Attacked) -> f64 {
    let unserved = it.unserved.as_ref().map_or(0.0, |unserved| unserved.p95);
    it.beginning.p95.max(it.at_rest.p95) / it.before.p95.max(unserved).max(0.001)
}

/// Returns the bounds that an attack exceeded, if any.
pub(crate) fn broken(it: &Attacked) -> Option<String> {
    let slower = (it.beginning.p50.max(it.at_rest.p50)) / it.before.p50.max(0.001);
    let slowest = slowest(it);
    let mut said = Vec::new();
    if it.memory_peak >= MOST_MIB {
        said.push(format!("{:.0} MiB", it.memory_peak));
    }
    if slower > MOST_DELAY {
        said.push(format!("others wait {slower:.1} times as long"));
    }
    if slowest > MOST_DELAY {
        said.push(format!(
            "the slowest of others wait {slowest:.1} times as long"
        ));
    }
    (!said.is_empty()).then(|| format!("{} ({})", it.attack, said.join(", ")))
}

/// Measures a controller on a cluster of its own that serves others while it is attacked. Where others
/// waited, it also measures one that does not serve the attacker.
pub(crate) async fn attacked(settings: &Settings, attack: Attack) -> Result<Attacked> {
    let mut attacked = played(settings, attack, true).await?;
    if slowest(&attacked) > MOST_DELAY
        && let Some(alone) = attack.alone()
    {
        let unserved = played(settings, alone, false).await?;
        attacked.unserved = Some(unserved.beginning);
    }
    Ok(attacked)
}

/// Plays an attack on a controller that serves all, or others alone.
async fn played(settings: &Settings, attack: Attack, serves_all: bool) -> Result<Attacked> {
    let site = Site::prepare(settings).await?;
    let mut settings = settings.clone();
    let mut others = template_edit::unsown_others(&site, settings.keep.into()).await?;
    if !serves_all {
        let only = ["--namespace".to_owned(), others.plan.namespace.clone()];
        settings.args.extend(only);
    }
    let controller = site.run(Subject::Controller, &settings).await?;
    others.sow().await?;
    tokio::time::sleep(SETTLE).await;
    let measured = Duration::from_secs(settings.seconds);
    others.board.take_tally();
    paced(&mut others, template_edit::RATE, measured).await?;
    let before = others.board.take_tally().change_to_run.quantiles();
    let memory_before = mib(controller.process.memory()?.peak);

    let ground = Ground::prepare(&site, &controller, &others.plan.namespace).await?;
    let mut tasks = JoinSet::new();
    let step = site.progress.step(attack.title());
    let begin = Instant::now();
    meanwhile(&mut others, attack.begin(&ground, &mut tasks)).await??;
    let began_in = begin.elapsed().as_secs_f64();
    meanwhile(&mut others, tokio::time::sleep(attack.aftermath())).await?;
    let beginning = others.board.take_tally().change_to_run.quantiles();

    let audit = site.cluster.audit()?;
    let (rest, cpu) = (Instant::now(), cpu_seconds(controller.process)?);
    meanwhile(&mut others, tokio::time::sleep(measured)).await?;
    let seconds = rest.elapsed().as_secs_f64();
    let cpu = (cpu_seconds(controller.process)? - cpu) / seconds;
    step.done();
    controller.runs()?;
    if let Some(ended) = tasks.try_join_next() {
        ended??;
    }
    let requests = ground.requests(&audit)?;
    let writes = requests.iter().filter(|it| ground::is_status_write(it));
    let a_second = |count: usize| float(count as u64) / seconds;
    Ok(Attacked {
        attack: attack.title(),
        memory_before,
        memory_peak: mib(controller.process.memory()?.peak),
        began_in,
        seconds,
        requests: a_second(requests.len()),
        status_writes: a_second(writes.count()),
        cpu,
        before,
        beginning,
        at_rest: others.board.take_tally().change_to_run.quantiles(),
        unserved: None,
    })
}

/// Changes Runnables of others until `until` has ended.
async fn meanwhile<T>(others: &mut Field, until: impl Future<Output = T>) -> Result<T> {
    let ended = {
        let change = async {
            loop {
                if let Err(error) = paced(others, template_edit::RATE, Duration::from_secs(1)).await
                {
                    return error;
                }
            }
        };
        tokio::select! {
            ended = until => ended,
            error = change => return Err(error),
        }
    };
    others.all_answered().await?;
    Ok(ended)
}
