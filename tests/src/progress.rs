//! Progress of waits: a spinner with the time on a terminal, plain lines otherwise.

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Display of progress on standard error, past the capture of the test runner: a first build takes minutes,
/// and silence would look like a hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// One line that is redrawn until the step is done.
    Live,
    /// One line when a step begins and one when it is done.
    Plain,
    /// No output.
    Silent,
}

impl Progress {
    /// Returns `Live` on a terminal, or else `Plain`.
    #[must_use]
    pub fn for_stderr() -> Self {
        let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        if io::stderr().is_terminal() && !dumb {
            Self::Live
        } else {
            Self::Plain
        }
    }

    /// Begins a step. It shows as failed unless [`Step::done`] is called.
    #[must_use]
    pub fn step(self, what: impl Into<String>) -> Step {
        let what = what.into();
        let begin = Instant::now();
        let stop = Arc::new(AtomicBool::new(false));
        let spinner = match self {
            Self::Live => Some(spin(what.clone(), begin, Arc::clone(&stop))),
            Self::Plain => {
                say(&format!("{what} ...\n"));
                None
            }
            Self::Silent => None,
        };
        Step {
            progress: self,
            what,
            begin,
            stop,
            spinner,
        }
    }

    /// Prints one line.
    pub fn note(self, line: &str) {
        if self != Self::Silent {
            say(&format!("{line}\n"));
        }
    }
}

/// A step under way.
#[derive(Debug)]
pub struct Step {
    progress: Progress,
    what: String,
    begin: Instant,
    stop: Arc<AtomicBool>,
    spinner: Option<JoinHandle<()>>,
}

impl Step {
    /// Shows the step as done.
    pub fn done(mut self) {
        self.finish("done");
        self.progress = Progress::Silent;
    }

    fn finish(&mut self, how: &str) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(spinner) = self.spinner.take() {
            spinner.thread().unpark();
            // The spinner only writes; if it panicked there is no line to repair.
            let _ = spinner.join();
        }
        let took = elapsed(self.begin.elapsed());
        match self.progress {
            Progress::Live => {
                let mark = if how == "done" { "✓" } else { "✗" };
                say(&format!("\r\x1b[2K{mark} {} ({took})\n", self.what));
            }
            Progress::Plain => say(&format!("{}: {how} after {took}\n", self.what)),
            Progress::Silent => {}
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if self.progress != Progress::Silent {
            self.finish("failed");
        }
    }
}

fn spin(what: String, begin: Instant, stop: Arc<AtomicBool>) -> JoinHandle<()> {
    const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
    thread::spawn(move || {
        for frame in FRAMES.iter().cycle() {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            say(&format!(
                "\r\x1b[2K{frame} {what} ({})",
                elapsed(begin.elapsed())
            ));
            thread::park_timeout(Duration::from_millis(100));
        }
    })
}

/// Prints a text. A failure cannot be reported anywhere.
fn say(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

/// Returns a duration for readers: `0.4 s`, `12 s`, `3 min 05 s`.
#[must_use]
pub fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", duration.as_secs_f32()),
        10..60 => format!("{seconds} s"),
        _ => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_have_a_decimal_and_long_ones_minutes() {
        assert_eq!(elapsed(Duration::from_millis(420)), "0.4 s");
        assert_eq!(elapsed(Duration::from_secs(12)), "12 s");
        assert_eq!(elapsed(Duration::from_secs(185)), "3 min 05 s");
    }
}
