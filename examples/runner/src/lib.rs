//! The common part of runners: programs for a container that read two input files, do the work, and report the
//! result.
//!
//! The files are those that runners of Capact read: `RUNNER_CONTEXT_PATH` contains the path of the context, with
//! the run and its limits, and `RUNNER_ARGS_PATH` that of the arguments. [`manage`] reads both, enforces the
//! timeout, handles SIGTERM and writes the termination message; a [`Runner`] does the work. Exit codes are in
//! `README.md`.
//!
//! ```no_run
//! use anyhow::Result;
//! use cartouche_runner::{Input, Outputs, Runner};
//!
//! struct Greeter(Outputs);
//!
//! impl Runner for Greeter {
//!     fn name(&self) -> &str {
//!         "greeter"
//!     }
//!
//!     async fn start(&mut self, input: Input) -> Result<()> {
//!         self.0.insert("greets".to_owned(), input.args["name"].clone());
//!         Ok(())
//!     }
//!
//!     async fn wait(&mut self) -> Result<Outputs> {
//!         Ok(self.0.clone())
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     cartouche_runner::main(Greeter(Outputs::new()))
//! }
//! ```

pub mod input;
pub mod manage;
pub mod runner;
pub mod said;

pub use input::Context;
pub use manage::main;
pub use runner::{Input, Outputs, Runner};
