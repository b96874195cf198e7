//! `cargo run --release -p cartouche-model`: explores, and prints a table.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use cartouche_model::{
    catalogue,
    configuration::Configuration,
    explore::{Finding, Limits, explore, shortest},
    mutant::Mutant,
    picture,
};
use clap::Parser;

/// Checks the protocol that makes runs, in every order of faults.
///
/// Fails when a property does not hold, or when a mistake on purpose is not found.
#[derive(Parser)]
struct Flags {
    /// Configurations whose name begins with one of these; without any, all.
    names: Vec<String>,
    /// Explore without a limit.
    #[arg(long)]
    all: bool,
    /// States that are generated at most, for each configuration.
    #[arg(long, default_value_t = 400_000)]
    states: usize,
    /// Threads.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Print every step of counter-examples.
    #[arg(long)]
    trace: bool,
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    let wanted = |setup: &Configuration| {
        let begins = |name: &String| setup.name.starts_with(name.as_str());
        flags.names.is_empty() || flags.names.iter().any(begins)
    };
    println!(
        "{:<42} {:>10} {:>5} {:>8}  verdict",
        "configuration", "states", "depth", "seconds"
    );
    let mut as_expected = true;
    let all = catalogue::configurations()
        .into_iter()
        .chain(catalogue::mutants());
    for setup in all.filter(wanted) {
        let mistake = setup.mutant != Mutant::None;
        let limits = Limits {
            states: if flags.all { usize::MAX } else { flags.states },
            // One thread explores the nearest states first.
            threads: if mistake { 1 } else { flags.threads },
        };
        let known = setup.known;
        let found = explore(setup, limits);
        let unknown = found.broken.iter().any(|broken| !known.contains(broken));
        as_expected &= if mistake {
            !found.broken.is_empty()
        } else {
            !unknown
        };
        // Nothing is lost if nobody reads it any more.
        let _ = tell(&found, known, mistake, flags.trace);
    }
    if as_expected {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn tell(found: &Finding, known: &[&str], mistake: bool, trace: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let how_far = if found.exhausted {
        "all states"
    } else {
        "bounded"
    };
    let verdict = match (found.broken.is_empty(), mistake) {
        (true, false) => format!("holds ({how_far})"),
        (true, true) => format!("NOT FOUND ({how_far})"),
        (false, true) => "caught".to_owned(),
        (false, false) if found.broken.iter().all(|broken| known.contains(broken)) => {
            "known limit".to_owned()
        }
        (false, false) => "BROKEN".to_owned(),
    };
    write!(
        out,
        "{:<42} {:>10} {:>5} {:>8.1}  {verdict}",
        found.name,
        found.states,
        found.depth,
        found.time.as_secs_f64()
    )?;
    let example = (!found.broken.is_empty())
        .then(|| shortest(&found.model))
        .flatten();
    if let Some(example) = &example {
        write!(
            out,
            ": {} in {} steps",
            example.property,
            example.actions.len()
        )?;
    }
    writeln!(out)?;
    if let (true, Some(example)) = (trace, &example) {
        write!(out, "{}", picture::story(&found.model, example))?;
    }
    out.flush()
}
