//! Tests of templates: folders with inputs and expected results.

pub(crate) mod difference;
pub mod find;
pub mod junit;
pub mod perform;
pub(crate) mod play;
mod profile;
mod sources;

use std::path::PathBuf;

use cartouche_protocol::profiles::Labels;

use crate::manifests::{Boundary, TEST_FILES};

/// A test case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The folder, relative to where the search began.
    pub name: String,
    /// Folder with the expected result.
    pub folder: PathBuf,
    /// All that it reads and writes is inside of it.
    pub boundary: Boundary,
    /// Description for people.
    pub description: Option<String>,
    /// File of the template.
    pub template: Option<PathBuf>,
    /// File of the Runnable.
    pub runnable: Option<PathBuf>,
    /// File of the selected object.
    pub selected: Option<PathBuf>,
    /// The objects that inputs come from.
    pub sources: Option<PathBuf>,
    /// The profile that the run is made with, regardless of its rules.
    pub profile: Option<PathBuf>,
    /// The profiles that rules choose from.
    pub profiles: Option<PathBuf>,
    /// Labels of the namespace, for rules that select namespaces.
    pub namespace_labels: Option<Labels>,
    /// Merged into the inputs of the Runnable.
    pub inputs: Option<serde_json::Value>,
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
