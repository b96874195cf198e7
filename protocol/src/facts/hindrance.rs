//! What keeps a run from going on.

use cartouche_templating::Said;

/// What keeps a run from going on, by what its pods say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hindrance {
    /// Nobody asked them since this process began.
    #[default]
    NotAsked,
    /// Nothing is known to.
    Nothing,
    /// This does.
    Said(Said),
}

impl Hindrance {
    /// What it is.
    #[must_use]
    pub fn said(&self) -> Option<Said> {
        match self {
            Self::Said(said) => Some(said.clone()),
            Self::NotAsked | Self::Nothing => None,
        }
    }
}
