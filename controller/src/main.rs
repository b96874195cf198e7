//! The controller's program.

use std::process::ExitCode;

fn main() -> ExitCode {
    cartouche_controller::main_from(std::env::args_os())
}
