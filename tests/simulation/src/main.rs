//! `just simulate`: plays seeds, and prints those that fail.

use std::{
    io,
    path::Path,
    process::ExitCode,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use cartouche_simulation::{
    play,
    report::{Report, Sum, play_apart},
};
use clap::Parser;

/// Play the controller in simulated clusters with random faults.
///
/// Fails when a property does not hold for a seed; the same seed then fails in the same way again.
#[derive(Parser)]
struct Flags {
    /// Play this many seeds.
    #[arg(long, default_value_t = 300)]
    seeds: u64,
    /// Begin with this seed.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Play only this seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Print the report as JSON.
    #[arg(long, hide = true, requires = "seed")]
    report: bool,
    /// Print everything that happened.
    #[arg(long)]
    trace: bool,
    /// Print the controllers' log: a filter such as `info` or `kube=debug`.
    #[arg(long, requires = "seed", conflicts_with = "report")]
    log: Option<String>,
    /// Stop at the first seed that fails.
    #[arg(long)]
    stop: bool,
    /// Play this many seeds at the same time.
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    if let Some(filter) = &flags.log {
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .without_time()
            .init();
    }
    let good = match flags.seed {
        Some(seed) => Ok(play_one(seed, &flags)),
        None => std::env::current_exe().and_then(|program| play_all(&program, &flags)),
    };
    match good {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cartouche-simulation: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Plays one seed here. Returns true if all properties held.
fn play_one(seed: u64, flags: &Flags) -> bool {
    let played = play(seed, flags.trace);
    let report = Report::of(&played);
    if flags.report {
        println!("{}", serde_json::json!(report));
        return report.violations.is_empty();
    }
    tell(&report);
    println!("{:?}", played.plan);
    println!(
        "{} runs in {} simulated seconds, history {:016x}",
        played.runs,
        played.elapsed.as_secs(),
        played.hash
    );
    report.violations.is_empty()
}

/// Plays all seeds, each in a process of its own. Returns true if all properties held.
fn play_all(program: &Path, flags: &Flags) -> io::Result<bool> {
    let end = flags.first + flags.seeds;
    let next = AtomicU64::new(flags.first);
    let sum = Mutex::new(Sum::default());
    let began = seconds();
    let work = || -> io::Result<()> {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end || flags.stop && !lock(&sum).failed.is_empty() {
                return Ok(());
            }
            let report = play_apart(program, seed, flags.trace)?;
            tell(&report);
            let mut sum = lock(&sum);
            sum.add(&report);
            if sum.seeds.is_multiple_of(PROGRESS) {
                let passed = seconds().saturating_sub(began);
                eprintln!("{} of {}: {}", sum.seeds, flags.seeds, sum.line(passed));
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..flags.threads.max(1))
            .map(|_| scope.spawn(work))
            .collect();
        workers.into_iter().try_for_each(|worker| {
            let ended = worker.join();
            ended.unwrap_or_else(|_| Err(io::Error::other("a thread ended too early")))
        })
    })?;
    let sum = lock(&sum);
    println!("{sum}{}", sum.line(seconds().saturating_sub(began)));
    Ok(sum.failed.is_empty())
}

/// Number of seeds between two lines of progress.
const PROGRESS: u64 = 250;

fn lock(sum: &Mutex<Sum>) -> MutexGuard<'_, Sum> {
    sum.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell(report: &Report) {
    for line in report.trace.iter().chain(&report.violations) {
        println!("{line}");
    }
}

/// Returns real time: that of the standard library is simulated here.
fn seconds() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
