//! What a template renders for a Runnable.

use std::sync::Arc;

use cartouche_crds::PinnedProfile;
use cartouche_templating::{Context, Rendered};

use crate::ledger::{Cause, Intent};

/// What the template renders.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what a template says, of things that have nothing to do with each other"
)]
pub struct Rendering {
    /// Template and selected object were read consistently after the Runnable.
    pub consistent: bool,
    /// The document.
    pub document: Arc<Rendered>,
    /// The rules for health and outputs.
    pub rules_hash: Arc<str>,
    /// Whether the template declares outputs.
    pub has_outputs: bool,
    /// Whether it has a health rule of its own.
    pub has_health_rule: bool,
    /// What a person may have changed.
    pub cause: Cause,
    /// What its tags see, the inputs completed: a profile reads the same.
    pub context: Arc<Context>,
    /// Whether the template makes no run without a profile.
    pub needs_profile: bool,
}

impl Rendering {
    /// The hash of the document by the version of another hash, where that is known; else its own.
    #[must_use]
    pub fn hash_like(&self, other: &str) -> &str {
        let hashes = self.document.hashes();
        hashes.like(other).unwrap_or(hashes.own)
    }

    /// What a run of it would be, as this attempt and with this profile.
    #[must_use]
    pub fn intent(
        &self,
        rerun_token: Option<String>,
        attempt: i64,
        profile: Option<PinnedProfile>,
    ) -> Intent {
        Intent {
            input_hash: self.document.input_hash().to_owned(),
            approved: None,
            rerun_token,
            profile,
            api_version: self.document.api_version().to_owned(),
            kind: self.document.kind().to_owned(),
            rules_hash: self.rules_hash.to_string(),
            attempt,
        }
    }
}
