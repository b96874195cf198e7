//! Why a path has no value. The texts are those of Cartographer where it has one.

use super::hint;
use crate::bounds::{Exhausted, MAX_PATH_BYTES};

/// What a null is called.
pub(super) const NULL: &str = "null";

/// Why a path has no value, or no single one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It is empty.
    #[error("empty jsonpath not allowed")]
    Empty,
    /// It has so many bytes.
    #[error("evaluate: the path is {0} bytes long, more than {MAX_PATH_BYTES}")]
    TooLong(usize),
    /// It cannot be read.
    #[error("evaluate: failed to parse jsonpath '{wrapped}': {error}")]
    Syntax {
        /// The path in its braces.
        wrapped: String,
        /// What is wrong with it.
        error: SyntaxError,
    },
    /// Something follows its closing brace.
    #[error("evaluate: more queries than expected: '{wrapped}' goes on after its first '}}'")]
    ManyQueries {
        /// The path in its braces.
        wrapped: String,
    },
    /// It cannot be followed.
    #[error("evaluate: failed to find results: {0}")]
    Find(#[from] SearchError),
    /// This path leads to several values.
    #[error("too many results for the query: {0}")]
    TooMany(String),
    /// This path leads to none.
    #[error("jsonpath returned empty list: {raw}{hint}", raw = .0, hint = hint(.0))]
    Missing(String),
    /// Following it is too much work.
    #[error("evaluate: {0}")]
    Exhausted(#[from] Exhausted),
}

impl PathError {
    /// Whether the path can be followed and there is nothing where it leads: a member or an element is missing. All
    /// else is wrong, whatever else the document may hold.
    pub(crate) fn finds_nothing(&self) -> bool {
        matches!(
            self,
            Self::Missing(_)
                | Self::Find(
                    SearchError::OutOfBounds { .. } | SearchError::NotAnArray { kind: NULL, .. }
                )
        )
    }
}

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// The closing brace is missing, or a line ends before it.
    #[error("unclosed action")]
    Unclosed,
    /// Brackets are inside brackets too often.
    #[error("filters and unions are nested too deeply")]
    TooDeep,
    /// Four dots.
    #[error("invalid multiple recursive descent")]
    Descent,
    /// A number that is none.
    #[error("cannot parse number {0}")]
    Number(String),
    /// A quote that is not closed.
    #[error("unterminated quoted string")]
    OpenQuote,
    /// A text in quotes with an escape that there is not.
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
    /// A character that nothing begins with.
    #[error("unrecognized character in action: {}", named(*.0))]
    Character(char),
    /// What stands in brackets and is no position, slice, name or filter.
    #[error("invalid array index {0}")]
    Index(String),
    /// A position that no number holds.
    #[error("array index {0} is not a number")]
    IndexNumber(String),
}

/// Why a path cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// A name that does not follow a dot.
    #[error("unrecognized identifier {0}")]
    Word(String),
    /// The same where a text to compare with stands: it lacks its quotes.
    #[error("unrecognized identifier {0}")]
    NoText(String),
    /// A comparison that there is not.
    #[error("unrecognized filter operator {0}")]
    Operator(String),
    /// A position that the array does not have.
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds {
        /// The position.
        index: i64,
        /// How many elements there are.
        length: i64,
    },
    /// A slice that ends before it begins.
    #[error("starting index {start} is greater than ending index {end}")]
    Backwards {
        /// Where it begins.
        start: i64,
        /// Where it ends.
        end: i64,
    },
    /// A slice that goes nowhere, or back.
    #[error("step must be > 0")]
    Step,
    /// An element, or elements, of what is no array.
    #[error("{kind} is not array or slice{}", if *.filtered { " and cannot be filtered" } else { "" })]
    NotAnArray {
        /// What it is.
        kind: &'static str,
        /// Whether elements are picked by a filter.
        filtered: bool,
    },
    /// A side of a comparison that is several values.
    #[error("can only compare one element at a time")]
    Several,
    /// Two values that do not compare.
    #[error("{0}")]
    Comparison(&'static str),
}

/// What can be wrong inside the braces.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) enum ParseError {
    /// The text is no path.
    Syntax(#[from] SyntaxError),
    /// It is one, but evaluating it always fails.
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
