//! Reasons why a run does not progress.

use cartouche_engines::Said;

/// Reason why a run does not progress, as its pods give it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hindrance {
    /// The pods have not been asked since this process started.
    #[default]
    NotAsked,
    /// No hindrance is known.
    Nothing,
    /// The pods report this hindrance.
    Said(Said),
}

impl Hindrance {
    /// Returns what the pods report, or `None` if there is no report.
    #[must_use]
    pub fn report(&self) -> Option<Said> {
        match self {
            Self::Said(said) => Some(said.clone()),
            Self::NotAsked | Self::Nothing => None,
        }
    }
}
