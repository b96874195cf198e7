//! Parts of templates that work, but hardly as their authors expect.

use std::fmt;

use crate::{
    diagnostic::{Root, Segment, field_path},
    syntax,
};

/// One thing that works, but hardly as its author expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The part in which its steps begin.
    pub root: Root,
    /// The steps to it.
    pub at: Vec<Segment>,
    /// Its kind, with what it is about.
    pub kind: WarningKind,
}

/// Each kind of thing that works, but hardly as its author expects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WarningKind {
    /// Templates cannot set this.
    #[error("is removed from the run")]
    Removed,
    /// Cartouche sets this label or annotation.
    #[error("{0} is overwritten")]
    Overwritten(String),
    /// One label that is no text takes the others with it.
    #[error("a value is not a string, so no label of the template is set")]
    NoLabels,
    /// The name is taken after the first run.
    #[error(
        "a fixed name works for one run of a Runnable only; generateName gives every run a name of \
         its own"
    )]
    FixedName,
    /// A tag without an end.
    #[error("a tag is not closed and stays as it is: tags end with )$")]
    UnclosedTag,
    /// A tag as other tools write it, and its cure.
    #[error("this is another tool's syntax and is not replaced; Cartouche tags look like $(path)${}", .0.as_ref().map(|it| format!(": {it}")).unwrap_or_default())]
    ForeignTag(Option<String>),
    /// A text with the markers of a tag that is none; how it begins.
    #[error(
        "{0} is not read as a tag and stays as it is; write {escape} for its $( to say that it is text",
        escape = syntax::ESCAPE
    )]
    LeftAlone(String),
    /// A tag in the key of a map.
    #[error("tags in keys stay as they are")]
    TagInKey,
    /// A part of the healthRule that no run of the kind ever meets.
    #[error("{0}")]
    Unmet(Unmet),
    /// A context whose timeout some runners take for none left.
    #[error(
        "without a timeout the context says 0s, which runners on Capact's Manager for Go take for no time \
         at all: they fail at once"
    )]
    NoTimeout,
    /// Outputs of what may be confidential.
    #[error("a Secret gives no outputs")]
    OutputsOfSecret,
}

/// A part of a rule that no run of its kind ever meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// What no such run has.
    pub what: String,
    /// What follows.
    pub so: Consequence,
    /// What to do about it.
    pub cure: String,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// No run succeeds.
    NeverReady,
    /// A part of the rule is of no use.
    NeverMatches,
}

impl fmt::Display for Consequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeverReady => "its Runnables never become ready",
            Self::NeverMatches => "this never matches",
        })
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, so that {}: {}", self.what, self.so, self.cure)
    }
}

impl Warning {
    pub(crate) fn in_template(at: Vec<Segment>, kind: WarningKind) -> Self {
        let root = Root::Template;
        Self { root, at, kind }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = field_path(&self.at);
        match &self.kind {
            kind @ WarningKind::Removed => write!(f, "{path} {kind}"),
            kind => write!(f, "{path}: {kind}"),
        }
    }
}
