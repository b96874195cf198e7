//! Limits of values of the right type, and the messages for a breach. All checks against a schema use these words.

use std::cmp::Ordering;

use serde_json::Number;

use crate::number;

/// A limit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberLimit<'a> {
    /// `minimum`.
    AtLeast(&'a Number),
    /// `minimum` with `exclusiveMinimum`.
    MoreThan(&'a Number),
    /// `maximum`.
    AtMost(&'a Number),
    /// `maximum` with `exclusiveMaximum`.
    LessThan(&'a Number),
}

impl<'a> NumberLimit<'a> {
    /// Creates the limit of `minimum`, with the flag `exclusiveMinimum`.
    #[must_use]
    pub fn least(minimum: &'a Number, is_exclusive: bool) -> Self {
        if is_exclusive {
            Self::MoreThan(minimum)
        } else {
            Self::AtLeast(minimum)
        }
    }

    /// Creates the limit of `maximum`, with the flag `exclusiveMaximum`.
    #[must_use]
    pub fn most(maximum: &'a Number, is_exclusive: bool) -> Self {
        if is_exclusive {
            Self::LessThan(maximum)
        } else {
            Self::AtMost(maximum)
        }
    }

    /// Returns the message if a number breaks the limit, for example `has to be at least 1`.
    #[must_use]
    pub fn breach(self, number: &Number) -> Option<String> {
        type Keeps = fn(Ordering) -> bool;
        let (words, limit, keeps): (_, _, Keeps) = match self {
            Self::AtLeast(limit) => ("at least", limit, Ordering::is_ge),
            Self::MoreThan(limit) => ("more than", limit, Ordering::is_gt),
            Self::AtMost(limit) => ("at most", limit, Ordering::is_le),
            Self::LessThan(limit) => ("less than", limit, Ordering::is_lt),
        };
        let kept = keeps(number::compare(number, limit));
        // Generated schemas contain `1.0` for an integer.
        let shown =
            || number::integer(limit).map_or_else(|| limit.to_string(), |it| it.to_string());
        (!kept).then(|| format!("has to be {words} {}", shown()))
    }
}

/// Returns the message if a value has too few or too many parts, for example
/// `has to have at least 2 keys, and has 1`.
#[must_use]
pub fn count_breach(
    least: Option<u64>,
    most: Option<u64>,
    count: usize,
    what: &str,
) -> Option<String> {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    if (least, count) == (Some(1), 0) {
        return Some("must not be empty".to_owned());
    }
    let wrong = |at: &str, limit: u64| {
        let s = if limit == 1 { "" } else { "s" };
        format!("has to have at {at} {limit} {what}{s}, and has {count}")
    };
    let fewer = least.filter(|least| count < *least);
    let more = most.filter(|most| count > *most);
    let fewer = fewer.map(|least| wrong("least", least));
    fewer.or_else(|| more.map(|most| wrong("most", most)))
}
