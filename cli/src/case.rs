//! Tests of templates: folders with what goes in and what has to come out.

pub(crate) mod command;
mod difference;
mod find;
mod junit;
mod perform;
mod play;

use std::path::PathBuf;

/// What a case is about.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The folder, relative to where the search began.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) description: Option<String>,
    pub(crate) template: Option<PathBuf>,
    pub(crate) runnable: Option<PathBuf>,
    pub(crate) selected: Option<PathBuf>,
    /// Merged into the inputs of the Runnable.
    pub(crate) inputs: Option<serde_json::Value>,
}

/// The run that has to come out.
const EXPECTED: &str = "expected.yaml";
/// Why no run may come out.
const EXPECTED_ERROR: &str = "expected-error.txt";
/// The statuses that the engine of the run plays.
const PLAYED: &str = "played";
/// The end of the name of what has to come of a played status.
const PLAYED_EXPECTED: &str = ".expected.yaml";
/// Settings of a case, and of those below its folder.
const SETTINGS: &str = "case.yaml";
/// The files by which a folder is a case.
pub(crate) const FILES: [&str; 3] = [EXPECTED, EXPECTED_ERROR, SETTINGS];
