//! One string of a template: literal text and tags.
//!
//! A tag is `$(path)$`. A string that is nothing but one tag becomes the value itself, whatever its
//! type; in a longer string the value becomes text. What a tag yields is data: it is never looked at
//! for tags again.
//!
//! Two rules let shell scripts and Tekton's `$(params.x)` stand in a template. A `$(` of which another
//! `$(` comes before the next `)$` is literal. And `$('text')$` is the text itself, so `$('$(')$` yields
//! `$(`.

use serde_json::Value;

use crate::{
    bounds::{MAX_RENDERED_BYTES, Work, json_bytes_within},
    context::{self, Context, UnreadableField},
    diagnostic::DiagnosticKind,
    json_text,
    path::{Path, PathError, shown},
};

pub(crate) const START: &str = "$(";
const END: &str = ")$";
const QUOTED_START: &str = "$('";
const QUOTED_END: &str = "')$";

/// A string of a template, compiled.
#[derive(Clone, Debug)]
pub(crate) enum Leaf {
    /// No tag.
    Plain(String),
    /// Nothing but one tag: its value, with its type.
    Value { tag: Path, text: String },
    /// Text with tags in it: always a string.
    Mixed(Vec<Piece>),
}

#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Text(String),
    Tag(Path),
}

/// Why a tag has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// Its path has none.
    #[error(transparent)]
    Path(#[from] PathError),
    /// It reads what is not to be read.
    #[error(transparent)]
    UnreadableField(#[from] UnreadableField),
    /// It reads from neither root.
    #[error("{missing}: a tag reads runnable or selected, not '{root}'")]
    UnknownRoot {
        /// What its path is said to be otherwise.
        missing: PathError,
        /// What it begins with.
        root: String,
    },
    /// What it yields is too large.
    #[error("the rendered document is larger than {MAX_RENDERED_BYTES} bytes")]
    TooLarge,
}

impl TagError {
    /// Whether a limit was reached that makes it pointless to go on.
    fn is_final(&self) -> bool {
        matches!(self, Self::TooLarge | Self::Path(PathError::Exhausted(_)))
    }
}

/// What is wrong with a tag of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadTag {
    /// The tag without its markers.
    pub(crate) tag: String,
    pub(crate) kind: DiagnosticKind,
}

impl BadTag {
    fn of(tag: &Path, kind: DiagnosticKind) -> Self {
        let tag = tag.raw().to_owned();
        Self { tag, kind }
    }

    pub(crate) fn is_final(&self) -> bool {
        match &self.kind {
            DiagnosticKind::WholeValue { error, .. } | DiagnosticKind::InText(error) => {
                error.is_final()
            }
            _ => false,
        }
    }
}

/// A piece of a string that is not looked into yet.
pub(crate) enum Raw<'a> {
    Text(&'a str),
    Quoted(&'a str),
    Tag(&'a str),
}

impl Raw<'_> {
    /// Its bytes in the text, markers included.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Quoted(text) => QUOTED_START.len() + text.len() + QUOTED_END.len(),
            Self::Tag(path) => START.len() + path.len() + END.len(),
        }
    }
}

impl Leaf {
    /// Splits a string and parses every path in it. With errors, the rest of the string.
    pub(crate) fn compile(text: &str) -> (Self, Vec<BadTag>) {
        let bad = |raw: &str, kind| BadTag {
            tag: shown(raw).into_owned(),
            kind,
        };
        if let Some(raw) = only_tag(text) {
            return match parse(raw) {
                Ok(tag) => {
                    let text = text.to_owned();
                    (Self::Value { tag, text }, Vec::new())
                }
                Err(error) => {
                    let text = shown(text).into_owned();
                    let bad = bad(raw, DiagnosticKind::WholeValue { text, error });
                    (Self::Mixed(Vec::new()), vec![bad])
                }
            };
        }
        let (mut pieces, mut errors) = (Vec::new(), Vec::new());
        for piece in split(text) {
            match piece {
                Raw::Text(text) | Raw::Quoted(text) => push_text(&mut pieces, text),
                Raw::Tag(raw) => match parse(raw) {
                    Ok(path) => pieces.push(Piece::Tag(path)),
                    Err(error) => errors.push(bad(raw, DiagnosticKind::InText(error))),
                },
            }
        }
        let leaf = match pieces.as_mut_slice() {
            [] => Self::Plain(String::new()),
            [Piece::Text(text)] => Self::Plain(std::mem::take(text)),
            _ => Self::Mixed(pieces),
        };
        (leaf, errors)
    }

    /// The text of a string without tags.
    pub(crate) fn literal(text: &str) -> Option<String> {
        match Self::compile(text) {
            (Self::Plain(text), errors) if errors.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The paths of its tags.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        let (alone, pieces) = match self {
            Self::Plain(_) => (None, &[][..]),
            Self::Value { tag, .. } => (Some(tag), &[][..]),
            Self::Mixed(pieces) => (None, pieces.as_slice()),
        };
        let among_text = pieces.iter().filter_map(|piece| match piece {
            Piece::Tag(tag) => Some(tag),
            Piece::Text(_) => None,
        });
        alone.into_iter().chain(among_text).map(Path::raw)
    }

    /// Replaces the tags. `room` is what the rendered document may still grow by, in bytes.
    pub(crate) fn render(
        &self,
        context: &Context,
        work: &mut Work,
        room: &mut usize,
    ) -> Result<Value, Vec<BadTag>> {
        match self {
            Self::Plain(text) => Ok(Value::String(text.clone())),
            Self::Value { tag, text } => match value(tag, context, work, room) {
                Ok(value) => Ok(value.clone()),
                Err(error) => {
                    let text = text.clone();
                    let kind = DiagnosticKind::WholeValue { text, error };
                    Err(vec![BadTag::of(tag, kind)])
                }
            },
            Self::Mixed(pieces) => mix(pieces, context, work, room),
        }
    }
}

fn mix(
    pieces: &[Piece],
    context: &Context,
    work: &mut Work,
    room: &mut usize,
) -> Result<Value, Vec<BadTag>> {
    let (mut out, mut errors) = (String::new(), Vec::new());
    for piece in pieces {
        let tag = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Tag(tag) => tag,
        };
        match value(tag, context, work, room) {
            Ok(Value::String(text)) => out.push_str(text),
            Ok(Value::Null) => {
                let kind = DiagnosticKind::NullInText(tag.raw().to_owned());
                errors.push(BadTag::of(tag, kind));
            }
            Ok(other) => out.push_str(&json_text::json(other, json_text::float)),
            Err(error) => {
                let is_final = error.is_final();
                errors.push(BadTag::of(tag, DiagnosticKind::InText(error)));
                if is_final {
                    break;
                }
            }
        }
    }
    if errors.is_empty() {
        Ok(Value::String(out))
    } else {
        Err(errors)
    }
}

/// The value of a tag, paid for in visits and in bytes before anything is copied.
fn value<'a>(
    tag: &'a Path,
    context: &'a Context,
    work: &mut Work,
    room: &mut usize,
) -> Result<&'a Value, TagError> {
    let value = context.find(tag, work)?;
    let bytes = json_bytes_within(value, *room).ok_or(TagError::TooLarge)?;
    *room -= bytes;
    Ok(value)
}

/// Reads the path of a tag.
pub(crate) fn parse(raw: &str) -> Result<Path, TagError> {
    let path = Path::parse(raw)?;
    context::check(&path)?;
    Ok(path)
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    if text.is_empty() {
        return;
    }
    match pieces.last_mut() {
        Some(Piece::Text(before)) => before.push_str(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

/// The path of a string that is nothing but one tag. As in Cartographer everything between the first
/// marker and the last one is then the path, even another `)$`.
pub(crate) fn only_tag(text: &str) -> Option<&str> {
    let inner = text.strip_prefix(START)?;
    let quoted = text.strip_prefix(QUOTED_START);
    if quoted.is_some_and(|rest| rest.contains(QUOTED_END)) || inner.contains(START) {
        return None;
    }
    inner.strip_suffix(END)
}

/// Where some of the text begins like a tag that can be read, but does not end as one.
pub(crate) fn unclosed(text: &str) -> Vec<usize> {
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
    let roots = [context::RUNNABLE, context::SELECTED];
    let below = roots.iter().find_map(|root| text.strip_prefix(root));
    below.is_some_and(|below| below.starts_with('.'))
}

/// Whether a text holds a tag, or quoted text.
pub(crate) fn has_tag(text: &str) -> bool {
    split(text)
        .iter()
        .any(|piece| !matches!(piece, Raw::Text(_)))
}

/// Splits a string into literal text and tags, from left to right. Each marker is looked for once from
/// each place, so that the work grows with the text and not with its square.
pub(crate) fn split(text: &str) -> Vec<Raw<'_>> {
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
        } else {
            pieces.push(Raw::Text(&text[done..start]));
            pieces.push(Raw::Tag(&text[inner..end]));
            (at, done) = (end + END.len(), end + END.len());
        }
    }
    pieces.push(Raw::Text(&text[done..]));
    pieces
}

/// Where a marker is, for questions that go from left to right.
struct Marks<'a> {
    text: &'a str,
    mark: &'static str,
    /// The first place of the marker at or after that of the last question.
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

    /// The first place of the marker at or after `at`.
    fn from(&mut self, at: usize) -> Option<usize> {
        if self.next.is_some_and(|next| next < at) {
            let found = self.text[at..].find(self.mark);
            self.next = found.map(|found| at + found);
        }
        self.next
    }
}

#[cfg(test)]
mod tests;
