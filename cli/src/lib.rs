//! The `cartouche` command: renders, checks and tests templates without a cluster, and explains Runnables on one.
//!
//! It is built on the code that the controller runs: `cartouche-templating` renders and judges; the controller's
//! ledger and report give the status of a Runnable. Everything that needs no cluster is in `cartouche-authoring`.

mod cluster;
mod command_line;
mod commands;
mod completion;
mod files;
mod format;
mod live;
mod outcome;

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::ExitCode,
};

use clap::FromArgMatches as _;

use command_line::CommandLine;
use outcome::{FAILED, Outcome};

/// Runs the command with the given command line, which begins with the program's name.
pub fn main_from(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    cartouche_authoring::remark::listen(outcome::note);
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let name = called_as(arguments.first().map(OsString::as_os_str));
    match completion::answer(&arguments, || command_line::build(name)) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => error.exit(),
    }
    let parsed = command_line::build(name)
        .try_get_matches_from(arguments)
        .and_then(|matches| CommandLine::from_arg_matches(&matches));
    let mut line = match parsed {
        Ok(line) => line,
        Err(error) => {
            // Help and version come this way too, with an exit code of their own. An error repeats what the user
            // typed or the shell expanded.
            let _ = if error.use_stderr() {
                outcome::print_error(&error.render().to_string())
            } else {
                error.print()
            };
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(FAILED));
        }
    };
    line.color.choose();
    line.command.take_files();
    let outcome =
        command_line::execute(&line.command).unwrap_or_else(|error| Outcome::failed(&error));
    match outcome.print() {
        Ok(()) => ExitCode::from(outcome.code),
        Err(_) => ExitCode::from(FAILED),
    }
}

/// Returns the command's name in help texts. As a kubectl plugin the program is `kubectl-cartouche`, typed as two
/// words.
fn called_as(program: Option<&OsStr>) -> &'static str {
    let stem = program.and_then(|program| Path::new(program).file_stem());
    match stem.and_then(OsStr::to_str) {
        Some("kubectl-cartouche" | "kubectl_complete-cartouche") => "kubectl cartouche",
        _ => "cartouche",
    }
}

/// Returns the documents of a text as the API server would hold them, or why the command refuses it. For the test
/// that compares it with kubectl.
#[doc(hidden)]
pub fn documents_of(text: &str) -> Result<Vec<serde_json::Value>, String> {
    cartouche_authoring::source::values(text)
}
