//! Parts of templates that work, but hardly as their authors expect.

use std::fmt;

use crate::{
    diagnostic::{Root, Segment, field_path},
    syntax,
};

/// A part of a template that works, but hardly as its author expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The object that its steps begin at.
    pub root: Root,
    /// The steps to the part.
    pub at: Vec<Segment>,
    /// The kind of the warning, with its details.
    pub kind: WarningKind,
}

/// Kind of a part that works, but hardly as its author expects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WarningKind {
    /// A field that templates cannot set.
    #[error("is removed from the run")]
    Removed,
    /// A label or annotation that Cartouche sets.
    #[error("{0} is overwritten")]
    Overwritten(String),
    /// A label that is not a text, which removes all others.
    #[error("a value is not a string, so no label of the template is set")]
    NoLabels,
    /// A fixed name, which is taken after the first run.
    #[error(
        "a fixed name works for one run of a Runnable only; generateName gives every run a name of \
         its own"
    )]
    FixedName,
    /// A tag without an end.
    #[error("a tag is not closed and stays as it is: tags end with )$")]
    UnclosedTag,
    /// A tag of another tool, with its cure.
    #[error("this is another tool's syntax and is not replaced; Cartouche tags look like $(path)${}", .0.as_ref().map(|it| format!(": {it}")).unwrap_or_default())]
    ForeignTag(Option<String>),
    /// The beginning of a text with the markers of a tag that is none.
    #[error(
        "{0} is not read as a tag and stays as it is; if it is text, write {escape} instead of its $(",
        escape = syntax::ESCAPE
    )]
    LeftAlone(String),
    /// A tag in the key of a map.
    #[error("tags in keys stay as they are")]
    TagInKey,
    /// A part of the `healthRule` that no run of the kind ever meets.
    #[error("{0}")]
    Unmet(Unmet),
    /// A context without a timeout, which some runners treat as no time left.
    #[error(
        "without a timeout the context has 0s: runners with Capact's Manager for Go read that as no time \
         at all, and fail immediately"
    )]
    NoTimeout,
    /// Outputs of an object that may be confidential.
    #[error("a Secret gives no outputs")]
    OutputsOfSecret,
}

/// A part of a rule that no run of its kind ever meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The condition or field that no such run has.
    pub what: String,
    /// The consequence.
    pub so: Consequence,
    /// The cure.
    pub cure: String,
}

/// Consequence of an unmet part of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// No run succeeds.
    NeverReady,
    /// A part of the rule has no effect.
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
    /// A warning of a place in the document of a template.
    #[must_use]
    pub fn in_template(at: Vec<Segment>, kind: WarningKind) -> Self {
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
