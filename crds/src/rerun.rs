//! The author and the reason of a re-run request.

use serde::{Deserialize, Serialize};

/// Maximum length of a name or a reason, in bytes. Longer texts are cut.
const KEPT_BYTES: usize = 256;

/// A re-run request in words, stored beside the re-run token in the annotation `carto.run/rerun-request` of a
/// Runnable, and later of its run: `{"token": "incident-4711", "by": "alice", "reason": "..."}`. Every user who
/// may edit the Runnable can write any text here. The proof is the audit log of the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RerunRequest {
    /// The re-run token that the request belongs to. With another token, it is an earlier request.
    pub token: String,
    /// The user who asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// The reason for the re-run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl RerunRequest {
    /// Parses the annotation and cuts long texts. Returns `None` unless it belongs to this token.
    #[must_use]
    pub fn parse(annotation: &str, token: &str) -> Option<Self> {
        let mut request: Self = serde_json::from_str(annotation).ok()?;
        for text in [&mut request.by, &mut request.reason] {
            keep_words(text);
        }
        (request.token == token).then_some(request)
    }

    /// Returns the value of the annotation.
    #[must_use]
    pub fn annotation(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

/// Cuts a user's text to `KEPT_BYTES` bytes. Control characters become spaces, because terminals show the text.
pub(crate) fn keep_words(text: &mut String) {
    text.truncate(text.floor_char_boundary(KEPT_BYTES));
    if text.contains(char::is_control) {
        *text = text.replace(char::is_control, " ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> RerunRequest {
        RerunRequest {
            token: "incident-4711".to_owned(),
            by: "alice".to_owned(),
            reason: "the registry was down".to_owned(),
        }
    }

    #[test]
    fn what_was_written_is_read_back() {
        let read = RerunRequest::parse(&asked().annotation(), "incident-4711");
        assert_eq!(read, Some(asked()));
    }

    #[test]
    fn words_beside_an_earlier_token_are_not_those_of_a_later_one() {
        assert_eq!(RerunRequest::parse(&asked().annotation(), "another"), None);
    }

    #[test]
    fn whatever_stands_there_never_harms() {
        for text in ["", "alice", "[]", r#"{"by":"alice"}"#, r#"{"token":1}"#] {
            assert_eq!(RerunRequest::parse(text, ""), None, "{text}");
        }
        let long = RerunRequest {
            reason: "é".repeat(1_000),
            ..asked()
        };
        let read = RerunRequest::parse(&long.annotation(), "incident-4711").unwrap();
        assert_eq!(read.reason, "é".repeat(128));
        let coloured = RerunRequest {
            reason: "\u{1b}[31mred\nalert".to_owned(),
            ..asked()
        };
        let read = RerunRequest::parse(&coloured.annotation(), "incident-4711").unwrap();
        assert_eq!(read.reason, " [31mred alert");
    }
}
