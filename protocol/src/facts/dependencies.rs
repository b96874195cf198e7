//! Sources of the inputs of a Runnable.

use crate::{
    sources::{Question, Readiness, generations, readiness, rests_on_own_reads, trace_sources},
    trace::Sources,
};

/// Sources of the inputs, as of the last rendering, and whether they hold back a pending change.
#[derive(Clone, Debug)]
pub struct Dependencies {
    /// True if any input comes from another object.
    pub has_sources: bool,
    /// Readiness of the sources for a pending change.
    pub readiness: Readiness,
    /// True if only a consistent read can confirm that they are not ready; see [`rests_on_own_reads`].
    pub rests_on_own_reads: bool,
    /// Sources that the rendered document derives from. `None` if unknown.
    pub traced: Option<Sources>,
    /// Hash of the generations of the Runnables that it derives from; see [`generations`].
    pub ancestors: Option<String>,
}

/// Dependencies of a Runnable without sources. If its run was once made from sources, the ledger then records that
/// there are none any more.
impl Default for Dependencies {
    fn default() -> Self {
        Self {
            has_sources: false,
            readiness: Readiness::Ready(None),
            rests_on_own_reads: false,
            traced: Some(Sources::NOTHING),
            ancestors: None,
        }
    }
}

impl Dependencies {
    /// Returns the dependencies of a Runnable with sources.
    #[must_use]
    pub fn from_question(question: &Question<'_>) -> Self {
        Self {
            has_sources: true,
            readiness: readiness(question).hide_unreadable(question),
            rests_on_own_reads: rests_on_own_reads(question),
            traced: trace_sources(question).ok().flatten(),
            ancestors: generations(question.known),
        }
    }

    /// Returns the sources that a run intended now is made from. `None` if it may not be intended, or if they are
    /// unknown.
    #[must_use]
    pub fn of_intent(&self) -> Option<&Sources> {
        match &self.readiness {
            Readiness::Ready(sources) => sources.as_ref(),
            _ => None,
        }
    }
}
