//! The verdict on a run, with its reason and message.

use crate::{
    run_reason::RunReason,
    sensitive::{Search, withheld},
};

/// The reason of a run without any sign yet.
const UNKNOWN: &str = "Unknown";

/// The verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The run succeeded.
    Succeeded,
    /// The run ended without success.
    Failed,
    /// The run has not ended, or its result is unknown.
    Unknown,
}

/// The verdict on a run and its reason: status, reason and message of the `StampedObjectCondition`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The verdict.
    pub verdict: Verdict,
    /// The deciding rule, in one word.
    pub reason: String,
    /// The message of the run's engine, if there is one.
    pub message: String,
    /// The engine's own reason in one word, such as `BackoffLimitExceeded`; empty if there is none.
    pub cause: String,
    /// The reason of a Pod's own report, in one word, if the run is a Pod.
    pub pods: Option<RunReason>,
    /// The message without the words of containers, if it has any: a container with a Secret may repeat its value.
    pub discreet: Option<String>,
}

/// Message in place of a run's own words, if any of them may be a sensitive output.
const UNSAID: &str =
    "the run's own message is not shown, because its template has sensitive outputs";
/// Maximum bytes of an engine's reason. A longer one is dropped.
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

    /// Removes the words of containers.
    #[must_use]
    pub fn silence(mut self) -> Self {
        if let Some(discreet) = self.discreet.take() {
            self.message = discreet;
        }
        self
    }

    /// Removes the run's own words.
    #[must_use]
    pub fn without_words(mut self) -> Self {
        // If nothing matches, the words are Cartouche's.
        if self.reason != UNKNOWN && !self.message.is_empty() {
            UNSAID.clone_into(&mut self.message);
        }
        self
    }

    /// Removes every word of the run: of its containers, and of its engine.
    #[must_use]
    pub fn wordless(self) -> Self {
        self.silence().without_words().without_cause()
    }

    /// Removes the reason of the engine.
    fn without_cause(mut self) -> Self {
        self.cause.clear();
        self
    }

    /// Removes words that contain a searched text.
    #[must_use]
    pub fn without(mut self, search: &Search<'_>) -> Self {
        if search.found_in_text(&self.cause).is_some() {
            self.cause.clear();
        }
        if let Some(name) = search.found_in_text(&self.message) {
            self.message = withheld(name);
        }
        self
    }

    /// Sets the reason of the engine, if it is a word.
    pub(crate) fn with_cause(self, cause: &str) -> Self {
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
