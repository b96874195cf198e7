//! What a number is given for, and what has become of the entry before it.

use cartouche_crds::PinnedProfile;

use super::{Ledger, RunIdentity};

impl Ledger {
    /// The hash of all that the current run is made of, as a person approved it, if one had to.
    #[must_use]
    pub fn approved_hash(&self) -> Option<&str> {
        let current = self.current.as_ref()?;
        Some(current.approved.as_deref().unwrap_or(&current.input_hash))
    }

    /// APPROVE: the current entry, which has its number, is going to be made of something else than was approved before, and a
    /// person has approved that.
    #[must_use]
    pub fn approve(mut self, hash: String) -> Self {
        if let Some(current) = &mut self.current {
            current.approved = Some(hash).filter(|hash| *hash != current.input_hash);
        }
        self
    }
}

/// What is about to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Hash of what was rendered.
    pub input_hash: String,
    /// The hash that a person has approved, if it is another one.
    pub approved: Option<String>,
    /// The re-run request on the Runnable, if any.
    pub rerun_token: Option<String>,
    /// The profile that it is made with.
    pub profile: Option<PinnedProfile>,
    /// The `apiVersion` of the run.
    pub api_version: String,
    /// The kind of the run.
    pub kind: String,
    /// The rules for its health and outputs.
    pub rules_hash: String,
    /// Which attempt it is at this document and request.
    pub attempt: i64,
}

/// What a consistent read of the name of the entry that is superseded said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // lives for one call
pub enum Fate {
    /// It was confirmed before, or never attempted: there was nothing to read.
    Known,
    /// No run of ours holds its name; one may still be on its way.
    Absent,
    /// The account may not read its name: a run may hold it since the intent.
    Unread,
    /// This run of ours holds its name.
    Found(RunIdentity),
    /// The object with this uid, which is somebody else's, holds its name.
    Taken(String),
}
