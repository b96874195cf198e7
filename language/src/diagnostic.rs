//! Problems of a template, its inputs or its rendered document, with their places.
//!
//! A diagnostic is data: code that shows it in other words looks at its kind, never at its text. The text is
//! Cartographer's if Cartographer has one, so that runbooks and alerts still match.

mod kind;

use std::{
    fmt::{self, Write as _},
    ops::Deref,
};

pub use kind::DiagnosticKind;
use serde_json::Value;

/// Number of diagnostics that are spelled out; the others are counted.
const SHOWN: usize = 10;
/// Steps to the inputs in the context.
pub const TO_INPUTS: [&str; 3] = ["runnable", "spec", "inputs"];

/// One step into a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Segment<K = String> {
    /// Step to a member of an object.
    Key(K),
    /// Step to an element of an array.
    Index(usize),
}

impl Segment {
    /// Creates steps through members of objects.
    pub fn keys<'a>(keys: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        keys.into_iter().map(Self::from).collect()
    }

    /// Borrows the step while its document is visited.
    #[must_use]
    pub fn to_ref(&self) -> SegmentRef<'_> {
        match self {
            Self::Key(key) => SegmentRef::Key(key),
            Self::Index(index) => SegmentRef::Index(*index),
        }
    }

    /// Returns the value at the end of some steps.
    #[must_use]
    pub fn value_at<'a>(at: &[Self], root: &'a Value) -> Option<&'a Value> {
        at.iter().try_fold(root, |value, step| match step {
            Self::Key(key) => value.get(key),
            Self::Index(index) => value.get(*index),
        })
    }

    /// Returns the value at the end of some steps for changes.
    #[must_use]
    pub fn value_at_mut<'a>(at: &[Self], root: &'a mut Value) -> Option<&'a mut Value> {
        at.iter().try_fold(root, |value, step| match step {
            Self::Key(key) => value.get_mut(key),
            Self::Index(index) => value.get_mut(*index),
        })
    }
}

impl From<&str> for Segment {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

/// The object that the steps of a diagnostic begin at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// The object that the template makes: `spec.template`.
    Template,
    /// The spec of the `ClusterRunTemplate`.
    Spec,
    /// The context of tags: `runnable` and `selected`.
    Context,
    /// The spec of a `ClusterRunProfile`.
    Profile,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The start of its steps.
    pub root: Root,
    /// The steps to the place of the problem; empty for the whole.
    pub at: Vec<Segment>,
    /// The tag that cannot be replaced, without its markers. A long one is cut.
    pub tag: Option<String>,
    /// The problem.
    pub kind: DiagnosticKind,
    /// Advice for a tag that leads to no value, if its context yields some.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A problem at a place, of no tag.
    #[must_use]
    pub fn new(root: Root, at: Vec<Segment>, kind: impl Into<DiagnosticKind>) -> Self {
        Self {
            root,
            at,
            tag: None,
            kind: kind.into(),
            hint: None,
        }
    }

    /// Creates a problem of a template's field with a fixed name, such as `metadata.name`.
    #[must_use]
    pub fn in_template(field: &str, kind: impl Into<DiagnosticKind>) -> Self {
        Self::new(Root::Template, fields(field), kind)
    }

    /// Creates a problem of a spec's field, which may be in an element, such as `a[0].b`.
    #[must_use]
    pub fn in_spec(field: &str, kind: impl Into<DiagnosticKind>) -> Self {
        Self::new(Root::Spec, fields(field), kind)
    }

    /// Creates the problem of a document that asks for a foreign namespace.
    #[must_use]
    pub fn of_namespace() -> Self {
        Self::in_template("metadata.namespace", DiagnosticKind::Namespace)
    }

    /// Formats its place in the notation of Kubernetes.
    #[must_use]
    pub fn path(&self) -> String {
        field_path(&self.at)
    }

    /// Formats the problem and its cure, without its place.
    #[must_use]
    pub fn message(&self) -> String {
        self.kind.message()
    }

    /// Formats its place as a name among others: an input without the steps to all inputs.
    #[must_use]
    pub fn place(&self) -> String {
        let steps = self.input();
        match (self.root, steps.get(TO_INPUTS.len()..)) {
            (Root::Context, Some(below))
                if !below.is_empty() && steps.starts_with(&Segment::keys(TO_INPUTS)) =>
            {
                field_path(below)
            }
            _ => self.path(),
        }
    }

    /// Returns the steps to the wrong or missing input.
    #[must_use]
    pub fn input(&self) -> Vec<Segment> {
        let missing = match &self.kind {
            DiagnosticKind::MissingInput { key, .. } => Some(Segment::Key(key.clone())),
            _ => None,
        };
        self.at.iter().cloned().chain(missing).collect()
    }
}

/// Splits the name of a field, whose keys contain no dots, into steps.
#[must_use]
pub fn fields(path: &str) -> Vec<Segment> {
    let index = |name: &str| name.strip_suffix(']')?.parse().ok();
    let names = path.split(['.', '[']).filter(|name| !name.is_empty());
    names
        .map(|name| index(name).map_or_else(|| name.into(), Segment::Index))
        .collect()
}

/// Formats a diagnostic with a tag as Cartographer does.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message();
        if self.tag.is_some() {
            let path = path_of_cartographer(&self.at);
            f.write_str("failed to recursively evaluate template: ")?;
            return write!(
                f,
                "failed to interpolate template at path [{path}]: {message}"
            );
        }
        let path = self.path();
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        f.write_str(&message)
    }
}

/// All problems, in document order: keys sorted, indexes ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// Fails if there are problems.
    pub fn check(diagnostics: Vec<Diagnostic>) -> Result<(), Self> {
        if diagnostics.is_empty() {
            Ok(())
        } else {
            Err(Self(diagnostics))
        }
    }
}

impl Diagnostics {
    /// Moves the problems of a document to its place in another one.
    #[must_use]
    pub fn below(&self, root: Root, at: &[Segment]) -> Vec<Diagnostic> {
        let moved = self.0.iter().map(|problem| Diagnostic {
            root,
            at: [at, &problem.at].concat(),
            ..problem.clone()
        });
        moved.collect()
    }

    /// Moves all problems of a document to its place in another one.
    #[must_use]
    pub fn moved_below(&self, root: Root, at: &[Segment]) -> Self {
        Self(self.below(root, at))
    }
}

/// Iterates over the diagnostics that are spelled out.
pub fn spelled_out(diagnostics: &mut [Diagnostic]) -> impl Iterator<Item = &mut Diagnostic> {
    diagnostics.iter_mut().take(SHOWN)
}

/// All problems, not only those that are displayed.
impl Deref for Diagnostics {
    type Target = [Diagnostic];

    fn deref(&self) -> &[Diagnostic] {
        &self.0
    }
}

impl Diagnostics {
    /// Creates the problem of a lack of room for the values that tags read at these steps, so that nothing is
    /// rendered.
    #[must_use]
    pub fn no_room<'a>(steps: impl IntoIterator<Item = &'a str>, why: String) -> Self {
        Diagnostic::new(
            Root::Context,
            Segment::keys(steps),
            DiagnosticKind::Limit(why),
        )
        .into()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

/// Formats the first ten, and the number of the others.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.iter().take(SHOWN).enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{diagnostic}")?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl std::error::Error for Diagnostics {}

/// One borrowed step from the root of a document towards a leaf, while it is visited.
pub type SegmentRef<'a> = Segment<&'a str>;

/// Copies steps to keep them.
#[must_use]
pub fn copy_steps(segments: &[SegmentRef<'_>]) -> Vec<Segment> {
    let steps = segments.iter().map(|segment| match segment {
        SegmentRef::Key(key) => Segment::Key((*key).to_owned()),
        SegmentRef::Index(index) => Segment::Index(*index),
    });
    steps.collect()
}

/// Formats the target of steps in the notation of Kubernetes: `spec.steps[0].name`, with keys that contain dots in
/// brackets.
#[must_use]
pub fn field_path(steps: &[Segment]) -> String {
    let mut path = String::new();
    for step in steps {
        // Writing to a string cannot fail.
        let _ = match step {
            Segment::Index(index) => write!(path, "[{index}]"),
            Segment::Key(key) if key.contains('.') => write!(path, "['{key}']"),
            Segment::Key(key) if path.is_empty() => write!(path, "{key}"),
            Segment::Key(key) => write!(path, ".{key}"),
        };
    }
    path
}

/// Formats the same as Cartographer does, for its own texts: `spec.steps.[0]name`.
fn path_of_cartographer(steps: &[Segment]) -> String {
    let mut path = String::new();
    let mut dot = "";
    for step in steps {
        // Writing to a string cannot fail.
        let _ = match step {
            Segment::Key(key) => write!(path, "{dot}{key}"),
            Segment::Index(index) => write!(path, ".[{index}]"),
        };
        dot = if matches!(step, Segment::Key(_)) {
            "."
        } else {
            ""
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{path::PathError, tag_error::TagError};

    fn key(name: &str) -> Segment {
        Segment::Key(name.to_owned())
    }

    #[test]
    fn places_are_written_as_kubernetes_writes_them() {
        use Segment::Index;
        let steps = [key("spec"), key("steps"), Index(0), key("name")];
        assert_eq!(field_path(&steps), "spec.steps[0].name");
        let steps = [key("a"), Index(1), Index(2), key("b.c/d"), key("e")];
        assert_eq!(field_path(&steps), "a[1][2]['b.c/d'].e");
        assert_eq!(field_path(&[]), "");
        let in_spec = Diagnostic::in_spec("a[0].b[1].c", "x");
        assert_eq!(in_spec.path(), "a[0].b[1].c");
        assert_eq!(in_spec.at[1], Index(0));
    }

    #[test]
    fn in_the_texts_of_cartographer_indexes_stand_after_a_dot_and_before_none() {
        use Segment::Index;
        let steps = [key("a"), Index(1), Index(2), key("b"), key("c")];
        assert_eq!(path_of_cartographer(&steps), "a.[1].[2]b.c");
        assert_eq!(path_of_cartographer(&[]), "");
    }

    #[test]
    fn a_diagnostic_with_a_tag_reads_as_in_cartographer() {
        let diagnostic = Diagnostic {
            root: Root::Template,
            at: vec![key("spec"), key("steps"), Segment::Index(0), key("name")],
            tag: Some("x".into()),
            kind: DiagnosticKind::WholeValue {
                text: "$(x)$".into(),
                error: TagError::Path(PathError::Missing("x".into())),
            },
            hint: None,
        };
        assert_eq!(
            diagnostic.to_string(),
            "failed to recursively evaluate template: failed to interpolate template at path \
             [spec.steps.[0]name]: evaluate tag $(x)$: jsonpath returned empty list: x"
        );
    }

    #[test]
    fn ten_are_spelled_out_and_the_others_counted() {
        let diagnostics = |n: usize| {
            let one = |i: usize| Diagnostic::in_template("", DiagnosticKind::plain(i.to_string()));
            Diagnostics((0..n).map(one).collect())
        };
        assert_eq!(diagnostics(1).to_string(), "0");
        assert_eq!(diagnostics(10).to_string(), "0; 1; 2; 3; 4; 5; 6; 7; 8; 9");
        assert_eq!(
            diagnostics(12).to_string(),
            "0; 1; 2; 3; 4; 5; 6; 7; 8; 9; and 2 more"
        );
    }
}
