//! One measurement: a subject under one load, on fresh Runnables.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use crate::{
    kinds::{RUNNABLE_GROUP, RunKind},
    load::{self, Field, Plan, Tally},
    measure::{CpuPerRun, MemoryUse, RequestCount, Row, Subject, float, mib, millis},
    proc::Process,
    requests,
    site::{Running, Site},
};

/// Time after the last output whose work belongs to the measured runs.
const AFTERMATH: Duration = Duration::from_secs(1);

/// Pattern of changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pattern {
    Sequential,
    Rounds,
    Closed,
    Rate(f64),
}

/// The load of a measurement.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) scenario: String,
    pub(crate) runnables: usize,
    pub(crate) pattern: Pattern,
    pub(crate) seconds: Duration,
    /// Number of earlier runs of each Runnable.
    pub(crate) earlier: u8,
    /// Duration of a run.
    pub(crate) lasts: Duration,
    /// File for a profile of the controller.
    pub(crate) perf: Option<PathBuf>,
}

/// All measurements of one subject under one load, over all its turns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    tally: Tally,
    busy: Duration,
    losses: u64,
    cpu: Cpu,
    memory: MemoryUse,
    requests: Vec<RequestCount>,
}

/// Cost: CPU time in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    own: f64,
    api_server: Option<f64>,
    etcd: Option<f64>,
    generator: f64,
    /// Memory that the API server has allocated, in KiB.
    allocated: Option<f64>,
}

/// Returns the CPU time of a process so far, in seconds.
pub(crate) fn cpu_seconds(process: Process) -> Result<f64> {
    Ok(process.cpu()?.as_secs_f64())
}

impl Cpu {
    async fn now(site: &Site, process: Process) -> Result<Self> {
        let (api_server, etcd) = site.server_cpu();
        Ok(Self {
            own: millis(process.cpu()?),
            api_server,
            etcd,
            generator: millis(Process::own().cpu()?),
            allocated: site.allocated().await.ok().map(|bytes| bytes / 1024.0),
        })
    }

    fn since(self, before: Self) -> Self {
        let minus = |now: Option<f64>, before: Option<f64>| Some(now? - before?);
        Self {
            own: self.own - before.own,
            api_server: minus(self.api_server, before.api_server),
            etcd: minus(self.etcd, before.etcd),
            generator: self.generator - before.generator,
            allocated: minus(self.allocated, before.allocated),
        }
    }

    fn plus(self, other: Self) -> Self {
        let plus = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (None, other) => other,
            (one, None) => one,
            (Some(one), Some(other)) => Some(one + other),
        };
        Self {
            own: self.own + other.own,
            api_server: plus(self.api_server, other.api_server),
            etcd: plus(self.etcd, other.etcd),
            generator: self.generator + other.generator,
            allocated: plus(self.allocated, other.allocated),
        }
    }
}

/// Puts a subject under load once.
pub(crate) async fn measure(
    site: &Site,
    running: &Running,
    load: &Load,
    keep: usize,
) -> Result<Sum> {
    let progress = site.progress;
    let what = format!(
        "{}: {} Runnables, {}",
        load.scenario,
        load.runnables,
        running.subject.title()
    );
    let step = progress.step(what.clone());
    let mut field = field(site, running, load, keep).await?;
    let before = running.process.memory()?;
    let outcome = match field.sow().await.context("making Runnables") {
        Ok(()) => match load::warm_up(&mut field, load.earlier).await {
            Ok(()) => under_load(site, running, load, &mut field).await,
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    let sum = match outcome {
        Ok(sum) => sum,
        Err(error) => {
            running.runs()?;
            let log = running
                .log()
                .map(|log| cartouche_tests::control_plane::log_tail(log, 20));
            return Err(error.context(format!("{what}\n{}", log.unwrap_or_default())));
        }
    };
    field.clear().await?;
    step.done();
    let speed = float(sum.tally.answered() as u64) / sum.busy.as_secs_f64();
    progress.note(&format!(
        "  {speed:.1} runs a second, change to run {:.1} ms (median), {:.2} ms of CPU a run",
        sum.tally.change_to_run.quantiles().p50,
        sum.cpu.own / float(sum.tally.answered().max(1) as u64)
    ));
    let memory = MemoryUse {
        before: mib(before.resident),
        ..sum.memory
    };
    Ok(Sum { memory, ..sum })
}

/// Returns a plan of Runnables for the controller under test, in a new namespace.
pub(crate) async fn plan_for(site: &Site, runnables: usize, keep: usize) -> Result<Plan> {
    Ok(Plan {
        group: RUNNABLE_GROUP,
        namespace: site.cluster.namespace("bench").await?,
        runnables,
        active: runnables,
        kinds: vec![(RunKind::number(0), "bench".to_owned())],
        keep,
        lasts: Duration::ZERO,
        failures: 0,
    })
}

async fn field(site: &Site, running: &Running, load: &Load, keep: usize) -> Result<Field> {
    let kind = match running.subject {
        Subject::Controller => RunKind::number(0),
        Subject::TwoWrites | Subject::WithConditions | Subject::Blind => RunKind::of_references(),
    };
    let plan = Plan {
        group: running.group(),
        kinds: vec![(kind, "bench".to_owned())],
        lasts: load.lasts,
        ..plan_for(site, load.runnables, keep).await?
    };
    Field::new(site.client(), plan).await
}

/// Puts a subject under load on Runnables that have their first outputs.
pub(crate) async fn under_load(
    site: &Site,
    running: &Running,
    load: &Load,
    field: &mut Field,
) -> Result<Sum> {
    tokio::time::sleep(AFTERMATH).await;
    field.board.take_tally();
    let audit = site.cluster.audit().ok();
    let before = Cpu::now(site, running.process).await?;
    let profile = match (&load.perf, running.subject) {
        (Some(file), Subject::Controller) => Some(profiled(running.process, file)?),
        _ => None,
    };
    let busy = match load.pattern {
        Pattern::Sequential => load::sequential(field, load.seconds).await?,
        Pattern::Rounds => load::rounds(field, load.seconds).await?,
        Pattern::Closed => load::closed_loop(field, load.seconds).await?,
        Pattern::Rate(rate) => load::paced(field, rate, load.seconds).await?,
    };
    tokio::time::sleep(AFTERMATH).await;
    let cpu = Cpu::now(site, running.process).await?.since(before);
    if let Some(mut perf) = profile {
        interrupt(&perf)?;
        perf.wait().await?;
    }
    let tally = field.board.take_tally();
    let requests = match &audit {
        Some(log) => {
            requests::counted(log, &running.user, &field.plan.namespace, tally.answered())?
        }
        None => Vec::new(),
    };
    let memory = running.process.memory()?;
    Ok(Sum {
        losses: field.losses().await?,
        memory: MemoryUse {
            before: 0.0,
            peak: mib(memory.peak),
            settled: mib(memory.resident),
        },
        tally,
        busy,
        cpu,
        requests,
    })
}

/// Starts perf, which samples the stack of a process.
fn profiled(process: Process, file: &Path) -> Result<Child> {
    Command::new("perf")
        .args([
            "record",
            "--quiet",
            "--freq",
            "2999",
            "--call-graph",
            "dwarf,8192",
            "--pid",
        ])
        .arg(process.pid().to_string())
        .arg("--output")
        .arg(file)
        .kill_on_drop(true)
        .spawn()
        .context(
            "starting perf: --perf needs it installed, and kernel.perf_event_paranoid at most 1",
        )
}

/// Interrupts perf as Ctrl-C does, so that it completes its file.
fn interrupt(child: &Child) -> Result<()> {
    let pid = child
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    if let Some(pid) = pid {
        kill_process(pid, Signal::INT).context("ending perf")?;
    }
    Ok(())
}

impl Sum {
    /// Adds another turn.
    pub(crate) fn add(&mut self, other: &Self) {
        let runs = (self.tally.answered(), other.tally.answered());
        self.tally.add(&other.tally);
        self.busy += other.busy;
        self.losses += other.losses;
        self.cpu = self.cpu.plus(other.cpu);
        let first = runs.0 == 0;
        self.memory = MemoryUse {
            before: if first {
                other.memory.before
            } else {
                self.memory.before
            },
            peak: self.memory.peak.max(other.memory.peak),
            settled: other.memory.settled,
        };
        for request in &other.requests {
            let same = |known: &&mut RequestCount| {
                known.verb == request.verb
                    && known.resource == request.resource
                    && known.acting_as == request.acting_as
            };
            match self.requests.iter_mut().find(same) {
                Some(known) => {
                    known.total += request.total;
                    known.refused += request.refused;
                }
                None => self.requests.push(request.clone()),
            }
        }
        let answered = float(self.tally.answered().max(1) as u64);
        for request in &mut self.requests {
            request.per_run = float(request.total) / answered;
        }
    }

    pub(crate) fn row(&self, load: &Load, subject: Subject) -> Row {
        let runs = self.tally.answered();
        let each = float(runs.max(1) as u64);
        let seconds = self.busy.as_secs_f64();
        Row {
            scenario: load.scenario.clone(),
            subject,
            runnables: load.runnables,
            runs_each: 0,
            kinds: 1,
            runs,
            seconds,
            runs_per_second: float(runs as u64) / seconds.max(0.001),
            change_to_run: self.tally.change_to_run.quantiles(),
            success_to_output: self.tally.success_to_output.quantiles(),
            change_to_output: self.tally.change_to_output.quantiles(),
            duplicates: self.tally.duplicates,
            losses: self.losses,
            cpu: CpuPerRun {
                own: self.cpu.own / each,
                api_server: self.cpu.api_server.map(|cpu| cpu / each),
                etcd: self.cpu.etcd.map(|cpu| cpu / each),
                generator: self.cpu.generator / each,
                allocated: self.cpu.allocated.map(|kib| kib / each),
            },
            memory: self.memory,
            requests: self.requests.clone(),
        }
    }
}

/// Puts all subjects under the same load, in turn, and returns one row each.
pub(crate) async fn compare(
    site: &Site,
    controller: &Running,
    settings: &crate::command_line::Settings,
    load: &Load,
) -> Result<Vec<Row>> {
    let keep = settings.keep.into();
    let mut sums: Vec<(Subject, Sum)> = Vec::new();
    for _ in 0..settings.repeat {
        for subject in settings.subjects() {
            let sum = if subject == Subject::Controller {
                measure(site, controller, load, keep).await?
            } else {
                let reference = site.run(subject, settings).await?;
                measure(site, &reference, load, keep).await?
            };
            match sums.iter_mut().find(|(known, _)| *known == subject) {
                Some((_, known)) => known.add(&sum),
                None => sums.push((subject, sum)),
            }
        }
    }
    Ok(sums
        .iter()
        .map(|(subject, sum)| sum.row(load, *subject))
        .collect())
}
