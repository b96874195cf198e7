//! Differences between two texts, for people.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};

use crate::foreign::in_lines;

/// Lines around a change.
const CONTEXT: usize = 3;

const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const PLACE: Style = AnsiColor::Cyan.on_default();

/// Returns a unified diff: `-` is the expected text, `+` the actual one.
pub(crate) fn unified(expected: &str, actual: &str) -> String {
    let diff = TextDiff::from_lines(expected, actual);
    let mut out = String::new();
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{PLACE}{}{PLACE:#}", hunk.header());
        for change in hunk.iter_changes() {
            let line = change.to_string_lossy();
            let line = in_lines(line.trim_end_matches('\n'));
            let _ = match change.tag() {
                ChangeTag::Delete => writeln!(out, "{REMOVED}-{line}{REMOVED:#}"),
                ChangeTag::Insert => writeln!(out, "{ADDED}+{line}{ADDED:#}"),
                ChangeTag::Equal => writeln!(out, " {line}"),
            };
        }
    }
    out
}
