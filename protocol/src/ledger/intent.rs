//! Intent of a new run, and the fate of the entry before it.

use cartouche_crds::PinnedProfile;

use super::{Ledger, RunIdentity};

impl Ledger {
    /// Returns the hash of everything that the current run is made of, as a person approved it if approval was
    /// required.
    #[must_use]
    pub fn approved_hash(&self) -> Option<&str> {
        let current = self.current.as_ref()?;
        Some(current.approved.as_deref().unwrap_or(&current.input_hash))
    }

    /// APPROVE: records that a person has approved a new composition of the current entry's run, which keeps its
    /// number.
    #[must_use]
    pub fn approve(mut self, hash: String) -> Self {
        if let Some(current) = &mut self.current {
            current.approved = Some(hash).filter(|hash| *hash != current.input_hash);
        }
        self
    }
}

/// Run that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Hash of the rendered document.
    pub input_hash: String,
    /// Hash that a person has approved, if it differs.
    pub approved: Option<String>,
    /// Re-run request on the Runnable, if any.
    pub rerun_token: Option<String>,
    /// Profile that it is made with.
    pub profile: Option<PinnedProfile>,
    /// `apiVersion` of the run.
    pub api_version: String,
    /// Kind of the run.
    pub kind: String,
    /// Hash of the rules for its health and outputs.
    pub rules_hash: String,
    /// Number of the attempt at this document and request.
    pub attempt: i64,
}

/// Result of a consistent read of the name of a superseded entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // lives for one call
pub enum Fate {
    /// Its run was confirmed before, or never attempted: there was nothing to read.
    Known,
    /// No run of ours holds its name; one may still be on its way.
    Absent,
    /// The account may not read its name: a run may have held it since the intent.
    Unread,
    /// This run of ours holds its name.
    Found(RunIdentity),
    /// The foreign object with this uid holds its name.
    Taken(String),
}
