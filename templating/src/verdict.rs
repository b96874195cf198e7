//! Where a run stands, and the words for it.

use crate::{
    run_reason::RunReason,
    sensitive::{Search, withheld},
};

/// The reason of a run of which nothing is known yet.
const UNKNOWN: &str = "Unknown";

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It did what it was made for.
    Succeeded,
    /// It ended without success.
    Failed,
    /// It has not ended, or nothing tells.
    Unknown,
}

/// Where a run stands, and why: status, reason and message of the `StampedObjectCondition`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Where it stands.
    pub verdict: Verdict,
    /// Which rule says so, in one word.
    pub reason: String,
    /// What the run's engine says, if it says something.
    pub message: String,
    /// The reason that the engine itself gives in one word, as `BackoffLimitExceeded`; empty if it gives none.
    pub cause: String,
    /// Why, in one word, if the run is a Pod that says so.
    pub pods: Option<RunReason>,
    /// The message without the words of containers, where it has any: who was given a Secret may repeat it.
    pub discreet: Option<String>,
}

/// What is said in the place of a run's own words, where any of them may be a sensitive output.
const UNSAID: &str =
    "what the run says of this is not shown, since its template has sensitive outputs";
/// Bytes of an engine's reason that are kept.
const CAUSE_BYTES: usize = 128;

impl Health {
    pub(crate) fn new(verdict: Verdict, reason: &str, message: &str) -> Self {
        Self {
            verdict,
            reason: reason.to_owned(),
            message: message.to_owned(),
            cause: String::new(),
            pods: None,
            discreet: None,
        }
    }

    /// The same without the words of containers.
    #[must_use]
    pub fn silenced(mut self) -> Self {
        if let Some(discreet) = self.discreet.take() {
            self.message = discreet;
        }
        self
    }

    /// The same without what the run says of itself.
    pub(crate) fn unsaid(mut self) -> Self {
        // Where nothing matches, the words are Cartouche's.
        if self.reason != UNKNOWN && !self.message.is_empty() {
            UNSAID.clone_into(&mut self.message);
        }
        self
    }

    /// The same without any word of the run: neither of its containers, nor of its engine.
    #[must_use]
    pub fn wordless(self) -> Self {
        self.silenced().unsaid().without_cause()
    }

    /// The same without the reason of the engine.
    fn without_cause(mut self) -> Self {
        self.cause.clear();
        self
    }

    /// The same without words that contain what is searched for.
    pub(crate) fn without(mut self, search: &Search<'_>) -> Self {
        if search.found_in_text(&self.cause).is_some() {
            self.cause.clear();
        }
        if let Some(name) = search.found_in_text(&self.message) {
            self.message = withheld(name);
        }
        self
    }

    /// The same with the reason of the engine, if it is a word.
    pub(crate) fn caused(self, cause: &str) -> Self {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_,:.-/".contains(c);
        let kept = cause.len() <= CAUSE_BYTES && cause.chars().all(is_word);
        let cause = if kept {
            cause.to_owned()
        } else {
            String::new()
        };
        Self { cause, ..self }
    }

    pub(crate) fn unknown(message: &str) -> Self {
        Self::new(Verdict::Unknown, UNKNOWN, message)
    }
}
