//! A seed in a process of its own.
//!
//! tokio and futures shuffle by numbers that begin with counters of the whole process. So the first
//! simulation of a process follows from its seed alone. A second one depends on those before and beside it,
//! and could not be reproduced.

use std::{
    collections::BTreeSet,
    fmt::{Display, Formatter},
    io::{Error, Result},
    path::Path,
    process::Command,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{chain::MEMBERS, faults::Counts, oracle::Violation, play::Played};

/// The report of a simulation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The seed that it followed from.
    pub seed: u64,
    /// Number of runs that were made.
    pub runs: usize,
    /// Number of Runnables that the original controller served.
    pub taken_over: usize,
    /// Number of runs that had ended when they were confirmed, so that one write recorded both.
    pub spared: usize,
    /// Number of faults, and of deeds to users' objects, by name.
    pub faults: Counts,
    /// Number of uses of each excuse: a known limit instead of a violation.
    pub excused: Counts,
    /// The violations.
    pub violations: Vec<String>,
    /// Everything that happened, a line each, if requested.
    pub trace: Vec<String>,
}

impl Report {
    /// Sums a simulation up.
    #[must_use]
    pub fn of(played: &Played) -> Self {
        let seed = played.plan.seed;
        // Unchanged, one that is taken over needs no run; and a whole chain may wait for a suspended first
        // one.
        let of_chain = played.plan.chain.map_or(0, |_| MEMBERS);
        let runnables = played.plan.runnables - played.plan.taken_over() - of_chain;
        // A simulation in which nothing happens proves nothing.
        let idle = (played.runs < runnables).then(|| {
            Violation::new(
                "the simulation",
                format!("{runnables} new Runnables, but {} runs", played.runs),
            )
        });
        let violations = played.verdict.violations.iter().chain(&idle);
        let line = |violation: &Violation| {
            format!("seed {seed}: {}: {}", violation.property, violation.what)
        };
        Self {
            seed,
            runs: played.runs,
            taken_over: played.plan.taken_over(),
            spared: played.spared,
            faults: played.faults.clone(),
            excused: played
                .verdict
                .excused
                .iter()
                .map(|(excuse, times)| (format!("{excuse:?}"), *times))
                .collect(),
            violations: violations.map(line).collect(),
            trace: played.trace.clone(),
        }
    }
}

/// The sum of many simulations.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    /// Number of simulations.
    pub seeds: u64,
    /// The seeds that failed.
    pub failed: BTreeSet<u64>,
    runs: usize,
    taken_over: usize,
    spared: usize,
    faults: Counts,
    excused: Counts,
}

impl Sum {
    /// Adds a simulation.
    pub fn add(&mut self, report: &Report) {
        self.seeds += 1;
        self.runs += report.runs;
        self.taken_over += report.taken_over;
        self.spared += report.spared;
        for (all, new) in [
            (&mut self.faults, &report.faults),
            (&mut self.excused, &report.excused),
        ] {
            for (name, times) in new {
                *all.entry(name.clone()).or_default() += times;
            }
        }
        if !report.violations.is_empty() {
            self.failed.insert(report.seed);
        }
    }

    /// Returns the figures in one line.
    #[must_use]
    pub fn line(&self, passed: Duration) -> String {
        format!(
            "{} seeds, {} runs, {} taken over, {} spared a confirmation, {} excused, {} seeds failed, {:.0} s",
            self.seeds,
            self.runs,
            self.taken_over,
            self.spared,
            self.excused.values().sum::<usize>(),
            self.failed.len(),
            passed.as_secs_f64(),
        )
    }
}

/// Shows faults, excuses and the seeds that failed; a line each.
impl Display for Sum {
    fn fmt(&self, text: &mut Formatter<'_>) -> std::fmt::Result {
        for (what, counts) in [("faults", &self.faults), ("excused", &self.excused)] {
            let counts: Vec<String> = counts
                .iter()
                .map(|(name, times)| format!("{name} {times}"))
                .collect();
            writeln!(text, "{what}: {}", counts.join(" "))?;
        }
        if !self.failed.is_empty() {
            writeln!(text, "failed seeds: {:?}", self.failed)?;
        }
        Ok(())
    }
}

/// Plays a seed with the program `cartouche-simulation` at this path.
///
/// # Errors
/// If the process cannot be started, or prints no report.
pub fn play_apart(program: &Path, seed: u64, traced: bool) -> Result<Report> {
    let mut command = Command::new(program);
    command.args(["--seed", &seed.to_string(), "--report"]);
    if traced {
        command.arg("--trace");
    }
    let output = command.output()?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        Error::other(format!("seed {seed} told no report: {error}: {said}"))
    })
}
