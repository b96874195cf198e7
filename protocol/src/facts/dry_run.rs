//! Answer of the API server to a dry-run create of a run that waits for approval.

use std::fmt;

/// Outcome of a dry-run create of the run that waits for approval. Written as in `status.pending.dryRun`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// The API server would make the run.
    Accepted,
    /// The API server would refuse the run, for this reason.
    Refused(String),
    /// The answer is unknown, for this reason.
    Unknown(String),
}

const ACCEPTED: &str = "accepted";
const REFUSED: &str = "refused: ";
const UNKNOWN: &str = "unknown: ";

impl DryRun {
    /// Parses the written form. `None` if the text has another form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
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
            assert_eq!(DryRun::parse(&answer.to_string()), Some(answer));
        }
        assert_eq!(DryRun::parse("perhaps: no"), None);
    }
}
