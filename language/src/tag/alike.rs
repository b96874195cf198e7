//! Distinction of tags from texts of a shell, of Kubernetes or of an engine that only have the same markers.
//!
//! `$(params.a)$(params.b)`, `$(VAR)$` and `$(grep -E '(a|b)$' file)` are text. Everything that can be parsed as a
//! path from one of the roots is a tag. So is everything that can hardly mean anything else: it is reported as an
//! error, and not left in the run.

use crate::{
    path::Path,
    roots::{PROFILE, ROOTS, RUN, RUNNABLE, SELECTED},
    suggestion,
};

/// Fields below `runnable` that users write without it.
const BELOW_RUNNABLE: [&str; 3] = ["inputs", "metadata", "spec"];
/// Inputs of an engine, in its former notation.
const OF_ENGINES: [&str; 3] = ["inputs.outputs.", "inputs.params.", "inputs.resources."];

/// Returns true if the text between the markers is meant as a path, whether or not it can be parsed.
pub(super) fn is_tag(inner: &str) -> bool {
    is_meant(inner) || is_readable(inner)
}

/// Returns true if a text begins like a path from a root, or nearly so.
fn is_meant(inner: &str) -> bool {
    let inner = inner.trim();
    let unbraced = inner.strip_prefix('{').unwrap_or(inner);
    let is_in_braces = unbraced.len() < inner.len();
    // A group of commands has a blank there.
    let is_path = is_in_braces && !unbraced.starts_with(char::is_whitespace);
    if inner.is_empty() || is_path || inner.starts_with("['") {
        return true;
    }
    let path = inner.strip_prefix('.').unwrap_or(inner);
    let end = path.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'));
    let (word, rest) = path.split_at(end.unwrap_or(path.len()));
    let goes_on = rest.starts_with(['.', '[']);
    match word {
        RUNNABLE | SELECTED => true,
        RUN | PROFILE => goes_on || rest.is_empty(),
        _ if BELOW_RUNNABLE.contains(&word) => {
            goes_on && !OF_ENGINES.iter().any(|it| path.starts_with(it))
        }
        // A variable is written in capitals, without a path.
        _ => match suggestion::nearest(word, ROOTS) {
            Some(RUNNABLE | SELECTED) => goes_on || rest.is_empty() && !is_in_capitals(word),
            Some(_) => goes_on,
            None => false,
        },
    }
}

fn is_in_capitals(word: &str) -> bool {
    !word.contains(char::is_lowercase)
}

/// Returns true if a text is a path from a root, or from anywhere. A command may begin with `../`.
fn is_readable(inner: &str) -> bool {
    let path = Path::parse(inner).ok();
    let is_path = path.is_some_and(|path| match path.leading_keys().first() {
        Some(root) => ROOTS.contains(root),
        None => true,
    });
    is_path && !inner.starts_with("../")
}

/// Shortens a text with the markers of a tag for display, on one line.
#[must_use]
pub fn in_short(text: &str) -> String {
    const LONGEST: usize = 48;
    let mut shown: String = text.chars().take(LONGEST).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    shown.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_like_a_path_from_a_root_is_a_tag() {
        for inner in [
            "runnable.metadata.name",
            "runnable",
            " runnable.metadata.name ",
            "runnable metadata",
            ".runnable.x",
            "{.runnable.x}",
            "{range runnable.x}{end}",
            "['runnable'].metadata.name",
            "..name",
            "*.metadata",
            "selected.data.key)$ x",
            "run.name",
            "run",
            "profile.values.x",
            "",
            "  ",
            // Nearly so.
            "runable.spec.inputs.x",
            "Runnable.spec.inputs.x",
            "RUNNABLE.spec",
            "runnаble.kind",
            "selcted",
            "runs.name",
            "profiles.values.x",
            "spec.inputs.x",
            "inputs.name",
            "metadata.name",
        ] {
            assert!(is_tag(inner), "{inner}");
        }
    }

    #[test]
    fn what_belongs_to_a_shell_to_kubernetes_or_to_an_engine_is_none() {
        for inner in [
            "params.dir",
            "tasks.build.results.digest",
            "inputs.params.x",
            "context.taskRun.name",
            "VAR",
            "PROFILE",
            "RUN",
            "SELECTED",
            "(1 + 2)",
            "date",
            "@",
            ".",
            "<file",
            "./run.sh",
            "../run.sh",
            ". ./env.sh; x",
            "git tag | grep -E '^v[0-9]+(-rc|-beta",
            "echo \"$tag\" | sed -E 's/(foo|bar",
            "ls | grep -E '\\.(md|txt",
            "run tests | grep '(a",
            "profile --all | grep '(a",
            "select x in a b",
            "{ echo a; grep '(b",
            "[ -f x ] && echo '(a",
            "'/bin/x' -a \"(b",
        ] {
            assert!(!is_tag(inner), "{inner}");
        }
    }
}
