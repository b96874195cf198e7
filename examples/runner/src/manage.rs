//! What all runners have in common: the files, the timeout, the end, and what is said of it.

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

/// The work failed.
const FAILED: u8 = 1;
/// A file is missing or wrong: nothing was begun.
const WRONG_INPUT: u8 = 2;
/// It took longer than the context allows; as `timeout` of the shell has it.
const TIMED_OUT: u8 = 124;
/// It was asked to end (SIGTERM); as the shell has it.
const TERMINATED: u8 = 143;

/// How long the work may take to end once it is to stop. Kubernetes waits 30 s before it kills.
const GRACE: Duration = Duration::from_secs(20);

/// Asks for lines about each step, for people: `true`.
const DEV_MODE: &str = "RUNNER_LOGGER_DEV_MODE";

/// All that the `main` of a runner has to do.
#[must_use]
pub fn main(runner: impl Runner) -> ExitCode {
    block_on(run(runner))
}

/// Runs a future, which gives the exit code.
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

/// True for a text that Go reads as true.
fn is_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "true" | "True" | "TRUE")
}

fn log_for_people() {
    if env::var(DEV_MODE).is_ok_and(|text| is_true(&text)) {
        let lines = tracing_subscriber::fmt().with_max_level(Level::DEBUG);
        // A runner may have set up lines of its own.
        let _ = lines.with_ansi(false).with_target(false).try_init();
    }
}

/// Runs it, and returns the exit code.
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
    // Before the work begins: no signal is to be lost.
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
    // Nobody has to listen any more if it ended at this moment.
    let _ = stop.send(true);
    let how = match ended(runner).await {
        Ok(_) => "it then ended as if it were done".to_owned(),
        Err(error) => format!("{error:#}"),
    };
    Err((anyhow!("{why}: {how}"), code))
}

/// Waits for what was told to stop.
async fn ended(runner: &mut impl Runner) -> Result<Outputs> {
    let waited = timeout(GRACE, runner.wait()).await;
    waited.with_context(|| format!("it did not end within {GRACE:?}"))?
}

/// Returns the bound once it has passed; never without one.
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
