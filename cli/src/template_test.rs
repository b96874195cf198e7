//! Tests of templates: folders with inputs and expected results.

pub(crate) mod difference;
pub(crate) mod find;
pub(crate) mod junit;
pub(crate) mod perform;
pub(crate) mod play;
mod profile;
mod sources;

use std::path::PathBuf;

use cartouche_protocol::profiles::Labels;

use crate::manifests::{Boundary, TEST_FILES};

/// A test case.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The folder, relative to where the search began.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// All that it reads and writes is inside of it.
    pub(crate) boundary: Boundary,
    pub(crate) description: Option<String>,
    pub(crate) template: Option<PathBuf>,
    pub(crate) runnable: Option<PathBuf>,
    pub(crate) selected: Option<PathBuf>,
    /// The objects that inputs come from.
    pub(crate) sources: Option<PathBuf>,
    /// The profile that the run is made with, regardless of its rules.
    pub(crate) profile: Option<PathBuf>,
    /// The profiles that rules choose from.
    pub(crate) profiles: Option<PathBuf>,
    /// Labels of the namespace, for rules that select namespaces.
    pub(crate) namespace_labels: Option<Labels>,
    /// Merged into the inputs of the Runnable.
    pub(crate) inputs: Option<serde_json::Value>,
}

/// File with the expected run.
const EXPECTED: &str = TEST_FILES[0];
/// File with the reason why no run is expected.
const EXPECTED_ERROR: &str = TEST_FILES[1];
/// Folder of the statuses that the engine of the run plays.
const PLAYED: &str = "played";
/// Suffix of the file with the expected result of a played status.
const PLAYED_EXPECTED: &str = ".expected.yaml";
/// File with the settings of a case, and of those below its folder.
const SETTINGS: &str = TEST_FILES[2];
