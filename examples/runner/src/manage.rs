//! What all runners have in common: the files, the timeout, the end, and what is said of it.

use std::{future, time::Duration};

use anyhow::{Context as _, Error, Result, anyhow};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
    time::{sleep, timeout},
};

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

/// Runs it, and returns the exit code.
pub(crate) async fn run(mut runner: impl Runner) -> u8 {
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
    let input = Input {
        context,
        args,
        stop: stopped,
    };
    runner.start(input).await.map_err(failed)?;
    let (why, code) = tokio::select! {
        outcome = runner.wait() => return outcome.map_err(failed),
        bound = passed(at_most) => (format!("it took longer than {bound:?}"), TIMED_OUT),
        _ = terminate.recv() => ("it was asked to end".to_owned(), TERMINATED),
    };
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
