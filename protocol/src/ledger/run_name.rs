//! Names of runs, as the API server is asked for them.

use cartouche_crds::{CurrentRun, HistoryEntry};

use super::RunIdentity;

/// `apiVersion`, kind and name of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunName {
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

impl RunName {
    fn new(api_version: &str, kind: &str, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Returns the name of the current run.
    #[must_use]
    pub fn from_current(run: &CurrentRun) -> Self {
        Self::new(&run.api_version, &run.kind, &run.name)
    }

    /// Returns the name of an object.
    #[must_use]
    pub fn of_run(run: &RunIdentity) -> Self {
        Self::new(&run.api_version, &run.kind, &run.name)
    }

    /// Returns the object's name for messages: `Job shop/shop-build-1`.
    #[must_use]
    pub fn object(&self, namespace: &str) -> String {
        format!("{} {namespace}/{}", self.kind, self.name)
    }

    /// Returns the name of an earlier run.
    #[must_use]
    pub fn from_history(run: &HistoryEntry) -> Self {
        Self::new(&run.api_version, &run.kind, &run.name)
    }
}
