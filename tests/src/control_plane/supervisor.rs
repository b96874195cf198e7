//! The other end of the pipe: the hidden commands `supervise` and `tidy-up` of the demo binary.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal as PosixSignal, kill_process_group};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines, Stdin},
    signal::unix::{Signal as UnixSignal, SignalKind, signal},
    time::sleep,
};

use super::{node::remove_groups, supervise::Signal};

/// Maximum time to remove the directory of a control plane: its processes are being killed at the same time
/// and may still write.
const TIDY_UP: Duration = Duration::from_secs(10);

/// Pause before a crashed program starts again.
const BREATH: Duration = Duration::from_millis(200);

/// Runs a command until it ends, standard input is closed, or this process is asked to end. A command that
/// ends by itself with the exit code `restart_on` runs again.
///
/// Returns the command's exit code, or 128 plus the number of the signal that ended it.
pub fn supervise(log: &Path, restart_on: Option<u8>, command: &[OsString]) -> io::Result<u8> {
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command to supervise"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        let mut orders = Orders::new()?;
        loop {
            let child = command_line(program, arguments, log)?;
            match run(child, &mut orders).await? {
                End::OfItself(code) if Some(code) == restart_on => sleep(BREATH).await,
                End::OfItself(code) | End::Killed(code) => return Ok(code),
            }
        }
    });
    // A read of standard input cannot be cancelled; without this it would be waited for.
    runtime.shutdown_background();
    outcome
}

/// End of a command, with its exit code.
enum End {
    OfItself(u8),
    Killed(u8),
}

/// Orders to this process about the command.
struct Orders {
    words: Lines<BufReader<Stdin>>,
    hang_up: UnixSignal,
    terminate: UnixSignal,
    interrupt: UnixSignal,
}

impl Orders {
    fn new() -> io::Result<Self> {
        Ok(Self {
            words: BufReader::new(tokio::io::stdin()).lines(),
            hang_up: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> Option<Signal> {
        tokio::select! {
            word = self.words.next_line() => match word {
                Ok(Some(word)) => Signal::from_word(word.trim()),
                Ok(None) | Err(_) => Some(Signal::Kill),
            },
            _ = self.hang_up.recv() => Some(Signal::Kill),
            _ = self.terminate.recv() => Some(Signal::Kill),
            _ = self.interrupt.recv() => Some(Signal::Kill),
        }
    }
}

async fn run(command: Command, orders: &mut Orders) -> io::Result<End> {
    let mut child = tokio::process::Command::from(command).spawn()?;
    let group = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    let send = |signal| group.map_or(Ok(()), |group| kill_process_group(group, signal));
    loop {
        let order = tokio::select! {
            status = child.wait() => return Ok(End::OfItself(code(status?))),
            order = orders.next() => order,
        };
        // A group that is gone already needs no signal.
        match order {
            Some(Signal::Kill) => {
                let _ = send(PosixSignal::KILL);
                return Ok(End::Killed(code(child.wait().await?)));
            }
            Some(other) => {
                let _ = send(posix(other));
                carried_out()?;
            }
            None => carried_out()?,
        }
    }
}

/// Confirms an order to the owner, which waits for that.
fn carried_out() -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "done")?;
    stdout.flush()
}

fn command_line(program: &OsString, arguments: &[OsString], log: &Path) -> io::Result<Command> {
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

/// Waits until standard input is closed, and then removes `directory` and the control groups named after it.
pub fn tidy_up(directory: &Path) -> io::Result<()> {
    let mut ignored = Vec::new();
    io::stdin().read_to_end(&mut ignored)?;
    let begin = Instant::now();
    loop {
        match remove_all(directory).and_then(|()| remove_groups(directory)) {
            Ok(()) => return Ok(()),
            Err(error) if begin.elapsed() > TIDY_UP => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn remove_all(directory: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
