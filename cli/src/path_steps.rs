//! The steps of a path in kubectl's dialect, as far as a schema or a file can follow them.
//!
//! Only for paths that `cartouche-templating` has accepted: here nothing is checked, and what cannot be
//! followed ends the steps.

use std::ops::Range;

/// One step, and the bytes of the path that it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathStep {
    pub(crate) to: To,
    pub(crate) span: Range<usize>,
}

/// Where a step goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// A member of an object.
    Key(String),
    /// An element of an array, by its position from the start or (negative) from the end.
    Index(i64),
    /// Elements of an array: a filter, a slice, all.
    Elements,
}

/// The steps of a path up to the first that leads to unknown depths.
pub(crate) fn steps(path: &str) -> Vec<PathStep> {
    let mut steps = Vec::new();
    let mut at = path.len() - path.trim_start_matches(['{', ' ']).len();
    // A path may begin without a dot.
    let mut expects_key = path
        .get(at..)
        .is_some_and(|rest| !rest.starts_with(['.', '[']));
    loop {
        let rest = path.get(at..).unwrap_or_default();
        let step = if expects_key {
            expects_key = false;
            key(rest, at)
        } else if rest.starts_with("..") {
            None
        } else if rest.starts_with('.') {
            key(rest.get(1..).unwrap_or_default(), at + 1)
        } else if rest.starts_with('[') {
            bracket(rest, at)
        } else {
            None
        };
        let Some(step) = step else {
            return steps;
        };
        at = step.span.end;
        steps.push(step);
    }
}

fn key(rest: &str, at: usize) -> Option<PathStep> {
    let mut end = 0;
    let mut key = String::new();
    let mut characters = rest.char_indices();
    while let Some((index, c)) = characters.next() {
        match c {
            '.' | '[' | ']' | '}' | '{' | ' ' | ',' | '@' | '$' => break,
            '\\' => {
                let (index, c) = characters.next()?;
                key.push(c);
                end = index + c.len_utf8();
            }
            c => {
                key.push(c);
                end = index + c.len_utf8();
            }
        }
    }
    (!key.is_empty() && key != "*").then(|| PathStep {
        to: To::Key(key),
        span: at..at + end,
    })
}

fn bracket(rest: &str, at: usize) -> Option<PathStep> {
    let filter = rest.starts_with("[?(");
    let end = if filter {
        rest.find(")]")? + 2
    } else {
        rest.find(']')? + 1
    };
    let inner = rest.get(1..end - 1)?;
    let quoted = inner
        .strip_prefix('\'')
        .and_then(|inner| inner.strip_suffix('\''));
    let to = match (quoted, inner.parse()) {
        _ if filter => To::Elements,
        (Some(key), _) => To::Key(key.replace('\\', "")),
        (None, Ok(index)) => To::Index(index),
        (None, Err(_)) => To::Elements,
    };
    Some(PathStep {
        to,
        span: at..at + end,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str) -> Vec<String> {
        let text = |step: PathStep| match step.to {
            To::Key(key) => key,
            To::Index(index) => index.to_string(),
            To::Elements => "each".to_owned(),
        };
        steps(path).into_iter().map(text).collect()
    }

    #[test]
    fn braces_and_the_first_dot_do_not_matter() {
        for path in ["a.b", ".a.b", "{.a.b}", "{.a.b"] {
            assert_eq!(shown(path), ["a", "b"], "{path}");
        }
    }

    #[test]
    fn keys_with_dots_are_one_step() {
        assert_eq!(
            shown(r"metadata.labels.example\.com/app"),
            ["metadata", "labels", "example.com/app"]
        );
        assert_eq!(
            shown(r"metadata.labels['example\.com/app']"),
            ["metadata", "labels", "example.com/app"]
        );
    }

    #[test]
    fn filters_slices_and_indexes_are_steps() {
        assert_eq!(shown(r#".a[?(@.name=="x")].value"#), ["a", "each", "value"]);
        assert_eq!(shown(".a[-1].b[0:2]"), ["a", "-1", "b", "each"]);
    }

    #[test]
    fn nothing_is_said_beyond_a_descent_or_a_wildcard() {
        assert_eq!(shown(".a..b"), ["a"]);
        assert_eq!(shown(".a.*.b"), ["a"]);
    }

    #[test]
    fn a_step_knows_its_place() {
        let path = ".status.reslts[0]";
        let spans: Vec<_> = steps(path)
            .into_iter()
            .map(|step| &path[step.span])
            .collect();
        assert_eq!(spans, ["status", "reslts", "[0]"]);
    }
}
