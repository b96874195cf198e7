//! `just simulate`: plays seeds, and prints those that fail.

use std::{
    process::ExitCode,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use cartouche_simulation::{Played, play};
use clap::Parser;

/// Plays the controller in simulated clusters with random faults.
///
/// Fails when a property does not hold for a seed; the same seed then shows the same again.
#[derive(Parser)]
struct Flags {
    /// How many seeds are played.
    #[arg(long, default_value_t = 300)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Play only this one.
    #[arg(long)]
    seed: Option<u64>,
    /// Print everything that happened.
    #[arg(long)]
    trace: bool,
    /// Print the controllers' log: a filter such as `info` or `kube=debug`.
    #[arg(long)]
    log: Option<String>,
    /// Stop at the first seed that fails.
    #[arg(long)]
    stop: bool,
    /// Seeds that are played at the same time.
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
    let first = flags.seed.unwrap_or(flags.first);
    let end = flags.seed.map_or(first + flags.seeds, |seed| seed + 1);
    let (next, failed, runs) = (
        AtomicU64::new(first),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let began = seconds();
    thread::scope(|scope| {
        for _ in 0..flags.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end || flags.stop && failed.load(Ordering::Relaxed) > 0 {
                        return;
                    }
                    let played = play(seed, flags.trace);
                    runs.fetch_add(played.runs, Ordering::Relaxed);
                    failed.fetch_add(
                        usize::from(!played.violations.is_empty()),
                        Ordering::Relaxed,
                    );
                    tell(&played, flags.seed.is_some());
                }
            });
        }
    });
    let failed = failed.into_inner();
    let played = next.into_inner().min(end) - first;
    println!(
        "{} seeds, {} runs, {failed} seeds failed, {:.0} s",
        played,
        runs.into_inner(),
        seconds().saturating_sub(began).as_secs_f64(),
    );
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn tell(played: &Played, alone: bool) {
    for line in &played.trace {
        println!("{line}");
    }
    if alone {
        println!("{:?}", played.plan);
        println!(
            "{} runs in {} simulated seconds, history {:016x}",
            played.runs,
            played.elapsed.as_secs(),
            played.hash
        );
    }
    for violation in &played.violations {
        println!(
            "seed {}: {}: {}",
            played.plan.seed, violation.property, violation.what
        );
    }
}

/// Real time: that of the standard library is simulated here.
fn seconds() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
