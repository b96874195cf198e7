//! Rendering of a template for a Runnable.

use std::sync::Arc;

use cartouche_crds::PinnedProfile;
use cartouche_templating::{Context, Rendered};

use crate::ledger::{Cause, Intent};

/// Rendered document and the facts that belong to it.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what a template says, of things that have nothing to do with each other"
)]
pub struct Rendering {
    /// True if the template and the selected object were read consistently after the Runnable.
    pub consistent: bool,
    /// The document.
    pub document: Arc<Rendered>,
    /// Hash of the rules for health and outputs.
    pub rules_hash: Arc<str>,
    /// True if the template declares outputs.
    pub has_outputs: bool,
    /// True if the template has a health rule of its own.
    pub has_health_rule: bool,
    /// Cause of the run: the objects that a person may have changed.
    pub cause: Cause,
    /// Context of the tags, with completed inputs; a profile reads the same.
    pub context: Arc<Context>,
    /// True if the template makes no run without a profile.
    pub needs_profile: bool,
}

impl Rendering {
    /// Returns the hash of the document in the version of another hash if that version is known, else in its own.
    #[must_use]
    pub fn hash_like(&self, other: &str) -> &str {
        let hashes = self.document.hashes();
        hashes.like(other).unwrap_or(hashes.own)
    }

    /// Builds the intent of a run of this document, with this attempt and profile.
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
