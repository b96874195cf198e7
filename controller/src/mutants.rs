//! Deliberate mistakes, for tests that prove that a mistake would be noticed.
//!
//! Without the cargo feature `mutants`, which no shipped build has, every function here is the identity and [`makes`]
//! is a constant `false`. With it, a process makes the one mistake that the environment variable [`VARIABLE`] names,
//! and logs that; without the variable, none.

mod approval;
mod chain;
mod concurrency;
mod debounce;
mod events;
mod lifecycle;
mod pace;
mod releases;

use std::future::Future;

use cartouche_crds::{HistoryEntry, OutputsFrom};
#[cfg(feature = "mutants")]
use cartouche_language::HashVersion;
use cartouche_language::Hashing;
use cartouche_protocol::{
    category::Category,
    decide::Step,
    facts::{CreateOutcome, Facts},
    ledger::{Change, FetchedRun, Ledger, MINIMUM_AGE, OutputsRead},
    messages::reconcile_error::{ReconcileError, Requeue},
};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

pub(crate) use chain::{coherence, further, is_read};
pub(crate) use events::turns;
pub(crate) use pace::due;
pub use releases::{LATER_FIELD, LATER_REVISION, LATER_VALUE, LATER_WORDS};
pub(crate) use releases::{change_condition, change_trace, play_release, schema};

/// Environment variable that names the mistake of a process.
pub const VARIABLE: &str = "CARTOUCHE_MUTANT";

/// A mistake in making runs. Each breaks one sentence of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mutant {
    /// The status is written without a precondition.
    NoPrecondition,
    /// Finished runs are deleted at any age.
    NoMinimumAge,
    /// The name of a run is made of its hash.
    NameOfHash,
    /// Runs are made with a prefix and a random ending, as the original's.
    GenerateNameOnly,
    /// The create is sent before anything is written.
    NoIntent,
    /// The intent is written for a template from the cache.
    StaleTemplate,
    /// Any object with the name is adopted as the run.
    AdoptUnchecked,
    /// Outputs are those of the run that ended last.
    OutputsByTime,
    /// A create without an answer is sent again at once.
    PostRetried,
    /// A name that is taken is a permanent error.
    TakenIsTheEnd,
    /// A further attempt has the number of the one before it.
    RetryUncounted,
    /// A failed run is retried without a pause.
    RetryAtOnce,
    /// A run that a user has cancelled is retried.
    CancelledRetried,
    /// A change waits until a further attempt may begin.
    ChangeWaits,
    /// A run is asked to stop before that is written.
    StopUnwritten,
    /// A run is asked to stop before its time is over.
    StopEarly,
    /// A run that was asked to stop, and is gone, is made again.
    StoppedMadeAgain,
    /// A run begins beside one that it should wait for.
    RunsBeside,
    /// A run begins as soon as the one before it was asked to stop.
    AskedIsOver,
    /// An approval counts for any run of its number.
    ApprovedByNumber,
    /// The approved document is not compared again once a run has its number.
    ApprovedUncompared,
    /// A change runs at once, even if others follow it.
    NeverSettles,
    /// The intent is written for outputs of other Runnables from the memory.
    SourcesRemembered,
    /// A run is made of several states of one ancestor.
    CoherenceUnchecked,
    /// A change of the sources of the present run is not written.
    NeverMovesOn,
    /// The ancestors of sources are not checked for having settled.
    AncestorsUnasked,
    /// A number that another release has given is superseded at once.
    OtherReleaseSuperseded,
    /// A status is written as soon as its words differ, even over the words of another process.
    WordsAtOnce,
    /// Events of the namespace with most of them always go first.
    FloodFirst,
}

/// Environment variable that names the release which a process plays. `next` and `after-next` hash otherwise: `next`
/// knows the hashes of this one, `after-next` does not. `otherwise` hashes as this one, has other words for how a run
/// has failed and for templates and profiles, and traces sources otherwise. So does `later`, which hashes as `next`,
/// needs definitions of a higher number, has other words, and writes fields that this one does not know.
pub const RELEASE: &str = "CARTOUCHE_PLAYED_RELEASE";

/// Returns the versions of the hashes of this process.
#[cfg(not(feature = "mutants"))]
#[must_use]
pub(crate) const fn hashing(of_release: Hashing) -> Hashing {
    of_release
}

/// Returns the versions of the hashes of this process.
#[cfg(feature = "mutants")]
#[must_use]
pub(crate) fn hashing(of_release: Hashing) -> Hashing {
    let own = HashVersion::Next;
    let former = match std::env::var(RELEASE).as_deref() {
        Ok("next" | "later") => Some(HashVersion::V1),
        Ok("after-next") => None,
        _ => return of_release,
    };
    Hashing { own, former }
}

/// Returns true if this process makes this mistake.
#[cfg(not(feature = "mutants"))]
#[must_use]
pub const fn makes(_: Mutant) -> bool {
    false
}

#[cfg(feature = "mutants")]
pub use switched_on::makes;

#[cfg(feature = "mutants")]
mod switched_on {
    use std::sync::OnceLock;

    use clap::ValueEnum;

    use super::{Mutant, VARIABLE};

    /// Returns true if this process makes this mistake.
    #[must_use]
    pub fn makes(mutant: Mutant) -> bool {
        static MAKES: OnceLock<Option<Mutant>> = OnceLock::new();
        *MAKES.get_or_init(chosen) == Some(mutant)
    }

    fn chosen() -> Option<Mutant> {
        let name = std::env::var(VARIABLE).ok()?;
        let chosen = Mutant::from_str(&name, false).ok();
        // An unknown name would make a test pass that should fail.
        if chosen.is_some() {
            tracing::error!(name, "this controller makes a deliberate mistake");
        } else {
            tracing::error!(name, "{VARIABLE} names no mistake: none is made");
        }
        chosen
    }
}

/// Returns the step of the decision, changed by the mistakes.
pub(crate) fn change_step(step: Step, facts: &Facts) -> Step {
    let step = concurrency::change_step(lifecycle::change_step(step, facts), facts);
    let step = debounce::change_step(step, facts);
    let step = chain::change_step(step, facts);
    let step = releases::with_field(releases::change_step(step, facts));
    match approval::change_step(step, facts) {
        Step::Write(mut ledger, change) => {
            if makes(Mutant::NameOfHash) && matches!(change, Change::Intent | Change::Renumber) {
                name_of_hash(&mut ledger);
            }
            if makes(Mutant::OutputsByTime) {
                outputs_by_time(&mut ledger, facts);
            }
            Step::Write(ledger, change)
        }
        Step::ReadRun(name)
            if makes(Mutant::TakenIsTheEnd)
                && matches!(facts.created, Some(CreateOutcome::AlreadyExists)) =>
        {
            Step::Stuck(ReconcileError::new(
                Category::NameConflict,
                Requeue::Backoff,
                format!("{} existed already", name.name),
            ))
        }
        other => other,
    }
}

fn name_of_hash(ledger: &mut Ledger) {
    if let Some(current) = &mut ledger.current {
        let digits = current.input_hash.rsplit(':').next().unwrap_or_default();
        current.name = format!("run-{}", &digits[..digits.len().min(10)]);
    }
}

/// Takes the outputs of an older run that has ended just now.
fn outputs_by_time(ledger: &mut Ledger, facts: &Facts) {
    let unfinished = |entry: &&HistoryEntry| entry.result.is_none();
    for entry in facts.ledger.history.iter().filter(unfinished) {
        let ended = entry.uid.as_ref().and_then(|uid| facts.fetched_run(uid));
        let Some(fetched) = ended else {
            continue;
        };
        if let OutputsRead::Values(values) = &fetched.outputs {
            ledger.outputs = Some(values.clone());
            ledger.outputs_from = Some(OutputsFrom {
                sources: None,
                sequence: entry.sequence,
                name: fetched.run.name.clone(),
                uid: fetched.run.uid.clone(),
                rules_hash: fetched.rules_hash.to_string(),
                unknown_fields: cartouche_crds::UnknownFields::default(),
            });
        }
    }
}

/// Returns the time that the minimum age of runs is measured by before they are deleted.
pub(crate) fn later(now: Option<Timestamp>) -> Option<Timestamp> {
    if makes(Mutant::NoMinimumAge) {
        return now.map(|now| now + MINIMUM_AGE);
    }
    now
}

/// Returns the object that is sent to be created.
pub(crate) fn object(mut object: Value) -> Value {
    if makes(Mutant::GenerateNameOnly)
        && let Some(Value::Object(metadata)) = object.get_mut("metadata")
    {
        metadata.remove("name");
    }
    object
}

/// Returns the `resourceVersion` that a write of the status carries. Custom resources are never written without one, so
/// a write without a precondition has to read the `latest`.
pub(crate) async fn precondition<Read>(read: &str, latest: impl FnOnce() -> Read) -> String
where
    Read: Future<Output = Option<Value>>,
{
    if makes(Mutant::NoPrecondition)
        && let Some(now) = latest().await
        && let Some(latest) = now
            .pointer("/metadata/resourceVersion")
            .and_then(Value::as_str)
    {
        return latest.to_owned();
    }
    read.to_owned()
}

/// Returns the run that was read under the name of the current run.
pub(crate) fn change_read(mut found: Option<FetchedRun>, facts: &Facts) -> Option<FetchedRun> {
    if makes(Mutant::AdoptUnchecked)
        && let (Some(found), Some(current)) = (&mut found, &facts.ledger.current)
        && current.uid.is_none()
        && found.run.name == current.name
    {
        let run = &mut found.run;
        run.owner_uid = Some(facts.runnable.uid.clone());
        run.sequence = Some(current.sequence);
        run.input_hash = Some(current.input_hash.clone());
        run.created = current.intent_at.as_ref().map(|at| at.0);
        run.made_with_status = false;
    }
    releases::read(found)
}

/// Returns the answer to a create. `is_passing` returns true if the same request may have another answer a moment
/// later.
pub(crate) async fn answer<T, E, Send, Sent>(send: Send, is_passing: fn(&E) -> bool) -> Result<T, E>
where
    Send: Fn() -> Sent,
    Sent: Future<Output = Result<T, E>>,
{
    let mut answer = send().await;
    for _ in 0..3 {
        let again = answer.as_ref().is_err_and(is_passing);
        if !again || !makes(Mutant::PostRetried) {
            break;
        }
        answer = send().await;
    }
    answer
}
