//! Positions of tags and paths in a text, for messages that point at them. All of it comes from the code that
//! renders: nothing here parses a text by rules of its own.

use std::ops::Range;

use crate::{
    path::{self, Path, PathNode, Slice, ends_word},
    tag::{self, Raw},
};

pub use crate::tag::Tag;

/// Returns the tags of a text, from left to right, whether or not their paths can be parsed.
#[must_use]
pub fn tags(text: &str) -> Vec<Tag> {
    if let Some(path) = tag::only_tag(text) {
        return vec![Tag {
            path: path.to_owned(),
            span: 0..text.len(),
            alone: true,
        }];
    }
    let mut at = 0;
    let pieces = tag::split(text).into_iter().filter_map(|piece| {
        let span = at..at + piece.len();
        at = span.end;
        match piece {
            Raw::Tag(path) => Some(Tag {
                path: path.to_owned(),
                span,
                alone: false,
            }),
            Raw::Text(_) | Raw::Quoted(_) => None,
        }
    });
    pieces.collect()
}

/// A tag without its end, which stays in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnclosedTag {
    /// The probable path.
    pub path: String,
    /// The bytes of the text, with the marker before the path and, if there is one, the parenthesis after it.
    pub span: Range<usize>,
}

/// Returns the tags of a text that begin like valid ones, but lack their end, from left to right.
#[must_use]
pub fn unclosed_tags(text: &str) -> Vec<UnclosedTag> {
    let starts = tag::find_unclosed(text);
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let found = starts.iter().zip(ends).map(|(&start, end)| {
        let from = start + tag::START.len();
        let path = open_path(&text[from..end]);
        let after = from + path.len();
        let parenthesis = usize::from(text[after..].starts_with(')'));
        UnclosedTag {
            path: path.to_owned(),
            span: start..after + parenthesis,
        }
    });
    found.collect()
}

/// Spelling of a `$(` that begins no tag, and yields it: `$('$')$(`.
pub const ESCAPE: &str = "$('$')$(";

/// Returns the bytes of texts that have the markers of a tag, but are none, from left to right: they stay
/// unchanged.
#[must_use]
pub fn left_alone(text: &str) -> Vec<Range<usize>> {
    tag::left_alone(text)
}

/// Shortens such a text for display, on one line.
#[must_use]
pub fn in_short(text: &str) -> String {
    tag::in_short(text)
}

/// Returns the path at the start of a text: up to a parenthesis, or to the end of a word. Closed brackets may
/// contain any character.
fn open_path(text: &str) -> &str {
    let (mut depth, mut escaped, mut first_parenthesis) = (0_usize, false, None);
    for (at, c) in text.char_indices() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match c {
            '\\' => escaped = true,
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ')' if depth > 0 => first_parenthesis = first_parenthesis.or(Some(at)),
            '.' => {}
            c if depth == 0 && (matches!(c, ')' | '"' | '\'') || ends_word(c)) => {
                return &text[..at];
            }
            _ => {}
        }
    }
    match first_parenthesis {
        Some(at) if depth > 0 => &text[..at],
        _ => text,
    }
}

/// Returns true if a text may change when its tags are replaced.
#[must_use]
pub fn may_hold_tags(text: &str) -> bool {
    text.contains(tag::START)
}

/// One step of a path, and the bytes of the path that it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// The target of the step.
    pub to: To,
    /// The bytes of the step, without the dot or the quotes around a name.
    pub span: Range<usize>,
}

impl PathStep {
    /// Returns the member that the step leads to.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match &self.to {
            To::Key(key) => Some(key),
            To::Index(_) | To::Elements => None,
        }
    }
}

/// The target of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// A member of an object.
    Key(String),
    /// An element of an array, by its position from the start or (negative) from the end.
    Index(i64),
    /// Elements of an array: a filter, a slice, all.
    Elements,
}

/// Returns the steps of a path up to the first that leads to any depth, or that cannot be parsed.
#[must_use]
pub fn steps(path: &str) -> Vec<PathStep> {
    let steps = path::spans(path).into_iter().map_while(|(node, span)| {
        let to = match node {
            PathNode::Key(key) if !key.is_empty() => To::Key(key),
            PathNode::Slice(Slice {
                start,
                single: true,
                ..
            }) => To::Index(start.unwrap_or(0)),
            PathNode::Slice(_) | PathNode::Filter(_) => To::Elements,
            PathNode::Key(_)
            | PathNode::Wildcard
            | PathNode::Descend
            | PathNode::Union(_)
            | PathNode::Literal(_) => {
                return None;
            }
        };
        Some(PathStep { to, span })
    });
    steps.collect()
}

/// Returns all steps of the path of a tag, or `None` if the engine refuses the tag, or if the target of a step is
/// unknown.
#[must_use]
pub fn whole_steps(path: &str) -> Option<Vec<PathStep>> {
    let read = tag::parse(path).ok()?;
    Some(steps(path)).filter(|steps| steps.len() == read.steps())
}

/// Returns all steps of a path in a run, such as that of an output, or `None` as in [`whole_steps`].
#[must_use]
pub fn whole_path(path: &str) -> Option<Vec<PathStep>> {
    let read = Path::parse(path).ok()?;
    Some(steps(path)).filter(|steps| steps.len() == read.steps())
}

/// Returns the steps below some keys, or `None` if the path does not begin with these.
#[must_use]
pub fn below<'a>(steps: &'a [PathStep], keys: &[&str]) -> Option<&'a [PathStep]> {
    let (above, below) = steps.split_at_checked(keys.len())?;
    let is = |(step, name): (&PathStep, &&str)| step.key() == Some(name);
    above.iter().zip(keys).all(is).then_some(below)
}

/// Escapes a name for a path: `\` before each dot, and before every other character that would end it. Existing
/// escapes stay unchanged.
#[must_use]
pub(crate) fn escape_name(name: &str) -> String {
    let mut written = String::with_capacity(name.len());
    let mut characters = name.chars();
    while let Some(c) = characters.next() {
        if ends_word(c) {
            written.push('\\');
        }
        written.push(c);
        if c == '\\' {
            written.extend(characters.next());
        }
    }
    written
}

/// A path that was probably meant with other dots than written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscapedDots {
    /// The path that was meant.
    pub path: String,
    /// The start of the first name that differs from what was meant, in the written path.
    pub from: usize,
}

/// Returns the path that was probably meant if a name has unescaped dots: `a['b.c']`, which leads to `c` in `b`,
/// becomes `a.b\.c`. Below labels, annotations and the data of `ConfigMaps`, which have no parts, this applies
/// without brackets, too. Returns `None` if there is no such name.
#[must_use]
pub fn with_escaped_dots(path: &str) -> Option<EscapedDots> {
    let brackets = without_brackets(path);
    let written = brackets
        .as_ref()
        .map_or(path, |brackets| brackets.path.as_str());
    match (whole_name(written), brackets) {
        // Up to the first of them nothing was rewritten yet.
        (Some(label), Some(brackets)) => Some(EscapedDots {
            from: label.from.min(brackets.from),
            ..label
        }),
        (label, brackets) => label.or(brackets),
    }
}

fn without_brackets(path: &str) -> Option<EscapedDots> {
    let names = path::parted_names(path);
    let from = names.first()?.start;
    let (mut written, mut done) = (String::new(), 0);
    for name in names {
        written.push_str(path.get(done..name.start - "['".len())?);
        if !written.ends_with('.') {
            written.push('.');
        }
        written.push_str(&escape_name(path.get(name.clone())?));
        done = name.end + "']".len();
    }
    written.push_str(path.get(done..)?);
    Some(EscapedDots {
        path: written,
        from,
    })
}

/// Returns the position of the first name in a map of texts.
fn names_of_texts(steps: &[PathStep]) -> Option<usize> {
    let is_data = |at: usize| {
        let key = steps.get(at).and_then(PathStep::key);
        matches!(key, Some("data" | "binaryData"))
    };
    let is_selected = steps.first().and_then(PathStep::key) == Some("selected");
    let data = usize::from(is_selected);
    if is_data(data) {
        return Some(data + 1);
    }
    let labels = steps.windows(2).position(|pair| {
        let is_text_map = matches!(pair[1].key(), Some("labels" | "annotations"));
        pair[0].key() == Some("metadata") && is_text_map
    });
    Some(labels? + 2)
}

/// Joins several names in a map of texts into one.
fn whole_name(path: &str) -> Option<EscapedDots> {
    let steps = steps(path);
    let first = names_of_texts(&steps)?;
    let names = steps.get(first..)?.iter();
    let names: Option<Vec<String>> = names.map(|step| step.key().map(escape_name)).collect();
    let names = names?;
    let (from, end) = (steps.get(first)?.span.start, steps.last()?.span.end);
    // Only the dots are between them.
    let length: usize = names.iter().map(String::len).sum();
    let parted = names.len() > 1 && end - from == length + names.len() - 1;
    parted.then(|| {
        let whole = names.join("\\.");
        let path = format!("{}{whole}{}", &path[..from], &path[end..]);
        EscapedDots { path, from }
    })
}

#[cfg(test)]
mod tests;
