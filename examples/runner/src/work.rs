//! Small commands for a runner to run, and for pods of their own.

use std::{env, fs, time::Duration};

use anyhow::{Context as _, Result, bail};
use cartouche_runner::said;
use serde_json::json;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::command::OUTPUTS_PATH;

/// Exit code: the command is unknown, or its arguments are wrong.
const MISUSED: u8 = 2;

/// Pause between two printed lines.
const PAUSE: Duration = Duration::from_millis(500);

/// Runs a command, and returns the exit code.
pub(crate) async fn run(name: &str, arguments: &[String]) -> u8 {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match work(name, &arguments).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {name}: {error:#}");
            MISUSED
        }
    }
}

async fn work(name: &str, arguments: &[&str]) -> Result<u8> {
    match (name, arguments) {
        // Writes the number of words and bytes of a text as outputs.
        ("count", [text]) => count(text),
        // Prints so many lines, one after the other.
        ("print", [lines]) => print(lines.parse().context("how many lines")?).await,
        // Sleeps until SIGTERM, like the container that holds a pod together.
        ("sleep", []) => wait_for_the_end().await,
        // Writes this message and ends with that exit code.
        ("fail", [message, code]) => fail(message, code.parse().context("the exit code")?),
        _ => bail!(
            "no such command; there are: count TEXT, print LINES, sleep, fail MESSAGE CODE; \
             without arguments it is a runner"
        ),
    }
}

fn count(text: &str) -> Result<u8> {
    let counted = json!({ "words": text.split_whitespace().count(), "bytes": text.len() });
    println!("counted {counted}");
    match env::var(OUTPUTS_PATH) {
        Ok(path) => fs::write(&path, counted.to_string()).with_context(|| path)?,
        Err(_) => println!("the variable {OUTPUTS_PATH} names no file for it"),
    }
    Ok(0)
}

async fn print(lines: u32) -> Result<u8> {
    let mut terminate = signal(SignalKind::terminate())?;
    for line in 1..=lines {
        println!("line {line} of {lines}");
        tokio::select! {
            () = sleep(PAUSE) => {}
            _ = terminate.recv() => bail!("asked to end after line {line}"),
        }
    }
    Ok(0)
}

async fn wait_for_the_end() -> Result<u8> {
    let mut terminate = signal(SignalKind::terminate())?;
    println!("sleeps");
    terminate.recv().await;
    println!("was asked to end");
    Ok(0)
}

fn fail(message: &str, code: u8) -> Result<u8> {
    eprintln!("error: {message}");
    said::error(message)?;
    Ok(code)
}
