//! Who asked for a re-run, and why.

use serde::{Deserialize, Serialize};

/// Bytes of a name or a reason that are kept.
const KEPT_BYTES: usize = 256;

/// The words beside a re-run token, in the annotation `carto.run/rerun-request` of a Runnable and then
/// of the run: `{"token": "incident-4711", "by": "alice", "reason": "..."}`. Whoever may edit the
/// Runnable may write anything here: the audit log of the API server is the proof.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RerunRequest {
    /// The token that it speaks of. Words beside another token are those of an earlier request.
    pub token: String,
    /// Who asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl RerunRequest {
    /// Reads the annotation. `None` unless it speaks of this token; long texts are cut.
    #[must_use]
    pub fn of(annotation: &str, token: &str) -> Option<Self> {
        let mut request: Self = serde_json::from_str(annotation).ok()?;
        for text in [&mut request.by, &mut request.reason] {
            keep_words(text);
        }
        (request.token == token).then_some(request)
    }

    /// The value of the annotation.
    #[must_use]
    pub fn annotation(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

/// Cuts a text of somebody to what is kept of it. Control characters become spaces: it is shown on terminals.
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
        let read = RerunRequest::of(&asked().annotation(), "incident-4711");
        assert_eq!(read, Some(asked()));
    }

    #[test]
    fn words_beside_an_earlier_token_are_not_those_of_a_later_one() {
        assert_eq!(RerunRequest::of(&asked().annotation(), "another"), None);
    }

    #[test]
    fn whatever_stands_there_never_harms() {
        for text in ["", "alice", "[]", r#"{"by":"alice"}"#, r#"{"token":1}"#] {
            assert_eq!(RerunRequest::of(text, ""), None, "{text}");
        }
        let long = RerunRequest {
            reason: "é".repeat(1_000),
            ..asked()
        };
        let read = RerunRequest::of(&long.annotation(), "incident-4711").unwrap();
        assert_eq!(read.reason, "é".repeat(128));
        let coloured = RerunRequest {
            reason: "\u{1b}[31mred\nalert".to_owned(),
            ..asked()
        };
        let read = RerunRequest::of(&coloured.annotation(), "incident-4711").unwrap();
        assert_eq!(read.reason, " [31mred alert");
    }
}
