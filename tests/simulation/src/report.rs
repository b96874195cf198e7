//! A seed in a process of its own.
//!
//! tokio and futures shuffle by numbers that begin with counters of the whole process. So the first
//! simulation of a process follows from its seed alone; a second one depends on how many there were
//! before it, or are beside it, and would not be seen again.

use std::{
    io::{Error, Result},
    path::Path,
    process::Command,
};

use serde::{Deserialize, Serialize};

use crate::{oracle::Violation, play::Played};

/// What is told of a simulation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// What it followed from.
    pub seed: u64,
    /// Runs that were made.
    pub runs: usize,
    /// What must not have happened, but did.
    pub violations: Vec<String>,
    /// Everything that happened, a line each, if that was wanted.
    pub trace: Vec<String>,
}

impl Report {
    /// Sums a simulation up.
    #[must_use]
    pub fn of(played: &Played) -> Self {
        let seed = played.plan.seed;
        let runnables = played.plan.runnables;
        // A simulation in which nothing happens proves nothing.
        let idle = (played.runs < runnables).then(|| {
            Violation::new(
                "the simulation",
                format!("{runnables} Runnables, but {} runs", played.runs),
            )
        });
        let violations = played.violations.iter().chain(&idle);
        let line = |violation: &Violation| {
            format!("seed {seed}: {}: {}", violation.property, violation.what)
        };
        Self {
            seed,
            runs: played.runs,
            violations: violations.map(line).collect(),
            trace: played.trace.clone(),
        }
    }
}

/// Has a seed played by `cartouche-simulation`, which is found at `program`.
///
/// # Errors
/// If the process cannot be started, or tells no report.
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
