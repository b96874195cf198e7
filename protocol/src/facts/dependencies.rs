//! What the inputs of a Runnable come from.

use crate::{
    sources::{Question, Readiness, generations, readiness, rests_on_own_reads, traced},
    trace::Sources,
};

/// What its inputs come from, as of the last rendering, and whether that holds back a run that is due.
#[derive(Clone, Debug)]
pub struct Dependencies {
    /// Whether any input comes from another object.
    pub has_sources: bool,
    /// Whether a run that is due may be intended.
    pub readiness: Readiness,
    /// Whether only a consistent read tells that it may not; see [`rests_on_own_reads`].
    pub rests_on_own_reads: bool,
    /// What the document that is rendered stems from. `None` if nobody knows.
    pub traced: Option<Sources>,
    /// A hash of the generations of the Runnables that it stems from; see [`generations`].
    pub ancestors: Option<String>,
}

/// Those of a Runnable whose inputs come from nowhere. Were there sources once, it is told that there are none any more.
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
    /// Those of a Runnable with sources.
    #[must_use]
    pub fn of(question: &Question<'_>) -> Self {
        Self {
            has_sources: true,
            readiness: readiness(question).shown(question),
            rests_on_own_reads: rests_on_own_reads(question),
            traced: traced(question).ok().flatten(),
            ancestors: generations(question.known),
        }
    }

    /// What a run that is intended now is made from.
    #[must_use]
    pub fn of_intent(&self) -> Option<&Sources> {
        match &self.readiness {
            Readiness::Ready(sources) => sources.as_ref(),
            _ => None,
        }
    }
}
