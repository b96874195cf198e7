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

const ACCEPTED: &str = "accepted";
const REFUSED: &str = "refused: ";
const UNKNOWN: &str = "unknown: ";

impl DryRun {
    /// What was written. `None` if it has another form.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        if text == ACCEPTED {
            return Some(Self::Accepted);
        }
        let why = |prefix| Some(text.strip_prefix(prefix)?.to_owned());
        why(REFUSED)
            .map(Self::Refused)
            .or_else(|| why(UNKNOWN).map(Self::Unknown))
    }
}

impl fmt::Display for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str(ACCEPTED),
            Self::Refused(why) => write!(f, "{REFUSED}{why}"),
            Self::Unknown(why) => write!(f, "{UNKNOWN}{why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let why = || "jobs: no".to_owned();
        for answer in [
            DryRun::Accepted,
            DryRun::Refused(why()),
            DryRun::Unknown(why()),
        ] {
            assert_eq!(DryRun::of(&answer.to_string()), Some(answer));
        }
        assert_eq!(DryRun::of("perhaps: no"), None);
    }
}
