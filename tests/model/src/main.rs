//! `cargo run --release -p cartouche-model`: explores, and prints a table.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use cartouche_model::{
    catalogue,
    chain::{self, Chain},
    explore::{CounterExample, Explored, Finding, Limits, explore, shortest},
    model::Checked,
    mutant::Mutant,
    picture,
    profile::{self, ProfileModel},
    sink::{self, SinkModel},
};
use clap::Parser;

/// Check the protocol that makes runs, in every order of faults.
///
/// Fails when a property does not hold, or when a deliberate mistake is not found.
#[derive(Parser)]
struct Flags {
    /// Explore only configurations whose name begins with one of these.
    names: Vec<String>,
    /// Explore without a limit.
    #[arg(long)]
    all: bool,
    /// Generate at most this many states for each configuration.
    #[arg(long, default_value_t = 400_000)]
    states: usize,
    /// Use this many threads.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Print every step of counter-examples.
    #[arg(long)]
    trace: bool,
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    println!(
        "{:<46} {:>10} {:>5} {:>8}  verdict",
        "configuration", "states", "depth", "seconds"
    );
    let mut as_expected = true;
    let all = catalogue::configurations()
        .into_iter()
        .chain(catalogue::mutants());
    for setup in all.filter(|setup| flags.wants(setup.name)) {
        let (known, mistake) = (setup.known, setup.mutant != Mutant::None);
        as_expected &= flags.check::<Checked>(setup, known, mistake, picture::story);
    }
    as_expected &= flags.check_all::<Chain>(
        chain::catalogue::configurations(),
        chain::catalogue::mutants(),
        chain::picture::story,
    );
    as_expected &= flags.check_all::<SinkModel>(
        sink::catalogue::configurations(),
        sink::catalogue::mutants(),
        sink::model::story,
    );
    as_expected &= flags.check_all::<ProfileModel>(
        profile::catalogue::configurations(),
        profile::catalogue::mutants(),
        profile::model::story,
    );
    if as_expected {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Renders every step of a counter-example.
type Story<M> = fn(&M, &CounterExample<<M as stateright::Model>::Action>) -> String;

impl Flags {
    fn wants(&self, name: &str) -> bool {
        let begins = |wanted: &String| name.starts_with(wanted.as_str());
        self.names.is_empty() || self.names.iter().any(begins)
    }

    /// Runs [`Self::check`] on these configurations and deliberate mistakes, as far as they are selected.
    /// Returns true if all are as expected.
    fn check_all<M: Explored>(
        &self,
        configurations: Vec<M::Setup>,
        mutants: Vec<(M::Setup, &'static str)>,
        story: Story<M>,
    ) -> bool {
        let mutants = mutants.into_iter().map(|(setup, _)| (setup, true));
        let configurations = configurations.into_iter().map(|setup| (setup, false));
        let mut as_expected = true;
        for (setup, mistake) in configurations.chain(mutants) {
            if self.wants(M::name(&setup)) {
                as_expected &= self.check(setup, &[], mistake, story);
            }
        }
        as_expected
    }

    /// Explores, and prints the finding. Returns true if it is as expected.
    fn check<M: Explored>(
        &self,
        setup: M::Setup,
        known: &[&str],
        mistake: bool,
        story: Story<M>,
    ) -> bool {
        let limits = Limits {
            states: if self.all { usize::MAX } else { self.states },
            // One thread explores the nearest states first.
            threads: if mistake { 1 } else { self.threads },
        };
        let found = explore::<M>(setup, limits);
        let unknown = found.broken.iter().any(|broken| !known.contains(broken));
        // A lost line is no failure when standard output is closed.
        let _ = tell(&found, known, mistake, self.trace.then_some(story));
        if mistake {
            !found.broken.is_empty()
        } else {
            !unknown
        }
    }
}

fn tell<M: Explored>(
    found: &Finding<M>,
    known: &[&str],
    mistake: bool,
    story: Option<Story<M>>,
) -> io::Result<()> {
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
        "{:<46} {:>10} {:>5} {:>8.1}  {verdict}",
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
    if let (Some(story), Some(example)) = (story, &example) {
        write!(out, "{}", story(&found.model, example))?;
    }
    out.flush()
}
