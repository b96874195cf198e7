//! The author and the reason of a request to stop a run.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::rerun::keep_words;

/// The request that `cartouche cancel` writes on a run, in the annotation `carto.run/cancel-request`:
/// `{"by": "alice", "reason": "the wrong branch", "at": "2026-01-01T00:00:00Z"}`. Every user who may edit the run
/// can write any text here. The proof is the audit log of the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancellation {
    /// The user who asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// The reason for the request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The time of the request, by the user's clock.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
}

impl Cancellation {
    /// Parses the annotation and cuts long texts. Any value except an empty one is a request: a text that a user
    /// wrote by hand becomes the reason.
    #[must_use]
    pub fn parse(annotation: &str) -> Option<Self> {
        let text = annotation.trim();
        if text.is_empty() {
            return None;
        }
        let by_hand = || Self {
            reason: text.to_owned(),
            ..Self::default()
        };
        let mut request: Self = serde_json::from_str(text).unwrap_or_else(|_| by_hand());
        for text in [&mut request.by, &mut request.reason, &mut request.at] {
            keep_words(text);
        }
        Some(request)
    }

    /// Returns the value of the annotation.
    #[must_use]
    pub fn annotation(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

/// Formats `stopped by alice: the wrong branch`, as far as it is known.
impl fmt::Display for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.by.as_str() {
            "" => f.write_str("stopped on request")?,
            by => write!(f, "stopped by {by}")?,
        }
        match self.reason.as_str() {
            "" => Ok(()),
            reason => write!(f, ": {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Cancellation {
        Cancellation {
            by: "alice".to_owned(),
            reason: "the wrong branch".to_owned(),
            at: "2026-01-01T00:00:00Z".to_owned(),
        }
    }

    #[test]
    fn what_was_written_is_read_back() {
        assert_eq!(Cancellation::parse(&asked().annotation()), Some(asked()));
    }

    #[test]
    fn as_much_is_told_as_is_known() {
        let told = |by: &str, reason: &str| {
            let (by, reason) = (by.to_owned(), reason.to_owned());
            let at = String::new();
            Cancellation { by, reason, at }.to_string()
        };
        assert_eq!(asked().to_string(), "stopped by alice: the wrong branch");
        assert_eq!(told("alice", ""), "stopped by alice");
        assert_eq!(told("", "too slow"), "stopped on request: too slow");
        assert_eq!(told("", ""), "stopped on request");
    }

    #[test]
    fn any_other_value_is_a_request_and_words_are_the_reason() {
        for (text, told) in [
            ("yes", "stopped on request: yes"),
            ("the wrong branch", "stopped on request: the wrong branch"),
            (r#"{"by":1}"#, r#"stopped on request: {"by":1}"#),
            (r#"{"by": "alice""#, r#"stopped on request: {"by": "alice""#),
            ("{}", "stopped on request"),
            (r#"{"who": "alice"}"#, "stopped on request"),
        ] {
            let read = Cancellation::parse(text).unwrap();
            assert_eq!(read.to_string(), told, "{text}");
        }
        let long = Cancellation::parse(&"é".repeat(1_000)).unwrap();
        assert_eq!(long.reason, "é".repeat(128));
    }

    #[test]
    fn whatever_stands_there_never_harms() {
        for text in ["", " ", "\n"] {
            assert_eq!(Cancellation::parse(text), None, "{text}");
        }
        let long = Cancellation {
            by: "\u{1b}[31ma\nb".to_owned(),
            reason: "é".repeat(1_000),
            ..asked()
        };
        let read = Cancellation::parse(&long.annotation()).unwrap();
        assert_eq!(read.by, " [31ma b");
        assert_eq!(read.reason, "é".repeat(128));
    }
}
