//! The Cartouche controller: stamps one run per change and reports its outcome.
//!
//! Data flows one way: an event enqueues a Runnable ([`watch`]), and a reconciliation observes, decides, acts and
//! reports ([`reconcile`]). Decisions about runs are pure: [`cartouche_protocol`].

pub mod api;
pub mod backoff;
pub mod budget;
pub mod cached_runnable;
pub mod clock;
pub mod definitions;
pub mod discovery;
pub mod endpoints;
pub mod events;
pub mod flags;
pub mod identity;
mod lock;
pub mod memory;
pub mod metrics;
pub mod mutants;
pub mod picked;
pub mod profile_status;
pub mod profiles;
pub mod reconcile;
pub mod reviews;
pub mod runnable_key;
pub mod serve;
pub mod status_writes;
pub mod survey;
pub mod telemetry;
pub mod template_status;
pub mod templates;
pub mod watch;
pub mod watched_kind;

use std::{ffi::OsString, process::ExitCode};

use clap::Parser;

/// Runs the controller with the given command line (the program's name first) until SIGTERM or SIGINT.
pub fn main_from(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    run(arguments.into_iter().collect())
}

// Not generic, so that callers do not compile the whole controller again.
fn run(arguments: Vec<OsString>) -> ExitCode {
    let flags = match flags::Flags::try_parse_from(arguments) {
        Ok(flags) => flags,
        Err(error) => {
            // Help and version are errors here too, with an exit code of their own.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let outcome = telemetry::start(flags.log_format, &flags.log).and_then(|()| {
        // One thread serves more runs a second than an API server on the same machine can take, and
        // handing work from thread to thread cost a fifth of the CPU time.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        runtime.block_on(serve::serve(flags))
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
