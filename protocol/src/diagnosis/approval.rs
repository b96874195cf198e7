//! What a person has approved, where it is not the run that waits.

use std::fmt;

use cartouche_crds::{APPROVED_ANNOTATION, Approval};

/// What the annotation of a Runnable approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenApproval {
    /// Nothing: it cannot be read.
    Unreadable,
    /// A run of another number.
    OtherRun(i64),
    /// A run of this number, of another document.
    OtherDocument,
    /// This run of this document, made with another profile, or another generation of it.
    OtherProfile,
}

impl GivenApproval {
    /// What somebody wrote, against what is wanted.
    #[must_use]
    pub fn of(text: &str, wanted: &Approval) -> Self {
        match Approval::of(text) {
            None => Self::Unreadable,
            Some(given) if given.sequence != wanted.sequence => Self::OtherRun(given.sequence),
            Some(given) if given.input_hash != wanted.input_hash => Self::OtherDocument,
            Some(_) => Self::OtherProfile,
        }
    }
}

/// That a run waits for a person.
#[must_use]
pub fn waits_for_a_person(sequence: i64) -> String {
    format!("run {sequence} is due, and waits for a person to approve it")
}

/// The same, and what is approved instead of it.
pub(super) fn sentence(sequence: i64, given: Option<GivenApproval>) -> String {
    let waits = waits_for_a_person(sequence);
    match given {
        Some(given) => format!("{waits} ({given})"),
        None => waits,
    }
}

impl fmt::Display for GivenApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the annotation {APPROVED_ANNOTATION} ")?;
        match self {
            Self::Unreadable => {
                f.write_str("approves nothing: it has another form than <number>:<hash> or <number>:<hash>:<profile>@<generation>")
            }
            Self::OtherRun(sequence) => write!(f, "is for run {sequence}"),
            Self::OtherDocument => f.write_str("is for another document than what is rendered now"),
            Self::OtherProfile => {
                f.write_str("is for another profile than the run is made with now, or for what that was")
            }
        }
    }
}
