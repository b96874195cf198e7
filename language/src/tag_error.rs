//! Reasons for which a tag has no value: its path has none, it reads a forbidden field, or it stays open and
//! cannot.

use crate::{
    bounds::{MAX_RENDERED_BYTES, MAX_RENDERED_WEIGHT},
    path::PathError,
    roots::FACTS,
    weight::in_mib,
};

/// Reason for which a tag has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// Its path has no value.
    #[error(transparent)]
    Path(#[from] PathError),
    /// It reads a forbidden field.
    #[error(transparent)]
    UnreadableField(#[from] UnreadableField),
    /// It reads from no known root.
    #[error("{missing}: a tag reads runnable or selected, not '{root}'")]
    UnknownRoot {
        /// The error of its path.
        missing: PathError,
        /// The first name of its path.
        root: String,
    },
    /// It would stay open, and cannot.
    #[error(transparent)]
    Open(#[from] OpenTagError),
    /// Its value is too large.
    #[error("the rendered document is larger than {MAX_RENDERED_BYTES} bytes")]
    TooLarge,
    /// Its value is too heavy as a tree.
    #[error(
        "the rendered document takes more than {} of memory as a tree of values",
        in_mib(MAX_RENDERED_WEIGHT)
    )]
    TooHeavy,
}

impl TagError {
    /// Returns true if a limit was reached, so that the rest is skipped.
    pub(crate) fn is_final(&self) -> bool {
        matches!(
            self,
            Self::TooLarge | Self::TooHeavy | Self::Path(PathError::Exhausted(_))
        )
    }
}

/// A field that no tag may read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableField {
    /// The status of the Runnable.
    #[error(
        "runnable.status is not readable, because it changes with every run and a run would cause \
         the next one: read spec, labels or annotations instead"
    )]
    Status,
    /// A field that controls when, how often or how to run, and is no part of the run.
    #[error(
        "runnable.spec.{0} is not readable, because it says when or how to run, and a change of it would \
         change what is run: use an input instead"
    )]
    WhenToRun(String),
    /// The sources of inputs.
    #[error(
        "runnable.spec.inputsFrom is not readable, because it says where values come from: read \
         runnable.spec.inputs.<name>"
    )]
    InputsFrom,
    /// The targets of outputs.
    #[error(
        "runnable.spec.writeOutputsTo is not readable, because it says where outputs go, and a change of it would \
         change what is run: use an input instead"
    )]
    OutputsTo,
    /// An annotation of Cartouche's own.
    #[error(
        "the annotation {0} is not readable, because annotations of carto.run/ say when and how to run, and a change of one would \
         change what is run: use an input instead"
    )]
    Annotation(String),
    /// Metadata that changes with every write.
    #[error(
        "{root}.metadata.{field} is not readable, because it changes with every write and a run \
         would cause the next one: read spec, labels or annotations instead"
    )]
    Volatile {
        /// `runnable` or `selected`.
        root: String,
        /// The field.
        field: String,
    },
}

/// Reason for which a tag cannot stay open, or cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenTagError {
    /// It reads a fact of a run that is unknown when the run is made.
    #[error("a tag can read only {} of a run", FACTS.map(|fact| format!("run.{fact}")).join(", "))]
    UnknownFact,
    /// It reads a part of a profile other than its values.
    #[error("a tag can read only profile.values.<name> of a profile")]
    NotOfValues,
    /// It is part of the run's name or kind.
    #[error(
        "'{0}' is not known before the run is created, and this value is needed to create it: read runnable or selected"
    )]
    TooLate(&'static str),
    /// It reads an object that a profile does not know.
    #[error("a profile can read runnable, run and profile.values, but not the selected object")]
    NotInProfile,
    /// The run answers no re-run request.
    #[error("no re-run was requested, so there is no run.rerunToken")]
    NoRerun,
    /// There is no profile.
    #[error("the run has no profile, so there are no profile.values")]
    NoProfile,
    /// A label, or an annotation, is not a text.
    #[error(
        "it is not a string, which labels and annotations have to be: $('')$ beside the tag makes it one"
    )]
    NotAText,
}

impl OpenTagError {
    /// Returns a label of a few words, and advice for a correction.
    pub(crate) fn advice(&self) -> (&'static str, &'static str) {
        match self {
            Self::UnknownFact => ("not known", "look for a misspelt name"),
            Self::NotOfValues => (
                "not a value",
                "put what the run needs into the values of the profile",
            ),
            Self::NotInProfile => ("not known here", "read an input instead"),
            Self::TooLate(_) => ("not known yet", "read runnable or selected"),
            Self::NoRerun => (
                "no re-run request",
                "read run.name or run.sequence, which every run has",
            ),
            Self::NoProfile => (
                "no profile",
                "let a profile match, or read an input instead",
            ),
            Self::NotAText => ("not a string", "write $('')$ beside the tag"),
        }
    }
}
