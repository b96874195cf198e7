//! Whether a person has to approve a run before it begins.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::profile::ProfileVersion;

/// Whether a person has to approve each run before it begins, except for further attempts of `retry`; it is Manual if the
/// Runnable or its template says so.
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

/// What a person approves: one run of one document, made with one profile. Written `<number>:<hash>`, such as `4:v1:0f3a…`, and
/// with a profile `<number>:<hash>:<profile>@<generation>`, in the annotation `carto.run/approved` of the Runnable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The number of the run.
    pub sequence: i64,
    /// The hash of its document, whole.
    pub input_hash: String,
    /// The profile that it is made with, if any.
    pub profile: Option<ProfileVersion>,
}

impl Approval {
    /// Reads what somebody wrote. `None` if it has another form: nothing is left out or guessed, be it a space.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let (sequence, rest) = text.split_once(':')?;
        let (input_hash, profile) = match rest.rsplit_once(':') {
            Some((input_hash, profile)) if profile.contains('@') => {
                (input_hash, Some(ProfileVersion::of(profile)?))
            }
            _ => (rest, None),
        };
        let read = Self {
            sequence: sequence.parse().ok()?,
            input_hash: input_hash.to_owned(),
            profile,
        };
        let is_plain = input_hash.bytes().all(|byte| byte.is_ascii_graphic());
        (is_plain && !input_hash.is_empty() && read.to_string() == text).then_some(read)
    }
}

impl fmt::Display for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.sequence, self.input_hash)?;
        match &self.profile {
            Some(profile) => write!(f, ":{profile}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let approval = Approval {
            sequence: 4,
            input_hash: "v1:00ff".to_owned(),
            profile: None,
        };
        assert_eq!(approval.to_string(), "4:v1:00ff");
        let with_profile = Approval {
            profile: ProfileVersion::of("gke@3"),
            ..approval.clone()
        };
        assert_eq!(with_profile.to_string(), "4:v1:00ff:gke@3");
        assert_eq!(Approval::of("4:v1:00ff"), Some(approval));
        assert_eq!(Approval::of("4:v1:00ff:gke@3"), Some(with_profile));
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
            "4:v1:00ff:gke@",
            "4:v1:00ff:gke@03",
            "4:v1:00ff:@3",
            "4::gke@3",
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
