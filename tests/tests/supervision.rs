//! A supervised program ends when its owner closes the pipe, and is restarted if so configured.

use std::{fs, path::Path, time::Duration};

use anyhow::Result;
use cartouche_tests::{
    cluster::{Seen, eventually},
    control_plane::supervise::{Program, Signal, Supervised},
};

const DEMO: &str = env!("CARGO_BIN_EXE_demo");
const SOON: Duration = Duration::from_secs(20);

async fn lines_in(log: &Path, wanted: usize) -> Result<()> {
    eventually(&format!("{wanted} lines"), SOON, || async {
        Ok(match fs::read_to_string(log)?.lines().count() {
            lines if lines == wanted => Seen::Done(()),
            lines => Seen::NotYet(format!("{lines} lines")),
        })
    })
    .await
}

#[tokio::test]
async fn the_exit_code_and_the_output_are_those_of_the_program() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    let program = Program::new("/bin/sh", &log)
        .args(["-c", "echo \"$WORD\"; echo two >&2; exit 7"])
        .env("WORD", "one");
    let status = Supervised::start(Path::new(DEMO), &program)?
        .wait(SOON)
        .await?;
    assert_eq!(status.code(), Some(7));
    assert_eq!(fs::read_to_string(&log)?, "one\ntwo\n");
    Ok(())
}

#[tokio::test]
async fn a_signal_reaches_the_program() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    let script = "trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let program = Program::new("/bin/sh", &log).args(["-c", script]);
    let running = Supervised::start(Path::new(DEMO), &program)?;
    lines_in(&log, 1).await?;
    running.signal(Signal::Terminate)?;
    assert_eq!(running.wait(SOON).await?.code(), Some(3));
    Ok(())
}

#[tokio::test]
async fn a_paused_program_does_nothing_until_it_is_resumed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    let script = "while :; do echo tick; sleep 0.02; done";
    let program = Program::new("/bin/sh", &log).args(["-c", script]);
    let running = Supervised::start(Path::new(DEMO), &program)?;
    grows(&log).await?;
    running.signal(Signal::Pause)?;
    let then = fs::metadata(&log)?.len();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(fs::metadata(&log)?.len(), then);
    running.signal(Signal::Resume)?;
    grows(&log).await
}

async fn grows(log: &Path) -> Result<()> {
    let before = fs::metadata(log)?.len();
    eventually("more output", SOON, || async {
        Ok(match fs::metadata(log)?.len() {
            length if length > before => Seen::Done(()),
            length => Seen::NotYet(format!("{length} bytes")),
        })
    })
    .await
}

#[tokio::test]
async fn a_killed_program_takes_its_children_along() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    let script = "(while :; do echo child; sleep 0.05; done) & wait";
    let program = Program::new("/bin/sh", &log).args(["-c", script]);
    let running = Supervised::start(Path::new(DEMO), &program)?;
    grows(&log).await?;
    assert_eq!(running.kill()?.code(), Some(128 + 9));
    let then = fs::metadata(&log)?.len();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(fs::metadata(&log)?.len(), then);
    Ok(())
}

#[tokio::test]
async fn only_the_agreed_exit_code_starts_a_program_again() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    let mark = folder.path().join("mark").display().to_string();
    let script = "echo run; if [ -e $0 ]; then exit 1; fi; touch $0; exit 2";
    let program = Program::new("/bin/sh", &log)
        .args(["-c", script, &mark])
        .restart_on(2);
    let status = Supervised::start(Path::new(DEMO), &program)?
        .wait(SOON)
        .await?;
    assert_eq!(status.code(), Some(1));
    assert_eq!(fs::read_to_string(&log)?, "run\nrun\n");
    Ok(())
}
