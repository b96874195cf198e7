//! `cargo faults`: breaks every request of the controller in every way that fits it, and runs the soak.
//!
//! It holds hidden commands too. They start the controller and the supervisors of the control plane's
//! processes.

mod command_line;
mod plans;
mod soak;

use std::process::ExitCode;

use anyhow::{Context, Result};
use cartouche_tests::error_text::in_full;
use clap::Parser;

use command_line::{Command, CommandLine};
use plans::Scope;

fn main() -> ExitCode {
    let outcome = match CommandLine::parse().command {
        Command::Hidden(hidden) => hidden.execute(),
        own => block_on(own),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {}", in_full(&error));
        ExitCode::FAILURE
    })
}

fn block_on(command: Command) -> Result<ExitCode> {
    let itself = std::env::current_exe().context("where is this program?")?;
    let itself = itself.to_str().context("its path is no text")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match command {
            Command::List { which } => plans::list(itself, &which).await,
            Command::Run {
                which,
                docs,
                again,
                rest,
            } => {
                let scope = match (again, rest) {
                    (true, _) => Scope::Failed(plans::kept()?),
                    (_, true) => Scope::Rest(plans::kept()?),
                    _ => Scope::All,
                };
                plans::run(itself, &which, docs.as_deref(), scope).await
            }
            Command::Soak { options } => soak::soak(itself, options).await,
            // `main` answers these before there is a runtime.
            Command::Hidden(_) => Ok(ExitCode::FAILURE),
        }
    })
}
