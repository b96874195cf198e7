//! The Cartouche controller: stamps one run per change and reports what came of it.

use std::{ffi::OsString, process::ExitCode};

/// Runs the controller with the given command line (the program's name first) until it is told to
/// stop by SIGTERM or SIGINT.
pub fn main_from(_arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::SUCCESS
}
