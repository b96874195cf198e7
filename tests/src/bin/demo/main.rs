//! `cargo demo`: the examples on a control plane of one's own, and what becomes of them.
//!
//! It holds three hidden commands too: tests and demo start the controller and the supervisors of
//! the control plane's processes with them.

mod command_line;
mod examples;
mod observation;
mod screen;
mod story;
mod table;

use std::{ffi::OsString, iter, process::ExitCode};

use cartouche_tests::control_plane::supervisor;
use clap::Parser;

use command_line::{CommandLine, Hidden};

fn main() -> ExitCode {
    let CommandLine { hidden, options } = CommandLine::parse();
    let outcome = match hidden {
        None => story::run(options),
        Some(Hidden::Controller { arguments }) => {
            let name = OsString::from("cartouche-controller");
            return cartouche_controller::main_from(iter::once(name).chain(arguments));
        }
        Some(Hidden::Supervise { log, command }) => supervisor::supervise(&log, &command)
            .map(ExitCode::from)
            .map_err(Into::into),
        Some(Hidden::TidyUp { folder }) => supervisor::tidy_up(&folder)
            .map(|()| ExitCode::SUCCESS)
            .map_err(Into::into),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
