//! The controller's program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Test builds of a workspace share their features: this file may be beside the real one.
    if cfg!(feature = "mutants") {
        eprintln!(
            "error: this controller was built for tests, with the feature \"mutants\"\n\
             hint: cargo build --release --package cartouche-controller"
        );
        return ExitCode::FAILURE;
    }
    cartouche_controller::main_from(std::env::args_os())
}
