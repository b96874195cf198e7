//! `cargo demo`: the examples on a control plane of one's own, and what becomes of them.
//!
//! It holds three hidden commands too: tests and demo start the controller and the supervisors of
//! the control plane's processes with them.

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
