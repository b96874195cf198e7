//! Mistakes in the handling of a number that another release has given; and differences of a later release, which are
//! no mistakes.

use cartouche_crds::{RunnableStatus, SCHEMA};
use cartouche_protocol::{
    decide::{Step, Waiting, another_document, decide},
    facts::{Dependencies, Facts},
    ledger::{Change, Due, FetchedRun, Ledger},
    status::ConditionValue,
};

use super::{Mutant, makes};

/// A field of a status and of its current run that this release does not know.
pub const LATER_FIELD: &str = "laterField";
/// Value of that field.
pub const LATER_VALUE: &str = "kept";
/// End of each message of a later release, and beginning of those of templates and profiles.
pub const LATER_WORDS: &str = " (in later words)";

/// Revision of each sensitive output in a later release.
pub const LATER_REVISION: &str = "later";

/// Returns the schema number that the definitions of the project's kinds need.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn schema() -> u32 {
    SCHEMA
}

/// Returns the status as this process writes it.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn play_release(status: RunnableStatus) -> RunnableStatus {
    status
}

/// Returns the condition of a template or profile in the words of this process.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn change_condition(value: ConditionValue) -> ConditionValue {
    value
}

/// Returns the sources of inputs as this process traces them.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn change_trace(dependencies: Dependencies) -> Dependencies {
    dependencies
}

/// Returns a run as this process reads it.
#[cfg(not(feature = "mutants"))]
pub(super) const fn read(found: Option<FetchedRun>) -> Option<FetchedRun> {
    found
}

/// Returns the step with the current run as this process writes it.
#[cfg(not(feature = "mutants"))]
pub(super) const fn with_field(step: Step) -> Step {
    step
}

#[cfg(feature = "mutants")]
pub(crate) use later::{change_condition, change_trace, play_release, schema};
#[cfg(feature = "mutants")]
pub(super) use later::{read, with_field};

#[cfg(feature = "mutants")]
mod later {
    use cartouche_protocol::trace::Sources;
    use serde::{Serialize, de::DeserializeOwned};
    use serde_json::Value;

    use super::{
        ConditionValue, Dependencies, FetchedRun, LATER_FIELD, LATER_REVISION, LATER_VALUE,
        LATER_WORDS, RunnableStatus, SCHEMA, Step,
    };
    use crate::mutants::RELEASE;

    fn is_played() -> bool {
        std::env::var(RELEASE).as_deref() == Ok("later")
    }

    /// Returns true for a release that only reads otherwise, and for a later one.
    fn reads_otherwise() -> bool {
        matches!(std::env::var(RELEASE).as_deref(), Ok("later" | "otherwise"))
    }

    /// Returns the sources of inputs as this process traces them: without the last of several.
    pub(crate) fn change_trace(mut dependencies: Dependencies) -> Dependencies {
        if reads_otherwise() {
            let traced = dependencies.traced.map(|it| it.to_status());
            dependencies.traced = traced.map(|mut written| {
                if written.len() > 1 {
                    written.pop_last();
                }
                Sources::read(&written)
            });
        }
        dependencies
    }

    /// Returns the condition of a template or profile in the words of this process. Warnings of the API server stay at
    /// the end, where they are read again.
    pub(crate) fn change_condition(mut value: ConditionValue) -> ConditionValue {
        if reads_otherwise() {
            value.message.insert_str(0, LATER_WORDS);
        }
        value
    }

    /// Returns a run as this process reads it, with other words for how it has failed.
    pub(in crate::mutants) fn read(mut found: Option<FetchedRun>) -> Option<FetchedRun> {
        let failed = found.iter_mut().filter(|it| it.failure.is_some());
        for found in failed.filter(|_| reads_otherwise()) {
            found.health.message.push_str(LATER_WORDS);
        }
        found
    }

    /// Returns the schema number that the definitions of the project's kinds need.
    pub(crate) fn schema() -> u32 {
        SCHEMA + u32::from(is_played())
    }

    /// Returns the status as this process writes it.
    pub(crate) fn play_release(mut status: RunnableStatus) -> RunnableStatus {
        if reads_otherwise() {
            for output in status.sensitive_outputs.values_mut() {
                LATER_REVISION.clone_into(&mut output.revision);
            }
        }
        if !is_played() {
            return status;
        }
        for condition in &mut status.conditions {
            if !condition.message.ends_with(LATER_WORDS) {
                condition.message.push_str(LATER_WORDS);
            }
        }
        having_field(&status).unwrap_or(status)
    }

    /// Returns the step with the current run as this process writes it.
    pub(in crate::mutants) fn with_field(step: Step) -> Step {
        let Step::Write(mut ledger, change) = step else {
            return step;
        };
        if is_played()
            && let Some(current) = &mut ledger.current
            && let Some(having) = having_field(current)
        {
            *current = having;
        }
        Step::Write(ledger, change)
    }

    /// Adds the field to an object. `None` if the result cannot be parsed again.
    fn having_field<T: Serialize + DeserializeOwned>(object: &T) -> Option<T> {
        let mut object = serde_json::to_value(object).ok()?;
        object[LATER_FIELD] = Value::from(LATER_VALUE);
        serde_json::from_value(object).ok()
    }
}

/// Decides as if the number of another release were known to be of another document.
pub(super) fn change_step(step: Step, facts: &Facts) -> Step {
    let is_left = match &step {
        Step::Wait(Waiting::OtherRelease(_)) => true,
        Step::Write(_, Change::MakeWay) => {
            matches!(facts.due(&facts.ledger), Some(Due::OtherHash(_)))
        }
        _ => false,
    };
    let (true, true, Ok(rendering)) = (
        is_left,
        makes(Mutant::OtherReleaseSuperseded),
        &facts.rendering,
    ) else {
        return step;
    };
    let mut bent = facts.clone();
    let another = another_document(&rendering.document);
    bent.ledger = bent.ledger.migrate_hash(&another);
    match decide(&bent) {
        Step::Write(mut ledger, change) => {
            keep_hash(facts, &mut ledger);
            Step::Write(ledger, change)
        }
        step => step,
    }
}

/// Restores the hash of the entry that was changed for the decision.
fn keep_hash(facts: &Facts, ledger: &mut Ledger) {
    let Some(bent) = &facts.ledger.current else {
        return;
    };
    let current = ledger.current.iter_mut();
    let mut current = current.filter(|it| it.sequence == bent.sequence);
    if let Some(current) = current.next() {
        current.input_hash.clone_from(&bent.input_hash);
    }
    let mut history = ledger.history_mut().iter_mut();
    if let Some(entry) = history.find(|it| it.sequence == bent.sequence) {
        entry.input_hash.clone_from(&bent.input_hash);
    }
}
