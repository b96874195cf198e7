//! The other end of the pipe: the hidden commands `supervise` and `tidy-up` of the demo binary.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal as PosixSignal, kill_process_group};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    signal::unix::{SignalKind, signal},
};

use super::supervise::Signal;

/// How long the directory of a control plane is tried to be removed: its processes are being
/// killed at the same time and may still write.
const TIDY_UP: Duration = Duration::from_secs(10);

/// Runs a command until it ends, standard input is closed, or this process is asked to end.
/// Returns the command's exit code; ended by a signal, 128 and the number of the signal.
pub fn supervise(log: &Path, command: &[OsString]) -> io::Result<u8> {
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command to supervise"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(run(program, arguments, log));
    // A read of standard input cannot be cancelled; without this it would be waited for.
    runtime.shutdown_background();
    outcome
}

async fn run(program: &OsString, arguments: &[OsString], log: &Path) -> io::Result<u8> {
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut child = tokio::process::Command::from(command(program, arguments, log)?).spawn()?;
    let group = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    let send = |signal| group.map_or(Ok(()), |group| kill_process_group(group, signal));
    let mut words = BufReader::new(tokio::io::stdin()).lines();
    loop {
        let signal = tokio::select! {
            status = child.wait() => return Ok(code(status?)),
            word = words.next_line() => match word {
                Ok(Some(word)) => Signal::from_word(word.trim()),
                Ok(None) | Err(_) => Some(Signal::Kill),
            },
            _ = hang_up.recv() => Some(Signal::Kill),
            _ = terminate.recv() => Some(Signal::Kill),
            _ = interrupt.recv() => Some(Signal::Kill),
        };
        // A group that is gone already needs no signal.
        match signal {
            Some(Signal::Kill) => {
                let _ = send(PosixSignal::KILL);
                return Ok(code(child.wait().await?));
            }
            Some(other) => {
                let _ = send(posix(other));
            }
            None => {}
        }
    }
}

fn command(program: &OsString, arguments: &[OsString], log: &Path) -> io::Result<Command> {
    let open = || -> io::Result<File> { OpenOptions::new().create(true).append(true).open(log) };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(open()?)
        .stderr(open()?)
        .process_group(0);
    Ok(command)
}

fn posix(signal: Signal) -> PosixSignal {
    match signal {
        Signal::Terminate => PosixSignal::TERM,
        Signal::Interrupt => PosixSignal::INT,
        Signal::Kill => PosixSignal::KILL,
        Signal::Pause => PosixSignal::STOP,
        Signal::Resume => PosixSignal::CONT,
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 1,
    };
    u8::try_from(code).unwrap_or(1)
}

/// Waits until standard input is closed, then removes `directory`.
pub fn tidy_up(directory: &PathBuf) -> io::Result<()> {
    let mut ignored = Vec::new();
    io::stdin().read_to_end(&mut ignored)?;
    let begin = Instant::now();
    loop {
        match std::fs::remove_dir_all(directory) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if begin.elapsed() > TIDY_UP => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}
