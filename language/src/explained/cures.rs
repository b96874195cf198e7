//! Cures for paths that can be parsed, but lead nowhere.

use crate::{
    roots::TERMINATION_MESSAGE,
    syntax::{self, PathStep},
};

/// Returns the cure for a path to the termination message of a run through its status, which does not contain it.
#[must_use]
pub fn beside_status(path: &str) -> Option<String> {
    let steps = syntax::steps(path);
    syntax::below(&steps, &["status", TERMINATION_MESSAGE])?;
    let rest = path.get(steps.get(1)?.span.end..)?;
    let rest = rest.trim_start_matches(['\'', ']']);
    let meant = format!(
        ".{TERMINATION_MESSAGE}{}",
        rest.strip_suffix('}').unwrap_or(rest)
    );
    syntax::whole_path(&meant)?;
    Some(format!(
        "the termination message is not part of status: write {meant}"
    ))
}

/// Returns the cure for a name with dots, which end it. Returns `None` if the step that leads nowhere precedes
/// that name: then the dots are not the cause.
#[must_use]
pub fn unescaped_dots(path: &str, lost: Option<&PathStep>) -> Option<String> {
    let meant = syntax::with_escaped_dots(path)?;
    if lost.is_some_and(|step| step.span.end < meant.from) {
        return None;
    }
    Some(format!(
        "a dot ends a name, in brackets too; within a name it is written \\.: {}",
        meant.path
    ))
}
