//! The start and the end of tags.

use std::ops::Range;

use super::alike::is_tag;
use crate::roots::ROOTS;

pub(crate) const START: &str = "$(";
pub(super) const END: &str = ")$";
pub(super) const QUOTED_START: &str = "$('";
pub(super) const QUOTED_END: &str = "')$";

/// A tag in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The path between the markers.
    pub path: String,
    /// The bytes of the text, markers included.
    pub span: Range<usize>,
    /// True if the tag is the whole text, so that its value keeps its type.
    pub alone: bool,
}

/// An unparsed piece of a string.
pub(crate) enum Raw<'a> {
    Text(&'a str),
    Quoted(&'a str),
    Tag(&'a str),
}

impl Raw<'_> {
    /// Returns the length of the piece in bytes, markers included.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Quoted(text) => QUOTED_START.len() + text.len() + QUOTED_END.len(),
            Self::Tag(path) => START.len() + path.len() + END.len(),
        }
    }
}

/// Formats an open tag for a rendered document, however its path was written.
pub(crate) fn format_open_tag(path: &str) -> String {
    format!("{START}{path}{END}")
}

/// Returns the path of a string that is only one tag. As in Cartographer, the path is everything between the first
/// marker and the last one, even another `)$`. Returns `None` if it is no tag.
pub(crate) fn only_tag(text: &str) -> Option<&str> {
    let inner = text.strip_prefix(START)?;
    let quoted = text.strip_prefix(QUOTED_START);
    if quoted.is_some_and(|rest| rest.contains(QUOTED_END)) || inner.contains(START) {
        return None;
    }
    inner.strip_suffix(END).filter(|inner| is_tag(inner))
}

/// Returns the positions of texts that begin like a valid tag, but lack its end.
#[must_use]
pub fn find_unclosed(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    if only_tag(text).is_some() {
        return found;
    }
    let mut at = 0;
    for piece in split(text) {
        if let Raw::Text(literal) = piece {
            let starts = literal.match_indices(START).map(|(start, _)| start);
            let begins = starts.filter(|start| begins_like_a_path(&literal[start + START.len()..]));
            found.extend(begins.map(|start| at + start));
        }
        at += piece.len();
    }
    found
}

fn begins_like_a_path(text: &str) -> bool {
    let below = ROOTS.iter().find_map(|root| text.strip_prefix(root));
    below.is_some_and(|below| below.starts_with('.'))
}

/// Returns true if a text holds a tag, or quoted text.
#[must_use]
pub fn has_tag(text: &str) -> bool {
    split(text)
        .iter()
        .any(|piece| !matches!(piece, Raw::Text(_)))
}

/// Returns the ranges of texts that have the markers of a tag, but are none.
#[must_use]
pub fn left_alone(text: &str) -> Vec<Range<usize>> {
    let mut left = Vec::new();
    if only_tag(text).is_none() {
        pieces(text, &mut left);
    }
    left
}

/// Splits a string into literal text and tags, from left to right.
pub(crate) fn split(text: &str) -> Vec<Raw<'_>> {
    pieces(text, &mut Vec::new())
}

/// Splits a string, and collects the texts that have the markers of a tag, but are none. It searches each marker
/// once from each place, so that the work is linear in the text, not quadratic.
fn pieces<'a>(text: &'a str, left: &mut Vec<Range<usize>>) -> Vec<Raw<'a>> {
    let mut pieces = Vec::new();
    let mut ends = Marks::new(text, END);
    let mut quoted_ends = Marks::new(text, QUOTED_END);
    let mut starts = Marks::new(text, START);
    let (mut at, mut done) = (0, 0);
    while let Some(start) = starts.from(at) {
        if text[start..].starts_with(QUOTED_START)
            && let Some(end) = quoted_ends.from(start + QUOTED_START.len())
        {
            pieces.push(Raw::Text(&text[done..start]));
            pieces.push(Raw::Quoted(&text[start + QUOTED_START.len()..end]));
            (at, done) = (end + QUOTED_END.len(), end + QUOTED_END.len());
            continue;
        }
        let inner = start + START.len();
        let Some(end) = ends.from(inner) else { break };
        if starts.from(inner).is_some_and(|next| next < end) {
            at = inner;
        } else if !is_tag(&text[inner..end]) {
            left.push(start..end + END.len());
            // The dollar sign at its end may begin the next one.
            at = inner;
        } else {
            pieces.push(Raw::Text(&text[done..start]));
            pieces.push(Raw::Tag(&text[inner..end]));
            (at, done) = (end + END.len(), end + END.len());
        }
    }
    pieces.push(Raw::Text(&text[done..]));
    pieces
}

/// Positions of a marker, for queries from left to right.
struct Marks<'a> {
    text: &'a str,
    mark: &'static str,
    /// The first position of the marker at or after that of the last query.
    next: Option<usize>,
}

impl<'a> Marks<'a> {
    fn new(text: &'a str, mark: &'static str) -> Self {
        Self {
            text,
            mark,
            next: text.find(mark),
        }
    }

    /// Returns the first position of the marker at or after `at`.
    fn from(&mut self, at: usize) -> Option<usize> {
        if self.next.is_some_and(|next| next < at) {
            let found = self.text[at..].find(self.mark);
            self.next = found.map(|found| at + found);
        }
        self.next
    }
}
