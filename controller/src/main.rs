//! Program of the controller.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Builds of a workspace unify features: a test build may replace the release program.
    if cfg!(feature = "mutants") {
        eprintln!(
            "error: this controller was built for tests, with the feature \"mutants\"\n\
             hint: cargo build --release --package cartouche-controller"
        );
        return ExitCode::FAILURE;
    }
    cartouche_controller::main_from(std::env::args_os())
}
