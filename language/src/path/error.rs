//! Reasons for which a path has no value, in the texts of Cartographer if it has one.

use super::hint;
use crate::bounds::{Exhausted, MAX_PATH_BYTES};

/// The name of a null.
pub(super) const NULL: &str = "null";

/// Reason for which a path has no value, or no single one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path is empty.
    #[error("empty jsonpath not allowed")]
    Empty,
    /// The path has this many bytes.
    #[error("evaluate: the path is {0} bytes long, more than {MAX_PATH_BYTES}")]
    TooLong(usize),
    /// The path cannot be parsed.
    #[error("evaluate: failed to parse jsonpath '{wrapped}': {error}")]
    Syntax {
        /// The path in its braces.
        wrapped: String,
        /// The problem.
        error: SyntaxError,
    },
    /// The path continues after its closing brace.
    #[error("evaluate: more queries than expected: '{wrapped}' goes on after its first '}}'")]
    ManyQueries {
        /// The path in its braces.
        wrapped: String,
    },
    /// The path cannot be followed.
    #[error("evaluate: failed to find results: {0}")]
    Find(#[from] SearchError),
    /// This path leads to several values.
    #[error("too many results for the query: {0}")]
    TooMany(String),
    /// This path leads to none.
    #[error("jsonpath returned empty list: {raw}{hint}", raw = .0, hint = hint(.0))]
    Missing(String),
    /// Following the path takes too much work.
    #[error("evaluate: {0}")]
    Exhausted(#[from] Exhausted),
}

impl PathError {
    /// Returns true if the path can be followed, but leads nowhere: a member or an element is missing. All other
    /// errors occur whatever else the document may contain.
    #[must_use]
    pub fn finds_nothing(&self) -> bool {
        matches!(
            self,
            Self::Missing(_)
                | Self::Find(
                    SearchError::OutOfBounds { .. } | SearchError::NotAnArray { kind: NULL, .. }
                )
        )
    }
}

/// Reason for which a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// The closing brace is missing, or a line ends before it.
    #[error("unclosed action")]
    Unclosed,
    /// Brackets are nested too deeply.
    #[error("filters and unions are nested too deeply")]
    TooDeep,
    /// Four dots.
    #[error("invalid multiple recursive descent")]
    Descent,
    /// A malformed number.
    #[error("cannot parse number {0}")]
    Number(String),
    /// A quote that is not closed.
    #[error("unterminated quoted string")]
    OpenQuote,
    /// A text in quotes with an unknown escape.
    #[error("unquote string {0} error invalid syntax")]
    Quoted(String),
    /// A bracket that is not closed.
    #[error("unterminated array")]
    OpenBracket,
    /// A filter that is not closed.
    #[error("unterminated filter")]
    OpenFilter,
    /// A filter whose bracket is not closed behind its parenthesis.
    #[error("unclosed array expect ]")]
    FilterWithoutBracket,
    /// A character that begins no step.
    #[error("unrecognized character in action: {}", named(*.0))]
    Character(char),
    /// Text in brackets that is no position, slice, name or filter.
    #[error("invalid array index {0}")]
    Index(String),
    /// A position that is too large for a number.
    #[error("array index {0} is not a number")]
    IndexNumber(String),
}

/// Reason for which a path cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// A name that does not follow a dot.
    #[error("unrecognized identifier {0}")]
    Word(String),
    /// The same in place of a text to compare with: it lacks its quotes.
    #[error("unrecognized identifier {0}")]
    NoText(String),
    /// An unknown comparison.
    #[error("unrecognized filter operator {0}")]
    Operator(String),
    /// A position beyond the array.
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds {
        /// The position.
        index: i64,
        /// The number of elements.
        length: i64,
    },
    /// A slice that ends before it begins.
    #[error("starting index {start} is greater than ending index {end}")]
    Backwards {
        /// The start of the slice.
        start: i64,
        /// The end of the slice.
        end: i64,
    },
    /// A slice with a step of zero or less.
    #[error("step must be > 0")]
    Step,
    /// Elements of a value that is no array.
    #[error("{kind} is not array or slice{}", if *.filtered { " and cannot be filtered" } else { "" })]
    NotAnArray {
        /// The type of the value.
        kind: &'static str,
        /// True if a filter selects the elements.
        filtered: bool,
    },
    /// A side of a comparison that has several values.
    #[error("can only compare one element at a time")]
    Several,
    /// Two values that cannot be compared.
    #[error("{0}")]
    Comparison(&'static str),
}

/// An error inside the braces.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) enum ParseError {
    /// The text is no path.
    Syntax(#[from] SyntaxError),
    /// The text is a path, but its evaluation always fails.
    Find(#[from] SearchError),
}

fn named(c: char) -> String {
    let code = u32::from(c);
    if c.is_control() {
        format!("U+{code:04X}")
    } else {
        format!("U+{code:04X} '{c}'")
    }
}
