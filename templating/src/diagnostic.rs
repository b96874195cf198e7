//! What is wrong with a template, and where.

use std::fmt::{self, Write as _};

use crate::document::StampError;

/// How many problems are spelled out; the others are counted.
const SHOWN: usize = 10;

/// One step into a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// To a member of an object.
    Key(String),
    /// To an element of an array.
    Index(usize),
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands. Inside the template: keys joined by dots, indexes as `.[i]` with nothing
    /// after them, such as `spec.steps.[0]name`. Elsewhere: the field of the spec, such as
    /// `outputs.digest`. Empty for the whole.
    pub path: String,
    /// The tag that cannot be replaced, without its markers.
    pub tag: Option<String>,
    /// What is wrong.
    pub message: String,
    /// The input that does not fit, or is not there: the steps to it from what tags see. Empty of whatever
    /// else is wrong.
    pub input: Vec<Step>,
}

impl Problem {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            tag: None,
            message: message.into(),
            input: Vec::new(),
        }
    }

    /// A document that asks for another namespace than it gets.
    #[must_use]
    pub fn of_namespace(error: StampError) -> Self {
        Self::new("metadata.namespace", error.to_string())
    }

    /// An input that does not fit, or lacks a key.
    pub(crate) fn of_input(
        at: &[Segment<'_>],
        missing: Option<&str>,
        message: impl Into<String>,
    ) -> Self {
        let missing = missing.map(|key| Step::Key(key.to_owned()));
        Self {
            input: kept(at).into_iter().chain(missing).collect(),
            ..Self::new(document_path(at), message)
        }
    }
}

/// A problem with a tag reads as it does in Cartographer, so that runbooks and alerts still match.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path, tag, message, ..
        } = self;
        if tag.is_some() {
            f.write_str("failed to recursively evaluate template: ")?;
            return write!(
                f,
                "failed to interpolate template at path [{path}]: {message}"
            );
        }
        if path.is_empty() {
            f.write_str(message)
        } else {
            write!(f, "{path}: {message}")
        }
    }
}

/// Everything that is wrong, in document order: keys sorted, indexes ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Nothing when nothing is wrong.
    pub(crate) fn check(problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Self(problems))
        }
    }

    /// All of them, not only those that are displayed.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The first ten, and how many more there are.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.iter().take(SHOWN).enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{problem}")?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

/// One step from the root of a document towards a leaf, while it is visited.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Segment<'a> {
    Key(&'a str),
    Index(usize),
}

/// The same to be kept.
pub(crate) fn kept(segments: &[Segment<'_>]) -> Vec<Step> {
    let steps = segments.iter().map(|segment| match segment {
        Segment::Key(key) => Step::Key((*key).to_owned()),
        Segment::Index(index) => Step::Index(*index),
    });
    steps.collect()
}

/// Writes the path of a leaf as [`Problem::path`] describes it.
pub(crate) fn document_path(segments: &[Segment<'_>]) -> String {
    let mut path = String::new();
    let mut after_key = false;
    for segment in segments {
        if after_key {
            path.push('.');
        }
        match segment {
            Segment::Key(key) => path.push_str(key),
            Segment::Index(index) => {
                if !after_key {
                    path.push('.');
                }
                // Writing to a string cannot fail.
                let _ = write!(path, "[{index}]");
            }
        }
        after_key = matches!(segment, Segment::Key(_));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_stand_after_a_dot_and_before_none() {
        use Segment::{Index, Key};
        assert_eq!(
            document_path(&[Key("spec"), Key("steps"), Index(0), Key("name")]),
            "spec.steps.[0]name"
        );
        assert_eq!(
            document_path(&[Key("a"), Index(1), Index(2), Key("b"), Key("c")]),
            "a.[1].[2]b.c"
        );
        assert_eq!(document_path(&[]), "");
    }

    #[test]
    fn a_problem_with_a_tag_reads_as_in_cartographer() {
        let problem = Problem {
            path: "spec.steps.[0]name".into(),
            tag: Some("x".into()),
            message: "evaluate tag $(x)$: jsonpath returned empty list: x".into(),
            input: Vec::new(),
        };
        assert_eq!(
            problem.to_string(),
            "failed to recursively evaluate template: failed to interpolate template at path \
             [spec.steps.[0]name]: evaluate tag $(x)$: jsonpath returned empty list: x"
        );
    }

    #[test]
    fn ten_problems_are_spelled_out_and_the_others_counted() {
        let problems =
            |n: usize| Problems((0..n).map(|i| Problem::new("", i.to_string())).collect());
        assert_eq!(problems(1).to_string(), "0");
        assert_eq!(problems(10).to_string(), "0; 1; 2; 3; 4; 5; 6; 7; 8; 9");
        assert_eq!(
            problems(12).to_string(),
            "0; 1; 2; 3; 4; 5; 6; 7; 8; 9; and 2 more"
        );
    }
}
