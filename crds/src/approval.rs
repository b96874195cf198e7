//! Approval of runs by a person.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Approval of each run before it begins: `Automatic`, the default, needs none; `Manual` needs that of a person.
/// It is `Manual` if the Runnable or its template says so. A retry needs no approval if it is made of what was
/// approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ApprovalPolicy {
    /// No approval is needed: a pending run begins.
    #[default]
    Automatic,
    /// A person must approve exactly this run.
    Manual,
}

impl ApprovalPolicy {
    /// Returns the policy as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Automatic => "Automatic",
            Self::Manual => "Manual",
        }
    }

    /// Merges the policies of a Runnable and its template: one `Manual` is enough.
    #[must_use]
    pub fn merge(one: Option<Self>, other: Option<Self>) -> Self {
        match (one, other) {
            (Some(Self::Manual), _) | (_, Some(Self::Manual)) => Self::Manual,
            _ => Self::Automatic,
        }
    }
}

impl fmt::Display for ApprovalPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The run that a person approves, written `<number>:<hash>`, such as `4:v1:0f3a…`, in the annotation
/// `carto.run/approved` of the Runnable. The hash covers all that the run is made of. The controller alone defines
/// its form, and publishes the value in `status.pending.approval`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The number of the run.
    pub sequence: i64,
    /// The hash of the create request.
    pub hash: String,
}

impl Approval {
    /// Parses the value of the annotation. Returns `None` if it has another form: even a space is not ignored.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (sequence, hash) = text.split_once(':')?;
        let read = Self {
            sequence: sequence.parse().ok()?,
            hash: hash.to_owned(),
        };
        let is_plain = hash.bytes().all(|byte| byte.is_ascii_graphic());
        (is_plain && !hash.is_empty() && read.to_string() == text).then_some(read)
    }
}

impl fmt::Display for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.sequence, self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        for hash in ["v1:00ff", "m1:00ff", "x", "of-a:later:release@9"] {
            let approval = Approval {
                sequence: 4,
                hash: hash.to_owned(),
            };
            let text = format!("4:{hash}");
            assert_eq!(approval.to_string(), text);
            assert_eq!(Approval::parse(&text), Some(approval));
        }
    }

    #[test]
    fn nothing_of_another_form_approves_anything() {
        let hash = "v1:00ff";
        for text in [
            "",
            "4",
            "4:",
            ":v1:00ff",
            "four:v1:00ff",
            "+4:v1:00ff",
            "04:v1:00ff",
            "4 :v1:00ff",
            "*",
            "true",
            "4:*\n",
        ] {
            assert_eq!(Approval::parse(text), None, "{text:?}");
        }
        for text in [
            format!("4:{hash}\n"),
            format!(" 4:{hash}"),
            format!("4:{hash} "),
        ] {
            assert_eq!(Approval::parse(&text), None, "{text:?}");
        }
    }

    #[test]
    fn one_that_wants_a_person_is_enough() {
        use ApprovalPolicy::{Automatic, Manual};
        assert_eq!(ApprovalPolicy::merge(None, None), Automatic);
        assert_eq!(ApprovalPolicy::merge(Some(Automatic), None), Automatic);
        for (one, other) in [
            (Some(Manual), None),
            (None, Some(Manual)),
            (Some(Manual), Some(Automatic)),
            (Some(Automatic), Some(Manual)),
        ] {
            assert_eq!(ApprovalPolicy::merge(one, other), Manual);
        }
    }
}
