//! What the API server says of a run that waits for a person.

use std::fmt;

/// What became of a create that was only tried, of the run that waits for a person. Written as in `status.pending.dryRun`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// The API server would make it.
    Accepted,
    /// It would not, for this reason.
    Refused(String),
    /// It did not say, for this reason.
    Unknown(String),
}

impl fmt::Display for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("accepted"),
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::Unknown(why) => write!(f, "unknown: {why}"),
        }
    }
}
