//! One string of a template: literal text and tags.
//!
//! A tag is `$(path)$`. A string that is only one tag becomes the value itself, of any type. In a longer string
//! the value becomes text. The value of a tag is data: it is never searched for tags again.
//!
//! Three rules let shell scripts and Tekton's `$(params.x)` appear in a template. A `$(` is literal if another
//! `$(` precedes the next `)$`. It is also literal if no path of a tag follows it (`alike`):
//! `$(params.a)$(params.b)` is text. And `$('text')$` is the text itself, so `$('$(')$` yields `$(`.

mod alike;
mod room;
mod split;

use serde_json::Value;

use crate::{
    diagnostic::{Diagnostic, DiagnosticKind, Root, Segment},
    json_text,
    path::{Path, shorten},
    readable,
    tag_error::{OpenTagError, TagError},
};

pub use alike::in_short;
pub use room::RenderRoom;
pub(crate) use split::{Raw, START, format_open_tag, only_tag, split};
pub use split::{Tag, find_unclosed, has_tag, left_alone};

/// A compiled string of a template.
#[derive(Clone, Debug)]
pub enum Leaf {
    /// Text without tags.
    Plain(String),
    /// A single tag: its value, with its type.
    Value {
        /// Its path.
        tag: Path,
        /// The string as it is written.
        text: String,
    },
    /// A single tag that stays open.
    Open(Path),
    /// Text with tags in it: always a string.
    Mixed(Vec<Piece>),
}

/// A part of a string with tags in it.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Text between tags.
    Text(String),
    /// A tag.
    Tag(Path),
    /// A tag that stays open.
    Open(Path),
}

/// The value of a string, and its tags that are still open.
pub type Replaced = (Value, Vec<Tag>);

/// A problem of a tag in a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadTag {
    /// The tag without its markers.
    pub tag: String,
    /// The problem with it.
    pub kind: DiagnosticKind,
}

impl BadTag {
    /// Creates the problem of a tag in a longer text.
    pub(crate) fn in_text(tag: &str, error: TagError) -> Self {
        Self::new(tag, DiagnosticKind::InText(error))
    }

    /// Creates the problem of a tag that is the whole string.
    pub(crate) fn whole(tag: &str, error: TagError) -> Self {
        let text = format_open_tag(tag);
        Self::new(tag, DiagnosticKind::WholeValue { text, error })
    }

    fn new(tag: &str, kind: DiagnosticKind) -> Self {
        let tag = tag.to_owned();
        Self { tag, kind }
    }

    /// Locates the problem in a template.
    #[must_use]
    pub fn at(self, at: Vec<Segment>) -> Diagnostic {
        Diagnostic {
            tag: Some(self.tag),
            ..Diagnostic::new(Root::Template, at, self.kind)
        }
    }

    /// Returns true if a limit was reached, so that going on is pointless.
    #[must_use]
    pub fn is_final(&self) -> bool {
        match &self.kind {
            DiagnosticKind::WholeValue { error, .. } | DiagnosticKind::InText(error) => {
                error.is_final()
            }
            _ => false,
        }
    }
}

/// Returns true if the tag of a path stays open. Fails if it should, but cannot.
pub type IsOpen<'a> = &'a dyn Fn(&Path) -> Result<bool, OpenTagError>;
/// Returns the value of a path.
pub type Find<'a, 'f> = &'f mut dyn FnMut(&'a Path) -> Result<&'a Value, TagError>;

impl Leaf {
    /// Splits a string and parses every path in it. With errors, returns the rest of the string.
    #[must_use]
    pub fn compile(text: &str, is_open: IsOpen<'_>) -> (Self, Vec<BadTag>) {
        if let Some(raw) = only_tag(text) {
            return match parse_as(raw, is_open) {
                Ok((tag, true)) => (Self::Open(tag), Vec::new()),
                Ok((tag, false)) => (Self::value(tag, text), Vec::new()),
                Err(error) => {
                    let text = shorten(text).into_owned();
                    let kind = DiagnosticKind::WholeValue { text, error };
                    (
                        Self::Mixed(Vec::new()),
                        vec![BadTag::new(&shorten(raw), kind)],
                    )
                }
            };
        }
        let (mut pieces, mut errors) = (Pieces::default(), Vec::new());
        for piece in split(text) {
            match piece {
                Raw::Text(text) | Raw::Quoted(text) => pieces.push_text(text),
                Raw::Tag(raw) => match parse_as(raw, is_open) {
                    Ok((path, true)) => pieces.0.push(Piece::Open(path)),
                    Ok((path, false)) => pieces.push_tag(path),
                    Err(error) => errors.push(BadTag::in_text(&shorten(raw), error)),
                },
            }
        }
        (pieces.leaf(), errors)
    }

    /// Creates the leaf of a single tag.
    pub(crate) fn value(tag: Path, text: &str) -> Self {
        let text = text.to_owned();
        Self::Value { tag, text }
    }

    /// Returns the text of a string without tags.
    #[must_use]
    pub fn literal(text: &str) -> Option<String> {
        match Self::compile(text, &|_| Ok(false)) {
            (Self::Plain(text), errors) if errors.is_empty() => Some(text),
            _ => None,
        }
    }

    /// Iterates over the paths of its tags.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (alone, pieces) = match self {
            Self::Plain(_) => (None, &[][..]),
            Self::Value { tag, .. } | Self::Open(tag) => (Some(tag), &[][..]),
            Self::Mixed(pieces) => (None, pieces.as_slice()),
        };
        let among_text = pieces.iter().filter_map(|piece| match piece {
            Piece::Tag(tag) | Piece::Open(tag) => Some(tag),
            Piece::Text(_) => None,
        });
        alone.into_iter().chain(among_text).map(Path::raw)
    }

    /// Replaces all tags except open ones.
    pub fn render<'a>(&'a self, find: Find<'a, '_>) -> Result<Replaced, Vec<BadTag>> {
        match self {
            Self::Plain(text) => Ok((Value::String(text.clone()), Vec::new())),
            Self::Value { tag, text } => match find(tag) {
                Ok(value) => Ok((value.clone(), Vec::new())),
                Err(error) => {
                    let text = text.clone();
                    let kind = DiagnosticKind::WholeValue { text, error };
                    Err(vec![BadTag::new(tag.raw(), kind)])
                }
            },
            Self::Open(path) => {
                let mut text = String::new();
                let tag = keep(path, &mut text, true);
                Ok((Value::String(text), vec![tag]))
            }
            Self::Mixed(pieces) => mix(pieces, find),
        }
    }
}

fn mix<'a>(pieces: &'a [Piece], find: Find<'a, '_>) -> Result<Replaced, Vec<BadTag>> {
    let (mut out, mut open, mut errors) = (String::new(), Vec::new(), Vec::new());
    for piece in pieces {
        let tag = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Open(path) => {
                open.push(keep(path, &mut out, false));
                continue;
            }
            Piece::Tag(tag) => tag,
        };
        match find(tag) {
            Ok(Value::String(text)) => out.push_str(text),
            Ok(Value::Null) => {
                let kind = DiagnosticKind::NullInText(tag.raw().to_owned());
                errors.push(BadTag::new(tag.raw(), kind));
            }
            Ok(other) => out.push_str(&json_text::json(other, json_text::float)),
            Err(error) => {
                let is_final = error.is_final();
                errors.push(BadTag::in_text(tag.raw(), error));
                if is_final {
                    break;
                }
            }
        }
    }
    if errors.is_empty() {
        Ok((Value::String(out), open))
    } else {
        Err(errors)
    }
}

/// Appends an open tag to a text.
fn keep(path: &Path, out: &mut String, alone: bool) -> Tag {
    let start = out.len();
    out.push_str(&format_open_tag(path.strip_optional()));
    Tag {
        path: path.strip_optional().to_owned(),
        span: start..out.len(),
        alone,
    }
}

/// Returns a value after using its room, before anything is copied.
pub fn paid<'a>(value: &'a Value, room: &mut RenderRoom) -> Result<&'a Value, TagError> {
    room.pay(value)?;
    Ok(value)
}

/// The pieces of a string, with adjacent texts joined.
#[derive(Default)]
pub(crate) struct Pieces(Vec<Piece>);

impl Pieces {
    pub(crate) fn push_text(&mut self, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(before)) => before.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    pub(crate) fn push_tag(&mut self, path: Path) {
        self.0.push(Piece::Tag(path));
    }

    pub(crate) fn leaf(mut self) -> Leaf {
        match self.0.as_mut_slice() {
            [] => Leaf::Plain(String::new()),
            [Piece::Text(text)] => Leaf::Plain(std::mem::take(text)),
            _ => Leaf::Mixed(self.0),
        }
    }
}

/// Parses the path of a tag that is replaced when the template is rendered.
pub(crate) fn parse(raw: &str) -> Result<Path, TagError> {
    Ok(parse_as(raw, &|_| Ok(false))?.0)
}

/// Parses the path of a tag, and returns true with it if the tag stays open.
fn parse_as(raw: &str, is_open: IsOpen<'_>) -> Result<(Path, bool), TagError> {
    let path = Path::parse(raw)?;
    let open = is_open(&path)?;
    if !open {
        readable::check(&path)?;
    }
    Ok((path, open))
}

#[cfg(test)]
mod tests;
