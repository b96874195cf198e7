//! Random faults, kills and changes, for minutes or hours.
//!
//! An input moves on only when the API server's audit log shows a run for it. So every input must have
//! exactly one run, however long it takes. The soak ignores what controllers report: neither the pace of
//! inputs nor the counts of doubled and lost runs depend on it.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Result;
use cartouche_crds::Runnable;
use cartouche_tests::{
    cluster::{Seen, eventually},
    fault_proxy::{Call, Chooser, Fault},
    faults::{
        record::Run,
        scenario::made,
        stage::{self, Stage},
    },
    lab::succeeds,
};
use clap::Args;
use fastrand::Rng;
use kube::{
    ResourceExt,
    api::{DynamicObject, ListParams},
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// Minimum time that an input stays.
const PACE: Duration = Duration::from_secs(1);
/// Interval between lists of objects, which show runs that the audit log has as given up.
const LISTING: Duration = Duration::from_secs(2);
/// Maximum time until everything settles after the faults have stopped.
const REST: Duration = Duration::from_mins(5);

/// Counts of everything that has happened.
///
/// The oracle (`cartouche-oracle`) does not judge a soak, because a soak goes on for hours. It judges each
/// event by all earlier ones: a run by every intent in a ledger, a number by every run that had it, a create
/// that was given up whenever its run becomes known. So its adapter to the audit log keeps each request,
/// status and object from the beginning. At each judgement it replays them in the order in which they took
/// effect. An hour with twenty Runnables has some ten thousand runs, and several statuses for each with a
/// history in every one. This tally keeps the uid and two counts of a run.
///
/// It checks that each number has one run of a Runnable (S1), and that each input has one run. Inputs only go
/// up, so a second run of one has no cause (S3), and one without a run was lost (L1). At the end it compares
/// the last outputs. It does not judge the content of a run and whether it was intended (S2, S3), whether a
/// ledger went back or was gone for a while (S3), whether outputs went back in between (S4), what clean-up
/// deletes (S5), and whether the ledger knows every run (L2). It needs no [`cartouche_oracle::Excuse`]: here
/// only clean-up deletes runs, and statuses are never reset.
#[derive(Default)]
struct Tally {
    /// The uids of all runs.
    uids: BTreeSet<String>,
    /// Number of runs of each input of each Runnable.
    runs: BTreeMap<(String, i64), usize>,
    /// Number of runs with each number of each Runnable.
    numbers: BTreeMap<(String, i64), usize>,
}

impl Tally {
    /// Reads new events of the audit log. The log may have a create whose sender died as given up although it
    /// took effect. The object of such a run reveals it.
    fn read(&mut self, stage: &Stage, exist: &[DynamicObject]) -> Result<()> {
        for event in stage.record.news()? {
            let run = stage.record.run_made_by(&event);
            if let (Some(run), Some(made)) = (run, &event.response_object) {
                let uid = made.pointer("/metadata/uid").and_then(Value::as_str);
                self.count(uid.unwrap_or_default(), run);
            }
        }
        for object in exist {
            let run = Run::of(&serde_json::to_value(object)?);
            self.count(&object.uid().unwrap_or_default(), run);
        }
        Ok(())
    }

    fn count(&mut self, uid: &str, run: Run) {
        let Some(value) = run.value else { return };
        if self.uids.insert(uid.to_owned()) {
            let input = (run.runnable.clone(), value);
            *self.runs.entry(input).or_default() += 1;
            let number = (run.runnable, run.sequence);
            *self.numbers.entry(number).or_default() += 1;
        }
    }

    fn ran(&self, runnable: &str, value: i64) -> bool {
        self.runs.contains_key(&(runnable.to_owned(), value))
    }

    fn made(&self) -> usize {
        self.runs.values().sum()
    }

    fn duplicates(&self) -> usize {
        let again = |counts: &BTreeMap<_, usize>| counts.values().map(|n| n - 1).sum::<usize>();
        again(&self.runs).max(again(&self.numbers))
    }

    /// Counts the inputs below the present one that have no run.
    fn lost(&self, inputs: &BTreeMap<String, i64>, with_present: bool) -> usize {
        let missing = |(name, present): (&String, &i64)| {
            let end = present + i64::from(with_present);
            (0..end)
                .filter(|value| !self.runs.contains_key(&(name.clone(), *value)))
                .count()
        };
        inputs.iter().map(missing).sum()
    }
}

/// State of everything that runs at the same time.
struct Soak {
    stage: Stage,
    until: Instant,
    inputs: Mutex<BTreeMap<String, i64>>,
    tally: Mutex<Tally>,
    broken: Arc<Mutex<BTreeMap<Fault, usize>>>,
    kills: Mutex<usize>,
}

/// Options of a soak.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Run for this many minutes.
    minutes: u64,
    /// Use this many Runnables.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    runnables: usize,
    /// Break this percentage of requests and events.
    #[arg(long, value_name = "PERCENT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=100))]
    broken: u32,
    /// Run two controllers all the time and kill one of them (SIGKILL) at this interval, in turns. By default
    /// the moments are random, and half of the time there is one controller only.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    kill_every: Option<u64>,
    /// Repeat the choices of an earlier soak (not its timing).
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) async fn soak(itself: &str, options: Options) -> Result<ExitCode> {
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
    let (minutes, runnables) = (options.minutes, options.runnables);
    println!("seed {seed}: {runnables} Runnables, {minutes} minutes");
    let cluster = stage::prepared(itself).await?;
    let stage = Stage::set(itself, &cluster, "soak").await?;
    stage.start_controller().await?;
    let names: Vec<String> = (0..runnables).map(|n| format!("app-{n}")).collect();
    for name in &names {
        stage
            .runnable(name, json!({ "inputs": succeeds(0) }))
            .await?;
    }
    let soak = Soak {
        until: Instant::now() + Duration::from_secs(60 * minutes),
        inputs: Mutex::new(names.into_iter().map(|name| (name, 0)).collect()),
        tally: Mutex::default(),
        broken: Arc::default(),
        kills: Mutex::default(),
        stage,
    };
    let mut rng = Rng::with_seed(seed);
    soak.stage
        .proxy
        .begin(chance(rng.fork(), options.broken, soak.broken.clone()));
    tokio::try_join!(
        soak.change(rng.fork()),
        soak.disturb(&mut rng, options.kill_every),
        soak.tell(),
    )?;
    soak.end().await
}

/// Breaks requests at random.
fn chance(mut rng: Rng, percent: u32, broken: Arc<Mutex<BTreeMap<Fault, usize>>>) -> Chooser {
    Box::new(move |call: &Call, _| {
        if rng.u32(..100) >= percent {
            return None;
        }
        let faults: &[Fault] = match call.verb.as_str() {
            "event" => &Fault::OF_EVENTS,
            "watch" => &Fault::OF_WATCHES,
            _ if call.writes() => &Fault::OF_WRITES,
            _ => &Fault::OF_READS,
        };
        let fault = rng.choice(faults.iter().copied())?;
        *lock(&broken).entry(fault).or_default() += 1;
        Some(fault)
    })
}

impl Soak {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Moves each input on when the API server has a run for it.
    async fn change(&self, mut rng: Rng) -> Result<()> {
        let mut changed = BTreeMap::<String, Instant>::new();
        let mut listed = Instant::now();
        while !self.is_over() {
            sleep(Duration::from_millis(200)).await;
            let list = listed.elapsed() >= LISTING;
            self.count(list).await?;
            if list {
                listed = Instant::now();
            }
            let inputs = lock(&self.inputs).clone();
            for (name, value) in inputs {
                let fresh = changed.get(&name).is_some_and(|at| at.elapsed() < PACE);
                let ran = lock(&self.tally).ran(&name, value);
                if fresh || rng.bool() || !ran {
                    continue;
                }
                // Counted first: the object shows whether a patch took effect.
                lock(&self.inputs).insert(name.clone(), value + 1);
                self.stage.change(&name, succeeds(value + 1)).await?;
                changed.insert(name, Instant::now());
            }
        }
        Ok(())
    }

    /// Reads new events of the audit log, and lists the objects too if `list` is set.
    async fn count(&self, list: bool) -> Result<()> {
        let exist = if list {
            let trials = self.stage.trials();
            trials.list(&ListParams::default()).await?.items
        } else {
            Vec::new()
        };
        lock(&self.tally).read(&self.stage, &exist)
    }

    async fn disturb(&self, rng: &mut Rng, kill_every: Option<u64>) -> Result<()> {
        if let Some(seconds) = kill_every {
            return self.pair(Duration::from_secs(seconds)).await;
        }
        tokio::try_join!(self.kill(rng.fork()), self.double(rng.fork()))?;
        Ok(())
    }

    /// Runs two controllers and kills one of them at every interval, in turns. The next one starts at once.
    async fn pair(&self, every: Duration) -> Result<()> {
        let mut second = self.stage.second_controller().await?;
        let mut next = Instant::now();
        for turn in 0.. {
            next += every;
            tokio::time::sleep_until(next.min(self.until)).await;
            if self.is_over() {
                break;
            }
            if turn % 2 == 0 {
                self.stage.kill_controller().await?;
                self.stage.start_controller().await?;
            } else {
                second.restart_without_waiting()?;
            }
            *lock(&self.kills) += 1;
        }
        Ok(())
    }

    /// Kills the controller at random times and starts it again.
    async fn kill(&self, mut rng: Rng) -> Result<()> {
        while !self.is_over() {
            sleep(Duration::from_millis(rng.u64(2000..8000))).await;
            self.stage.kill_controller().await?;
            *lock(&self.kills) += 1;
            sleep(Duration::from_millis(rng.u64(0..500))).await;
            self.stage.start_controller().await?;
        }
        Ok(())
    }

    /// Runs a second controller half of the time, which ends by a kill too.
    async fn double(&self, mut rng: Rng) -> Result<()> {
        while !self.is_over() {
            sleep(Duration::from_millis(rng.u64(5_000..15_000))).await;
            let second = self.stage.second_controller().await?;
            sleep(Duration::from_millis(rng.u64(5_000..15_000))).await;
            second.kill()?;
            *lock(&self.kills) += 1;
        }
        Ok(())
    }

    /// Prints a line every minute.
    async fn tell(&self) -> Result<()> {
        for minute in 1.. {
            let line = Instant::now() + Duration::from_mins(1);
            tokio::time::sleep_until(line.min(self.until)).await;
            println!("{minute} min: {}", self.line(false).await?);
            if self.is_over() {
                break;
            }
        }
        Ok(())
    }

    async fn line(&self, with_present: bool) -> Result<String> {
        let memory = match self.stage.health_address().await {
            Some(address) => resident(&address.to_string()),
            None => None,
        };
        self.count(true).await?;
        let tally = lock(&self.tally);
        let broken: usize = lock(&self.broken).values().sum();
        Ok(format!(
            "{} runs, {} duplicates, {} lost, {broken} faults, {} kills, {} MB",
            tally.made(),
            tally.duplicates(),
            tally.lost(&lock(&self.inputs), with_present),
            *lock(&self.kills),
            memory.map_or_else(|| "?".to_owned(), |kib| (kib / 1024).to_string()),
        ))
    }

    /// Stops the faults. Then every last input must get its run and give its output.
    async fn end(self) -> Result<ExitCode> {
        self.stage.proxy.spare();
        self.stage.start_controller().await?;
        let inputs = lock(&self.inputs).clone();
        let rested = eventually("every output to arrive", REST, || async {
            let all = self.stage.runnables().list(&ListParams::default()).await?;
            let late = |r: &&Runnable| !gave(r, inputs.get(&r.name_any()).copied().unwrap_or(-1));
            let late: Vec<String> = all.iter().filter(late).map(ResourceExt::name_any).collect();
            Ok(if late.is_empty() {
                Seen::Done(())
            } else {
                Seen::NotYet(late.join(", "))
            })
        })
        .await;
        sleep(Duration::from_secs(3)).await;
        println!("at rest: {}", self.line(true).await?);
        for (fault, times) in &*lock(&self.broken) {
            println!("  {}: {times}", fault.name());
        }
        let tally = lock(&self.tally);
        for ((name, value), times) in tally.runs.iter().filter(|(_, times)| **times > 1) {
            println!("{name}: input {value} was run {times} times");
        }
        let wrong = tally.duplicates() + tally.lost(&inputs, true);
        if let Err(error) = &rested {
            println!("{error:#}");
        }
        let good = wrong == 0 && rested.is_ok();
        println!(
            "{}",
            if good {
                "nothing doubled, nothing lost"
            } else {
                "FAILED"
            }
        );
        Ok(ExitCode::from(u8::from(!good)))
    }
}

/// Returns true if the run of this input has given its output.
fn gave(runnable: &Runnable, value: i64) -> bool {
    let status = runnable.status.as_ref();
    let current = status.and_then(|status| status.current_run.as_ref());
    let output = status.and_then(|s| s.outputs.as_ref()?.get("value")?.as_i64());
    let from = status.and_then(|s| s.outputs_from.as_ref());
    output == Some(value)
        && current.is_some_and(|run| {
            made(runnable, run.sequence) && from.is_some_and(|from| from.sequence == run.sequence)
        })
}

/// Returns the resident memory, in KiB, of the controller with this health address; `None` without a `/proc`.
fn resident(address: &str) -> Option<u64> {
    let mut processes = std::fs::read_dir("/proc").ok()?.flatten();
    let itself = processes.find(|process| {
        let arguments = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let text = String::from_utf8_lossy(&arguments);
        text.contains(address) && !text.contains("supervise")
    })?;
    let status = std::fs::read_to_string(itself.path().join("status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
