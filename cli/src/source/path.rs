//! From places to paths for people.

use std::fmt::Write as _;

use super::Segment;

/// `spec.steps[0].name`, with keys that hold dots in brackets.
pub(crate) fn shown(steps: &[Segment]) -> String {
    let mut text = String::new();
    for step in steps {
        // Writing to a string cannot fail.
        let _ = match step {
            Segment::Index(index) => write!(text, "[{index}]"),
            Segment::Key(key) if key.contains('.') => write!(text, "['{key}']"),
            Segment::Key(key) if text.is_empty() => write!(text, "{key}"),
            Segment::Key(key) => write!(text, ".{key}"),
        };
    }
    text
}
