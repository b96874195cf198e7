//! Whether a person has to approve a run before it begins.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a person has to approve each run before it begins, except for further attempts of `retry` that are made of what was
/// approved; it is Manual if the Runnable or its template says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ApprovalPolicy {
    /// Nobody has to: it begins once it is due.
    #[default]
    Automatic,
    /// A person has to approve exactly this run.
    Manual,
}

impl ApprovalPolicy {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Automatic => "Automatic",
            Self::Manual => "Manual",
        }
    }

    /// What holds where both a Runnable and its template may say something: one that wants a person is enough.
    #[must_use]
    pub fn merged(one: Option<Self>, other: Option<Self>) -> Self {
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

/// The run that a person approves, written `<number>:<hash>`, such as `4:v1:0f3a…`, in the annotation `carto.run/approved` of the
/// Runnable. The hash covers all that the run is made of; its form is the controller's, and `status.pending.approval` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The number of the run.
    pub sequence: i64,
    /// The hash of what is sent to make it.
    pub hash: String,
}

impl Approval {
    /// Reads the value of the annotation. `None` if it has another form: nothing is left out or guessed, be it a space.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
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
            assert_eq!(Approval::of(&text), Some(approval));
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
            assert_eq!(Approval::of(text), None, "{text:?}");
        }
        for text in [
            format!("4:{hash}\n"),
            format!(" 4:{hash}"),
            format!("4:{hash} "),
        ] {
            assert_eq!(Approval::of(&text), None, "{text:?}");
        }
    }

    #[test]
    fn one_that_wants_a_person_is_enough() {
        use ApprovalPolicy::{Automatic, Manual};
        assert_eq!(ApprovalPolicy::merged(None, None), Automatic);
        assert_eq!(ApprovalPolicy::merged(Some(Automatic), None), Automatic);
        for (one, other) in [
            (Some(Manual), None),
            (None, Some(Manual)),
            (Some(Manual), Some(Automatic)),
            (Some(Automatic), Some(Manual)),
        ] {
            assert_eq!(ApprovalPolicy::merged(one, other), Manual);
        }
    }
}
