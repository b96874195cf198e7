//! Processes that end with their owner, in whatever way the owner ends.
//!
//! Every process of the control plane runs under a supervisor: the demo binary's hidden command `supervise`,
//! which holds one end of a pipe. The owner holds the other end and never hands it on, so the kernel closes
//! it when the owner exits, crashes or is killed. The supervisor then kills its process group. The pipe also
//! carries the signals that tests send, and a second pipe confirms each one. This works the same on Linux and
//! macOS and needs no unsafe code.

use std::{
    ffi::{OsStr, OsString},
    fs::OpenOptions,
    io::{self, BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use crate::progress::elapsed;

/// A signal to a supervised process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Asks the process to end (SIGTERM).
    Terminate,
    /// Asks the process to end as Ctrl-C does (SIGINT).
    Interrupt,
    /// Ends the process at once (SIGKILL).
    Kill,
    /// Suspends the process (SIGSTOP), as a long pause of the machine would.
    Pause,
    /// Lets the process continue (SIGCONT).
    Resume,
}

impl Signal {
    const ALL: [Self; 5] = [
        Self::Terminate,
        Self::Interrupt,
        Self::Kill,
        Self::Pause,
        Self::Resume,
    ];

    /// Returns the word for this signal on the pipe.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Terminate => "terminate",
            Self::Interrupt => "interrupt",
            Self::Kill => "kill",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.word() == word)
    }
}

/// A program to run under supervision.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    log: PathBuf,
    restart_on: Option<u8>,
}

impl Program {
    /// Returns the program at `path`; its output is appended to `log`.
    pub fn new(path: impl Into<PathBuf>, log: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            log: log.into(),
            restart_on: None,
        }
    }

    /// Lets the supervisor restart the program whenever it ends by itself with this exit code.
    #[must_use]
    pub fn restart_on(mut self, code: u8) -> Self {
        self.restart_on = Some(code);
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments
            .extend(arguments.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }
}

/// A running program, killed when this value is dropped or this process ends.
#[derive(Debug)]
pub struct Supervised {
    name: String,
    log: PathBuf,
    supervisor: Mutex<Child>,
    leash: Mutex<Option<Leash>>,
}

/// The pipes to a supervisor and back.
#[derive(Debug)]
struct Leash {
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Leash {
    /// Returns once the supervisor has carried the order out or is gone.
    fn order(&mut self, word: &str) -> io::Result<()> {
        match writeln!(self.orders, "{word}") {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            other => other?,
        }
        self.answers.read_line(&mut String::new()).map(drop)
    }
}

impl Supervised {
    /// Starts a program under a supervisor, which is `demo`, the demo binary.
    pub fn start(demo: &Path, program: &Program) -> io::Result<Self> {
        let Program {
            path,
            arguments,
            environment,
            log,
            restart_on,
        } = program;
        let mut command = Command::new(demo);
        command.arg("supervise").arg("--log").arg(log);
        if let Some(code) = restart_on {
            command.arg("--restart-on").arg(code.to_string());
        }
        command
            .arg("--")
            .arg(path)
            .args(arguments)
            .envs(environment.iter().map(|(name, value)| (name, value)));
        let name = path.file_name().unwrap_or(path.as_os_str());
        Self::leashed(command, name.to_string_lossy().into_owned(), log)
    }

    /// Starts a command of the demo binary that itself ends some time after the pipe is closed.
    pub(super) fn leashed(mut command: Command, name: String, log: &Path) -> io::Result<Self> {
        let output = OpenOptions::new().create(true).append(true).open(log)?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output)
            // Ctrl-C goes to the whole foreground group; the owner decides what it means.
            .process_group(0);
        let mut supervisor = command.spawn()?;
        let pipes = supervisor.stdin.take().zip(supervisor.stdout.take());
        let leash = pipes.map(|(orders, answers)| Leash {
            orders,
            answers: BufReader::new(answers),
        });
        Ok(Self {
            name,
            log: log.to_owned(),
            supervisor: Mutex::new(supervisor),
            leash: Mutex::new(leash),
        })
    }

    /// Returns the file that has the program's output.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Returns the name of the program, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends a signal and returns once it was sent. It is no error if the program has ended already.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match lock(&self.leash).as_mut() {
            None => Ok(()),
            Some(leash) => leash.order(signal.word()),
        }
    }

    /// Returns the exit status of the program, or `None` while it runs. After a signal, the code is 128 plus
    /// the number of the signal, as in a shell.
    pub fn ended(&self) -> io::Result<Option<ExitStatus>> {
        lock(&self.supervisor).try_wait()
    }

    /// Waits until the program has ended by itself.
    pub async fn wait(&self, at_most: Duration) -> io::Result<ExitStatus> {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if begin.elapsed() > at_most {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!(
                        "{} still runs after {}; its log: {}",
                        self.name,
                        elapsed(at_most),
                        self.log.display()
                    ),
                ));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Kills the program (SIGKILL) and returns once it is gone.
    pub fn kill(&self) -> io::Result<ExitStatus> {
        drop(lock(&self.leash).take());
        lock(&self.supervisor).wait()
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // A supervisor that cannot be waited for still acts alone.
        let _ = self.kill();
    }
}

/// Locks a mutex that outlives a panic elsewhere: a panic cannot spoil the state of a child process.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_is_read_back_as_it_was_written() {
        for signal in Signal::ALL {
            assert_eq!(Signal::from_word(signal.word()), Some(signal));
        }
        assert_eq!(Signal::from_word("hang up"), None);
    }
}
