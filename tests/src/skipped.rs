//! Reports of skipped tests, so that they do not count as passed.

use std::{
    fs::OpenOptions,
    io::{self, Write, stderr},
    thread,
};

/// Variable with the name of a file that gets a line for every skipped test. `.ci/run` repeats them at its
/// end.
const FILE: &str = "CARTOUCHE_SKIPPED";

/// Reports that the present test is skipped for lack of something, past the capture of the test runner, which
/// counts it as passed.
pub fn skipped(lacking: &str, why: &str) -> io::Result<()> {
    let current = thread::current();
    let test = current.name().unwrap_or("a test");
    let why = why.lines().next_back().unwrap_or_default().trim();
    let line = format!("{test}: {lacking} cannot be had: {why}\n");
    write!(stderr(), "\n=== SKIPPED, NOT PASSED: {line}")?;
    if let Some(file) = std::env::var_os(FILE) {
        let mut file = OpenOptions::new().create(true).append(true).open(file)?;
        file.write_all(line.as_bytes())?;
    }
    Ok(())
}
