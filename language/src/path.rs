//! The path dialect of kubectl: `.spec.items[0].name`, `.status.conditions[?(@.type=="Ready")].status`.
//!
//! Tags, outputs and health rules are written in this dialect. It is older than RFC 9535 and differs from it in
//! points that matter to a template: escapes, an error for an index out of range, an error for a comparison of a
//! text with a number, no result (rather than a match) for a missing side. So paths are evaluated here, and not
//! translated for a library of the standard:
//!
//! - in the result of such a library the errors above look like "nothing matched";
//! - numbers must compare exactly, and `jsonpath-rust` compares them as floats that are nearly equal, so that
//!   9007199254740992 equals 9007199254740993;
//! - work must be bounded: here every visited node is counted, while a library's `..` copies a path for every node
//!   before the first of them can be counted;
//! - most paths are plain keys, and those are looked up here without an allocation.
//!
//! Tests compare the two wherever both dialects mean the same.

mod compare;
mod error;
mod evaluate;
mod meet;
mod parse;
mod step;
mod unquote;

use std::{borrow::Cow, ops::Range};

use serde_json::Value;

use crate::bounds::{MAX_PATH_BYTES, Work};
pub use error::{PathError, SearchError, SyntaxError};
use evaluate::Absent;
pub(crate) use parse::ends_word;
pub(crate) use step::{PathNode, Slice};

/// A parsed path, to be evaluated many times.
#[derive(Clone, Debug)]
pub struct Path {
    raw: String,
    nodes: Vec<PathNode>,
}

/// Returns a hint for a quoted name with a dot, which kubectl reads as two names: most authors mean one name.
fn hint(raw: &str) -> &'static str {
    let mut quoted = raw
        .split("['")
        .skip(1)
        .filter_map(|rest| rest.split("']").next());
    if quoted.any(parts_names) {
        ": a dot within a name is written \\."
    } else {
        ""
    }
}

/// Returns true if a quoted name is read as several names.
fn parts_names(quoted: &str) -> bool {
    quoted.replace("\\.", "").contains('.')
}

/// Returns the positions of names between `['` and `']` that are read as several.
pub(crate) fn parted_names(raw: &str) -> Vec<Range<usize>> {
    let names = parse::quoted_names(&wrap(raw)).into_iter();
    names
        .map(|name| unwrapped(name, raw))
        .filter(|name| raw.get(name.clone()).is_some_and(parts_names))
        .collect()
}

/// Returns the steps of a path with the bytes that each covers, up to the first that cannot be parsed.
pub(crate) fn spans(raw: &str) -> Vec<(PathNode, Range<usize>)> {
    let spans = parse::spans(&wrap(raw)).into_iter();
    spans
        .map(|(node, span)| (node, unwrapped(span, raw)))
        .collect()
}

/// Translates a position in a path with all its braces to one in the written path.
fn unwrapped(span: Range<usize>, raw: &str) -> Range<usize> {
    let before = opening(raw).len();
    let at = |at: usize| at.saturating_sub(before).min(raw.len());
    at(span.start)..at(span.end)
}

impl Path {
    /// Parses a path as users write it: `a.b`, `.a.b` and `{.a.b}` are the same.
    pub fn parse(raw: &str) -> Result<Self, PathError> {
        if raw.is_empty() {
            return Err(PathError::Empty);
        }
        if raw.len() > MAX_PATH_BYTES {
            return Err(PathError::TooLong(raw.len()));
        }
        let nodes = parse::parse(&wrap(raw))?;
        Ok(Self {
            raw: raw.to_owned(),
            nodes,
        })
    }

    /// Returns the path as it was written.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Returns the path without its optional parts.
    pub(crate) fn strip_optional(&self) -> &str {
        opened(&self.raw)
    }

    /// Returns the number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the keys that the path begins with, up to its first step that is no key.
    #[must_use]
    pub fn leading_keys(&self) -> Vec<&str> {
        self.nodes.iter().map_while(PathNode::key).collect()
    }

    /// Returns the type of the condition that the path selects from a status, if it selects one:
    /// `.status.conditions[?(@.type=="Ready")]`.
    #[must_use]
    pub fn condition(&self) -> Option<&str> {
        match self.nodes.as_slice() {
            [
                PathNode::Key(status),
                PathNode::Key(conditions),
                PathNode::Filter(filter),
                ..,
            ] if (status.as_str(), conditions.as_str()) == ("status", "conditions") => {
                filter.equal_to("type")
            }
            _ => None,
        }
    }

    /// Returns the one value that the path leads to. A null is a value; none, or more than one, is an error.
    pub fn evaluate<'a>(
        &'a self,
        root: &'a Value,
        work: &mut Work,
    ) -> Result<&'a Value, PathError> {
        self.evaluate_typed(root, |_| None, work)
    }

    /// Returns the same in a document in which some absent fields have a value: `absent` is called with all keys
    /// down to the missing one.
    pub fn evaluate_typed<'a>(
        &'a self,
        root: &'a Value,
        absent: Absent,
        work: &mut Work,
    ) -> Result<&'a Value, PathError> {
        work.start_path();
        let results = evaluate::evaluate(&self.nodes, root, absent, work)?;
        match results.as_slice() {
            [value] => Ok(value),
            [] => Err(PathError::Missing(shorten(&self.raw).into_owned())),
            _ => Err(PathError::TooMany(shorten(&self.raw).into_owned())),
        }
    }
}

/// Cuts a user's text for an error message, so that it does not hide the problem.
#[must_use]
pub fn shorten(text: &str) -> Cow<'_, str> {
    const LIMIT: usize = 200;
    if text.len() <= LIMIT {
        return Cow::Borrowed(text);
    }
    let head = &text[..text.floor_char_boundary(LIMIT)];
    Cow::Owned(format!("{head}..."))
}

/// Returns a path without its optional parts.
fn opened(raw: &str) -> &str {
    let raw = raw.strip_prefix('{').unwrap_or(raw);
    let raw = raw.strip_suffix('}').unwrap_or(raw);
    raw.strip_prefix('.').unwrap_or(raw)
}

/// Returns the optional part that is missing at the start of a path.
fn opening(raw: &str) -> &'static str {
    match raw {
        _ if raw.starts_with("{.") => "",
        _ if raw.starts_with('.') => "{",
        _ => "{.",
    }
}

/// Adds the optional braces and the first dot.
fn wrap(raw: &str) -> String {
    let start = opening(raw);
    let end = if raw.ends_with('}') { "" } else { "}" };
    format!("{start}{raw}{end}")
}

#[cfg(test)]
mod tests;
