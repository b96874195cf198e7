//! The fixed first steps of paths, in tags and in outputs, and the facts below `run`.

/// The root of paths into the Runnable.
pub const RUNNABLE: &str = "runnable";
/// The root of paths into the selected object.
pub const SELECTED: &str = "selected";
/// The roots of the paths in open tags.
pub(crate) const RUN: &str = "run";
pub(crate) const PROFILE: &str = "profile";
/// All roots.
pub(crate) const ROOTS: [&str; 4] = [RUNNABLE, SELECTED, RUN, PROFILE];

/// Facts of a run that are known when it is made, below its root.
pub(crate) const NAME: &str = "name";
pub(crate) const SEQUENCE: &str = "sequence";
pub(crate) const INPUT_HASH: &str = "inputHash";
pub(crate) const RERUN_TOKEN: &str = "rerunToken";
pub(crate) const FACTS: [&str; 4] = [NAME, SEQUENCE, INPUT_HASH, RERUN_TOKEN];

/// The field of a run that output paths read for its termination message.
pub const TERMINATION_MESSAGE: &str = "terminationMessage";
