//! `cargo demo`: runs the examples on a control plane of its own and shows their results.
//!
//! It holds hidden commands too. With them, tests and demo start the controller and the supervisors of
//! the control plane's processes.

mod command_line;
mod examples;
mod observation;
mod screen;
mod stage;
mod story;
mod table;

use std::process::ExitCode;

use cartouche_tests::error_text::in_full;
use clap::Parser;

use command_line::CommandLine;

fn main() -> ExitCode {
    let CommandLine { hidden, options } = CommandLine::parse();
    let outcome = match hidden {
        None => story::run(options),
        Some(hidden) => hidden.execute(),
    };
    outcome.unwrap_or_else(|error| {
        let text = format!("error: {}", in_full(&error));
        eprintln!("{text}");
        if !text.contains("hint:") {
            eprintln!("hint: with CARTOUCHE_KEEP=1 in the environment all logs are kept");
        }
        ExitCode::FAILURE
    })
}
