//! The run that a person refuses, with the reason.

use serde::{Deserialize, Serialize};

use crate::rerun::keep_words;

/// Maximum length of a reason, in characters. A longer one is cut.
pub const MAX_REASON: usize = 1_024;

/// The value of the annotation `carto.run/rejected` of a Runnable, which `cartouche approve --reject` writes:
/// `{"approval": "4:v1:0f3a…", "by": "alice", "reason": "not before Monday"}`. The admission policy of approvals
/// decides who may set it. The audit log of the API server is the proof of who did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// The refused run, as in `status.pending.approval`.
    pub approval: String,
    /// The person, as named in the annotation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// The reason, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl Rejection {
    /// Parses the annotation, cuts long texts and replaces control characters with spaces. Returns `None` if it
    /// has another form.
    #[must_use]
    pub fn parse(annotation: &str) -> Option<Self> {
        let mut read: Self = serde_json::from_str(annotation).ok()?;
        keep_words(&mut read.by);
        read.reason = read
            .reason
            .chars()
            .take(MAX_REASON)
            .map(|character| {
                if character.is_control() {
                    ' '
                } else {
                    character
                }
            })
            .collect();
        Some(read)
    }

    /// Returns the value of the annotation.
    #[must_use]
    pub fn annotation(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejection(reason: &str) -> Rejection {
        Rejection {
            approval: "4:v1:00ff".to_owned(),
            by: "alice".to_owned(),
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn what_was_written_is_read_back() {
        for reason in ["not before Monday", "", "\"quoted\": {}"] {
            let rejection = rejection(reason);
            assert_eq!(Rejection::parse(&rejection.annotation()), Some(rejection));
        }
        let bare = r#"{"approval": "4:v1:00ff"}"#;
        assert_eq!(Rejection::parse(bare).unwrap().approval, "4:v1:00ff");
    }

    #[test]
    fn another_form_refuses_nothing() {
        for text in ["", "4:v1:00ff", "true", "{}", "[]", r#"{"approval": 4}"#] {
            assert_eq!(Rejection::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn words_are_bounded_and_have_no_control_characters() {
        let long = rejection(&"ä\u{1b}".repeat(2 * MAX_REASON));
        let read = Rejection::parse(&long.annotation()).unwrap();
        assert_eq!(read.reason.chars().count(), MAX_REASON);
        assert!(read.reason.starts_with("ä ä "), "{}", read.reason);
    }
}
