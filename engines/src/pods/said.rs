//! Reports about the pods of a run.

use std::{fmt, ops::Deref};

use super::LAST;
use crate::run_reason::RunReason;

/// A sentence about the pods of a run, and its reason in one word if one of the closed set fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The sentence.
    pub words: String,
    /// The reason.
    pub reason: Option<RunReason>,
}

impl Said {
    /// Creates a report from a sentence and its reason.
    #[must_use]
    pub fn new(words: impl Into<String>, reason: impl Into<Option<RunReason>>) -> Self {
        Self {
            words: words.into(),
            reason: reason.into(),
        }
    }

    /// Keeps only the words about the last pod that has failed, without the number of failed pods.
    #[must_use]
    pub fn of_last(self) -> Self {
        let words = of_last(&self.words).to_owned();
        Self { words, ..self }
    }
}

/// Returns the words about pods without the number of failed ones.
pub(super) fn of_last(said: &str) -> &str {
    match said.split_once(LAST) {
        Some((pods, last)) if pods.starts_with(|c: char| c.is_ascii_digit()) => last,
        _ => said,
    }
}

impl From<&str> for Said {
    fn from(words: &str) -> Self {
        Self::new(words, None)
    }
}

impl Deref for Said {
    type Target = str;

    fn deref(&self) -> &str {
        &self.words
    }
}

impl PartialEq<&str> for Said {
    fn eq(&self, words: &&str) -> bool {
        self.words == *words
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}
