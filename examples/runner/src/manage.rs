//! The common tasks of all runners: the files, the timeout, the end, and the report.

use std::{
    env,
    future::{self, Future},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, Error, Result, anyhow};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
    time::{sleep, timeout},
};
use tracing::{Level, debug};

use crate::{
    input::{self, ARGS_PATH, CONTEXT_PATH, Context},
    runner::{Input, Outputs, Runner},
    said,
};

/// Exit code: the work failed.
const FAILED: u8 = 1;
/// Exit code: a file is missing or wrong, and nothing was started.
const WRONG_INPUT: u8 = 2;
/// Exit code: the work exceeded the timeout of the context, as with `timeout` of the shell.
const TIMED_OUT: u8 = 124;
/// Exit code: the runner received SIGTERM, as in the shell.
const TERMINATED: u8 = 143;

/// Maximum time for the work to end once it is asked to stop. Kubernetes waits 30 s before it kills the container.
const GRACE: Duration = Duration::from_secs(20);

/// Environment variable that enables log lines for each step if it is `true`.
const DEV_MODE: &str = "RUNNER_LOGGER_DEV_MODE";

/// Runs a runner as the whole `main` of a program.
#[must_use]
pub fn main(runner: impl Runner) -> ExitCode {
    block_on(run(runner))
}

/// Runs a future that returns the exit code.
#[must_use]
pub fn block_on(future: impl Future<Output = u8>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(future).into(),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns true for a text that Go parses as true.
fn is_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "true" | "True" | "TRUE")
}

fn log_for_people() {
    if env::var(DEV_MODE).is_ok_and(|text| is_true(&text)) {
        let lines = tracing_subscriber::fmt().with_max_level(Level::DEBUG);
        // A runner may have set up logging of its own.
        let _ = lines.with_ansi(false).with_target(false).try_init();
    }
}

/// Runs a runner, and returns the exit code.
pub async fn run(mut runner: impl Runner) -> u8 {
    log_for_people();
    let outcome = managed(&mut runner).await;
    let (message, code) = match outcome {
        Ok(outputs) => match said::outputs(outputs) {
            Ok(()) => return 0,
            Err(error) => (error.to_string(), FAILED),
        },
        Err((error, code)) => (format!("{error:#}"), code),
    };
    let message = format!("{}: {message}", runner.name());
    eprintln!("error: {message}");
    if let Err(error) = said::error(&message) {
        eprintln!("error: {error}");
    }
    code
}

async fn managed(runner: &mut impl Runner) -> Result<Outputs, (Error, u8)> {
    let wrong_input = |error| (error, WRONG_INPUT);
    let failed = |error| (error, FAILED);
    let context: Context = input::read(CONTEXT_PATH).map_err(wrong_input)?;
    let args = input::read(ARGS_PATH).map_err(wrong_input)?;
    let at_most = context.timeout().map_err(wrong_input)?;
    // Before the work begins, so that no signal is lost.
    let mut terminate = signal(SignalKind::terminate()).map_err(|it| failed(it.into()))?;
    let (stop, stopped) = watch::channel(false);
    println!("{}: works for {}", runner.name(), context.name);
    debug!(?context, "the files were read");
    let input = Input {
        context,
        args,
        stop: stopped,
    };
    runner.start(input).await.map_err(failed)?;
    debug!(timeout = ?at_most, "it was started");
    let (why, code) = tokio::select! {
        outcome = runner.wait() => {
            debug!(succeeded = outcome.is_ok(), "it has ended");
            return outcome.map_err(failed);
        }
        bound = passed(at_most) => (format!("it took longer than {bound:?}"), TIMED_OUT),
        _ = terminate.recv() => ("it was asked to end".to_owned(), TERMINATED),
    };
    debug!(why, "it is to stop");
    // The receiver is gone if the work ended at this moment.
    let _ = stop.send(true);
    let how = match ended(runner).await {
        Ok(_) => "it then ended as if it were done".to_owned(),
        Err(error) => format!("{error:#}"),
    };
    Err((anyhow!("{why}: {how}"), code))
}

/// Waits for the end of work that was asked to stop.
async fn ended(runner: &mut impl Runner) -> Result<Outputs> {
    let waited = timeout(GRACE, runner.wait()).await;
    waited.with_context(|| format!("it did not end within {GRACE:?}"))?
}

/// Returns the limit once it has passed; never returns without one.
async fn passed(bound: Option<Duration>) -> Duration {
    match bound {
        None => future::pending().await,
        Some(bound) => {
            sleep(bound).await;
            bound
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_true;

    #[test]
    fn a_flag_is_read_as_go_reads_it() {
        for text in ["1", "true", "T"] {
            assert!(is_true(text), "{text}");
        }
        for text in ["", "0", "false", "yes"] {
            assert!(!is_true(text), "{text:?}");
        }
    }
}
