//! Reasons why a text is refused, with their places.

use std::ops::Range;

use super::node::MapEntry;

/// Objects and arrays inside each other in a file. Templates allow fewer; this bounds the recursion.
pub(super) const MAX_DEPTH: usize = 200;

/// Part of a text that kubectl refuses, or reads as something else than is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Reason in one sentence.
    pub message: String,
    /// Cure.
    pub help: Option<&'static str>,
    /// Bytes of the text that are refused.
    pub span: Range<usize>,
}

impl Refusal {
    pub(super) fn new(message: impl Into<String>, span: Range<usize>) -> Self {
        let message = message.into();
        let help = help_for(&message);
        Self {
            message,
            help,
            span,
        }
    }

    /// Refuses a duplicate key: kubectl silently takes the later value.
    pub(super) fn duplicate(key: &MapEntry, is_outermost: bool) -> Self {
        let message = format!("duplicate mapping key: {}", key.key);
        Self::new(message, key.key_span.clone()).help(if is_outermost {
            "a key may occur only once: remove one of them, or write --- between two objects"
        } else {
            "a key may occur only once: remove one of them"
        })
    }

    /// Refuses nesting that is deeper than `MAX_DEPTH`.
    pub(super) fn too_deep(span: Range<usize>) -> Self {
        let message = format!("objects and lists are nested more than {MAX_DEPTH} deep");
        Self::new(message, span)
    }

    pub(super) fn help(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }
}

/// Returns the cure of the most common mistakes.
fn help_for(message: &str) -> Option<&'static str> {
    let is_about = |what: &str| message.contains(what);
    if is_about("mapping values are not allowed") || is_about("expected ':'") {
        Some("put the value in quotes if it contains a colon followed by a space")
    } else if is_about("unknown escape character") {
        Some("in double quotes a backslash is written twice; in single quotes, or in none, once")
    } else if is_about("a tab ") {
        Some("indent with blanks: YAML does not allow tabs")
    } else if is_about("cannot start any token") {
        Some("put the value in quotes if it begins with this")
    } else if is_about("found a directive") {
        Some("remove it: kubectl accepts none, because it splits files at --- first")
    } else {
        None
    }
}
