//! The run that waits for approval, or was rejected.

use std::fmt;

use cartouche_crds::{APPROVED_ANNOTATION, Approval, Rejection};
use cartouche_language::MADE_HASH_VERSION;

use super::Diagnosis;

/// A run that does not begin without approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalGuard {
    /// The text that approves it.
    pub wanted: Approval,
    /// The namespace of the Runnable.
    pub namespace: String,
    /// The Runnable.
    pub runnable: String,
}

impl ApprovalGuard {
    pub(super) fn approve(&self) -> String {
        let (namespace, runnable) = (&self.namespace, &self.runnable);
        format!(
            "`cartouche approve {runnable} -n {namespace}` shows what it changes, and approves it"
        )
    }

    pub(super) fn change(&self) -> String {
        let approve = self.approve();
        format!(
            "change what was rejected, which then needs a new approval; or approve it anyway: {approve}"
        )
    }
}

/// The meaning of the approval annotation of a Runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenApproval {
    /// Nothing: the text cannot be parsed.
    Unreadable,
    /// A run of another number.
    OtherRun(i64),
    /// A run of this number, of another document.
    OtherDocument,
    /// A run of this number, with another document, another profile, or other values that these
    /// read.
    OtherMaking,
}

impl GivenApproval {
    /// Compares the text of the annotation with what is wanted.
    #[must_use]
    pub fn compare(text: &str, wanted: &Approval) -> Self {
        match Approval::parse(text) {
            None => Self::Unreadable,
            Some(given) if given.sequence != wanted.sequence => Self::OtherRun(given.sequence),
            Some(_) if wanted.hash.starts_with(MADE_HASH_VERSION) => Self::OtherMaking,
            Some(_) => Self::OtherDocument,
        }
    }
}

/// Returns the sentence for a run that waits for approval.
#[must_use]
pub fn waits_for_a_person(sequence: i64) -> String {
    format!("run {sequence} needs approval")
}

/// Returns the sentence for a run that needs approval or was rejected.
pub(super) fn sentence(diagnosis: &Diagnosis) -> String {
    match diagnosis {
        Diagnosis::ApprovalRequired(guarded, given) => waiting(guarded, *given),
        Diagnosis::Rejected(guarded, rejection) => rejected(guarded, rejection),
        _ => String::new(),
    }
}

/// Returns the sentence for a run that waits, with what the annotation approves instead.
fn waiting(guarded: &ApprovalGuard, given: Option<GivenApproval>) -> String {
    let waits = waits_for_a_person(guarded.wanted.sequence);
    match given {
        Some(given) => format!("{waits} ({given})"),
        None => waits,
    }
}

/// Returns the sentence for a rejected run, with the person's reason. `{:?}` escapes control
/// sequences for terminals in it.
fn rejected(guarded: &ApprovalGuard, rejection: &Rejection) -> String {
    let by = match rejection.by.as_str() {
        "" => "a user".to_owned(),
        by => format!("{by:?}"),
    };
    let refused = format!("{by} has rejected run {}", guarded.wanted.sequence);
    match rejection.reason.as_str() {
        "" => refused,
        reason => format!("{refused}: {reason:?}"),
    }
}

impl fmt::Display for GivenApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the annotation {APPROVED_ANNOTATION} ")?;
        match self {
            Self::Unreadable => {
                f.write_str("approves nothing: its form is not <number>:<hash>")
            }
            Self::OtherRun(sequence) => write!(f, "is for run {sequence}"),
            Self::OtherDocument => f.write_str("is for another document than the one that is rendered now"),
            Self::OtherMaking => {
                f.write_str("does not match the run any more: its document, its profile, or a value that these read has changed")
            }
        }
    }
}
