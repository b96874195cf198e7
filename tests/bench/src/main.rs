//! `cargo bench-cluster`: measures speed and memory of a controller of Runnables, in ratios to the ceiling of
//! the machine.
//!
//! It knows only the API that every controller of `carto.run/v1alpha1` serves: it changes inputs, sees runs
//! appear, finishes them, and sees outputs arrive.

mod api;
mod command_line;
mod docs;
mod kinds;
mod load;
mod measure;
mod phase;
mod plot;
mod preload;
mod proc;
mod reference;
mod report;
mod requests;
mod scenarios;
mod site;

use std::process::ExitCode;

use clap::Parser;

use command_line::{Command, CommandLine};

fn main() -> ExitCode {
    let CommandLine { command, settings } = CommandLine::parse();
    let outcome = match command {
        Command::Hidden(hidden) => hidden.execute(),
        Command::Reference { which, concurrency } => {
            reference::serve(which.subject(), concurrency).map(|()| ExitCode::SUCCESS)
        }
        scenario => scenarios::run(&scenario, &settings).map(|()| ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
