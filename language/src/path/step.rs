//! Steps of a parsed path.

use serde_json::Value;

/// One step of a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PathNode {
    /// `.key` or `['key']`.
    Key(String),
    /// `[1]`, `[-1]`, `[0:4:2]`, `[*]`.
    Slice(Slice),
    /// `.*`.
    Wildcard,
    /// `..`: the value and everything below it.
    Descend,
    /// `[0,1]`.
    Union(Vec<Vec<PathNode>>),
    /// `[?(@.a=="b")]`.
    Filter(Filter),
    /// A text, a number or a bool instead of a path, as on the right side of a filter.
    Literal(Value),
}

impl PathNode {
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Self::Key(key) => Some(key),
            _ => None,
        }
    }
}

/// Elements of an array, by position; negative ones count from the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) start: Option<i64>,
    pub(crate) end: Option<i64>,
    /// True if the end follows from the start: one element is meant.
    pub(crate) single: bool,
    pub(crate) step: Option<i64>,
}

/// Condition for the elements of an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Filter {
    pub(super) left: Vec<PathNode>,
    /// Without a comparison the left side must exist.
    pub(super) comparison: Option<(Operator, Vec<PathNode>)>,
}

impl Filter {
    /// Returns the text that a member of this name must have, if that is the whole condition.
    pub(super) fn equal_to(&self, name: &str) -> Option<&str> {
        let (Operator::Equal, right) = self.comparison.as_ref()? else {
            return None;
        };
        match (self.left.as_slice(), right.as_slice()) {
            ([PathNode::Key(key)], [PathNode::Literal(Value::String(text))]) if key == name => {
                Some(text)
            }
            _ => None,
        }
    }
}

/// Comparison of the two sides of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }
}
