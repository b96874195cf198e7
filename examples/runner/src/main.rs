//! A runner: a program for a container that finds what to do in two files, does it, and says what came of it.
//!
//! The files are those that runners of Capact read: `RUNNER_CONTEXT_PATH` names the one that says for whom and within which
//! bounds, `RUNNER_ARGS_PATH` the one that says what to do. [`manage`] does what all runners have in common; a
//! [`runner::Runner`] does the work. Exit codes are in `README.md`.
//!
//! With an argument it is one of the small commands in [`work`], so that the image needs no other program.

mod command;
mod input;
mod manage;
mod runner;
mod said;
mod work;

use std::{env, process::ExitCode};

use command::CommandRunner;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(async {
        match arguments.split_first() {
            None => manage::run(CommandRunner::default()).await,
            Some((name, arguments)) => work::run(name, arguments).await,
        }
    });
    ExitCode::from(code)
}
