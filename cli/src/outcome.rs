//! The output of a command and its exit code.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
};

use anstyle::{AnsiColor, Style};
use anyhow::anyhow;
use cartouche_authoring::{finding::report, foreign, objects::Objects};
use cartouche_protocol::messages::diagnosis::Diagnosis;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Exit code: nothing is wrong.
pub(crate) const GOOD: u8 = 0;
/// Exit code: the command did its work and found something wrong, such as errors, failed tests, differences.
pub(crate) const FOUND: u8 = 1;
/// Exit code: the command could not do its work, or not all of it, for example wrong usage, unreadable files, no
/// cluster.
pub(crate) const FAILED: u8 = 2;

/// Output and exit code of a command.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Text for standard output. Colours are removed unless it is a terminal.
    pub(crate) out: String,
    /// True if `out` is written byte for byte unless standard output is a terminal: values, which programs need
    /// unchanged.
    pub(crate) is_exact: bool,
    /// Text for standard error.
    pub(crate) err: String,
    pub(crate) code: u8,
}

/// Returns a diagnosis as an error, in the words of the Runnable's conditions, with the cure as its hint.
pub(crate) fn to_error(diagnosis: &Diagnosis) -> anyhow::Error {
    match diagnosis.cure() {
        cure if cure.is_empty() => anyhow!("{diagnosis}"),
        cure => anyhow!("{diagnosis}\nhint: {cure}"),
    }
}

impl Outcome {
    pub(crate) fn good(out: impl Into<String>) -> Self {
        Self {
            out: out.into(),
            ..Self::default()
        }
    }

    /// Returns the outcome of an error, whose last lines may be hints.
    pub(crate) fn failed(error: &anyhow::Error) -> Self {
        let text = foreign::in_lines(&format!("{error:#}"));
        let (message, hints) = text.split_once("\nhint: ").unwrap_or((&text, ""));
        let mut err = format!("{ERROR}error{ERROR:#}: {message}\n");
        for hint in hints.split("\nhint: ").filter(|hint| !hint.is_empty()) {
            // Writing to a string cannot fail.
            let _ = writeln!(err, "{HINT}hint{HINT:#}: {hint}");
        }
        Self {
            err,
            code: FAILED,
            ..Self::default()
        }
    }

    /// Adds the findings about unreadable files to the outcome of a command on these objects, which then counts as
    /// failed.
    pub(crate) fn with_unreadable(mut self, objects: &Objects) -> Self {
        if !objects.findings.is_empty() {
            let findings = report::in_order(objects.findings.clone());
            self.err += &report::write(&findings, report::Format::Text);
            self.code = FAILED;
        }
        self
    }

    /// Prints the output. A reader that went away (`| head`) is no error.
    pub(crate) fn print(&self) -> io::Result<()> {
        // Standard output comes first, also when both go to one terminal.
        let out = if self.is_exact && !io::stdout().is_terminal() {
            io::stdout().write_all(self.out.as_bytes())
        } else {
            print(&self.out).map(drop)
        };
        let err = print_error(&self.err);
        match out.and(err) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

/// Prints to standard output and flushes. Returns false if the reader went away.
pub(crate) fn print(text: &str) -> io::Result<bool> {
    let text = foreign::to_a_terminal(text);
    let mut out = anstream::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true),
    }
}

/// Prints a remark to standard error.
pub(crate) fn note(text: &str) -> io::Result<()> {
    print_error(&format!("note: {}\n", foreign::in_one_line(text)))
}

/// Prints to standard error.
pub(crate) fn print_error(text: &str) -> io::Result<()> {
    anstream::stderr().write_all(foreign::to_a_terminal(text).as_bytes())
}
