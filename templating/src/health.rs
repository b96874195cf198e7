//! Whether a run has succeeded, failed, or neither yet: for any kind.
//!
//! A template's `healthRule` decides; without one the run's `Succeeded` condition if it has one; else
//! what is known of its kind. Runs are written by others, so nothing is taken for granted about them.

mod built_in;
mod ended;
mod judged;
mod rule;
mod unmet;

use serde_json::Value;

use crate::{
    object::{SUCCEEDED, conditions, text},
    run_reason::RunReason,
    sensitive::{Search, withheld},
};
pub use ended::ended_at;
pub use judged::Judged;
pub(crate) use judged::judged;
pub(crate) use rule::CompiledRule;
pub(crate) use unmet::unmet;
pub use unmet::{Consequence, Unmet};

/// The reason of a run of which nothing is known yet.
const UNKNOWN: &str = "Unknown";
/// The reason of a run that has succeeded once it exists.
const ALWAYS_HEALTHY: &str = "AlwaysHealthy";

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
    fn new(verdict: Verdict, reason: &str, message: &str) -> Self {
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
    fn caused(self, cause: &str) -> Self {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_,:.-/".contains(c);
        let kept = cause.len() <= CAUSE_BYTES && cause.chars().all(is_word);
        let cause = if kept {
            cause.to_owned()
        } else {
            String::new()
        };
        Self { cause, ..self }
    }

    fn unknown(message: &str) -> Self {
        Self::new(Verdict::Unknown, UNKNOWN, message)
    }
}

/// Judges a run of that `apiVersion` and kind by the rule, if there is one.
pub(crate) fn health(rule: Option<&CompiledRule>, kind: (&str, &str), run: &Value) -> Health {
    match rule {
        Some(rule) => {
            let mut health = rule.judge(run);
            if let Some(said) = judged::ended_undecided(rule, &health, kind, run) {
                health.message = said;
            }
            health
        }
        None => by_condition(run, SUCCEEDED, "SucceededCondition")
            .unwrap_or_else(|| built_in::judge(kind, run)),
    }
}

/// Judges a run that says its kind without its template: by its `Succeeded` condition, else by what is
/// known of its kind.
#[must_use]
pub fn built_in_health(run: &Value) -> Health {
    health(None, (text(run, "apiVersion"), text(run, "kind")), run)
}

/// Judges by one condition: True is success, False failure. Nothing when the run does not have it.
fn by_condition(run: &Value, kind: &str, reason: &str) -> Option<Health> {
    let mut found = conditions(run, kind);
    let condition = found.next()?;
    if found.next().is_some() {
        // Which of them counts? As in Cartographer, none.
        let message = format!("the run has more than one condition of type {kind}");
        return Some(Health::new(Verdict::Unknown, reason, &message));
    }
    let verdict = match text(condition, "status") {
        "True" => Verdict::Succeeded,
        "False" => Verdict::Failed,
        _ => Verdict::Unknown,
    };
    let health = Health::new(verdict, reason, text(condition, "message"));
    Some(health.caused(text(condition, "reason")))
}

#[cfg(test)]
mod tests;
