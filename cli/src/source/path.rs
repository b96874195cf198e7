//! From places to paths for people.

use std::fmt::Write as _;

use super::Step;

/// `spec.steps[0].name`, with keys that hold dots in brackets.
pub(crate) fn shown(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        // Writing to a string cannot fail.
        let _ = match step {
            Step::Index(index) => write!(text, "[{index}]"),
            Step::Key(key) if key.contains('.') => write!(text, "['{key}']"),
            Step::Key(key) if text.is_empty() => write!(text, "{key}"),
            Step::Key(key) => write!(text, ".{key}"),
        };
    }
    text
}
