//! From the paths that problems carry to places in a file, and from places to paths for people.

use std::fmt::Write as _;

use super::{Content, Node, Step};

/// The steps of a path as problems of templates write it: keys joined by dots, indexes as `.[i]` with
/// nothing after them. Keys may hold dots themselves, so only the document tells where one ends. `None`
/// when the path leads nowhere.
pub(crate) fn find(node: &Node, path: &str) -> Option<Vec<Step>> {
    if path.is_empty() {
        return Some(Vec::new());
    }
    match &node.content {
        Content::Scalar(_) => None,
        Content::Array(items) => {
            let (number, rest) = path.strip_prefix('[')?.split_once(']')?;
            let index: usize = number.parse().ok()?;
            let rest = if rest.starts_with(".[") {
                rest.trim_start_matches('.')
            } else {
                rest
            };
            with_step(Step::Index(index), find(items.get(index)?, rest)?)
        }
        Content::Object(entries) => entries.iter().find_map(|entry| {
            let rest = path.strip_prefix(entry.key.as_str())?;
            let rest = match rest.strip_prefix('.') {
                Some(rest) => rest,
                None if rest.is_empty() => rest,
                None => return None,
            };
            with_step(Step::Key(entry.key.clone()), find(&entry.value, rest)?)
        }),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the caller wants it wrapped")]
fn with_step(step: Step, mut rest: Vec<Step>) -> Option<Vec<Step>> {
    rest.insert(0, step);
    Some(rest)
}

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
