//! Decides the next step from the facts. Pure.
//!
//! The caller carries out a step that reads or writes, adds the answer to the facts, and decides
//! again, until nothing is left to do. The order of the checks is the protocol
//! (`docs/concepts/exactly-once.md`).

mod approval;
mod current_run;
mod debounce;
mod first_run;
mod gate;
mod hold;
mod overlap;
mod pending;
mod permissions;
mod profile;
mod retry;
mod room;
mod stop;
mod superseded;

pub use first_run::another_document;
pub use hold::ASKED_AGAIN;
pub use pending::MOST_RENUMBERED;
pub use stop::{STOPS_WITHIN, earlier_that_do_not_stop, next_stop};

use std::time::Duration;

use cartouche_crds::RunPhase;
use cartouche_engines::kinds::StopRequest;
use cartouche_templating::Needed;
use gate::Beginning;

use crate::{
    category::Category,
    facts::{Facts, LedgerState, LedgerWriter, NameRead, Rendering, WatchState},
    ledger::{
        CREATES_SETTLE_IN, Change, Due, Fate, Intent, Ledger, MAX_HISTORY, RunName, may_come,
        may_land,
    },
    messages::{
        diagnosis::Diagnosis,
        reconcile_error::{ReconcileError, Requeue},
    },
    sources::Provenance,
};

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Read the template and the selected object consistently, and render again.
    RenderAgain,
    /// List the runs that the Runnable controls, consistently, as its account.
    ListRuns {
        /// List the kinds of all templates, not only the rendered kind.
        every_kind: bool,
    },
    /// Read one name consistently, as the account.
    ReadRun(RunName),
    /// Read consistently who wrote the ledger last. If the status has been written since it was
    /// read, the controller waits for that event.
    ReadLedgerWriter,
    /// Ask the server, by a dry-run create, for its form of the rendered document, and compare that
    /// with this run.
    AskServer(RunName),
    /// Ask the server, by a dry-run create, what it makes of an object like the pending run's.
    Probe,
    /// Ask, as the account of the pods of the next run, whether that account may do this.
    AskPermissions(Box<Needed>),
    /// Ask the server, by a dry-run create, whether it would accept the run of this number, which
    /// waits for approval.
    DryRun(i64),
    /// Write the ledger, with the `resourceVersion` of what was read.
    Write(Box<Ledger>, Change),
    /// Create the run of the pending entry, as the account.
    Create,
    /// Stop a run, as the account.
    Stop(Box<ToStop>),
    /// Wait for an event that enqueues the Runnable, or for a time.
    Wait(Waiting),
    /// The error that keeps the Runnable from going on for now.
    Stuck(ReconcileError),
    /// Nothing is left to do.
    Settled,
}

/// A run to stop.
#[derive(Clone, Debug, PartialEq)]
pub struct ToStop {
    /// Kind and name by which the run is found.
    pub name: RunName,
    /// Uid of the run: an object that has taken its name is left alone.
    pub uid: String,
    /// The request that stops it.
    pub request: StopRequest,
    /// The `resourceVersion` in which the run was seen at work: a run that has ended since is not
    /// deleted.
    pub version: Option<u64>,
}

/// The event or time that the controller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The first list of the watch.
    FirstList,
    /// An event of the watch, which a read is ahead of.
    Watch,
    /// Another controller, which may have seen the missing run deleted.
    GracePeriod,
    /// The time after which no create can still be in flight.
    CreatesSettle,
    /// A controller of another release, for this long: it has recorded an intent and may be about
    /// to create the run.
    OtherRelease(Duration),
}

/// Returns the next step.
#[must_use]
pub fn decide(facts: &Facts) -> Step {
    unless_put_back(facts, retry::with_schedule(facts, decided(facts)))
}

/// Returns the next step for the runs that exist while something else is stuck. Their results and
/// outputs are recorded, and a pending run that exists after all is confirmed. No run is intended
/// or created.
#[must_use]
pub fn decide_without_rendering(facts: &Facts) -> Step {
    unless_put_back(
        facts,
        retry::with_schedule(facts, decided_without_rendering(facts)),
    )
}

/// Returns [`Step::ReadLedgerWriter`] instead of this step if another client has written the
/// status, which may have been the ledger.
///
/// That is found out before anything is requested, created or written, even a condition. No watch
/// may show the newer runs, if they are of a kind that the ledger does not name, and each write
/// erases the record of the former writer.
fn unless_put_back(facts: &Facts, step: Step) -> Step {
    match step {
        Step::RenderAgain | Step::ListRuns { .. } | Step::Wait(_) => step,
        _ if is_marked(facts) && !is_leaving(facts) => Step::ReadLedgerWriter,
        step => step,
    }
}

/// Returns true if nothing is done for the Runnable any more. A Runnable that our finalizer keeps
/// still has to be cleaned up, by a ledger that was not put back.
fn is_leaving(facts: &Facts) -> bool {
    facts.runnable.deleting && !facts.runnable.is_kept_by_us
}

/// Returns true if another client has written the status, and whether that was the ledger is not
/// known yet.
fn is_marked(facts: &Facts) -> bool {
    facts.other_writer && facts.ledger_writer.is_none() && facts.ledger.current.is_some()
}

/// Returns true if a status may be written that leaves the ledger as it is.
///
/// Conditions are written with the rest of the status, and each write erases the record of the
/// former writer: a ledger that was put back would then pass for the latest. So no status is
/// written before it is known who wrote the ledger, and that no existing run is ahead of it.
#[must_use]
pub fn may_report(facts: &Facts) -> bool {
    let put_back = facts.ledger_writer == Some(LedgerWriter::Another) && !facts.listed_every_kind;
    !is_marked(facts) && !put_back
}

fn decided(facts: &Facts) -> Step {
    if facts.runnable.deleting {
        return Step::Settled;
    }
    if matches!(
        facts.ledger_state,
        LedgerState::Lost {
            ours: true,
            settled: false
        }
    ) {
        return Step::Stuck(other_controller());
    }
    let rendering = match &facts.rendering {
        Ok(rendering) => rendering,
        Err(error) => return Step::Stuck(error.clone()),
    };
    let Some(current) = &facts.ledger.current else {
        return first_run::first_run(facts, rendering);
    };
    if facts.watch == WatchState::Starting {
        return Step::Wait(Waiting::FirstList);
    }
    if let Some(step) = first_run::catch_up(facts, rendering) {
        return step;
    }
    let token = facts.runnable.rerun_token.as_deref();
    match facts.ledger.due(rendering.document.hashes(), token) {
        Due::OtherHash(_) => first_run::migrate_hash(facts, rendering, current),
        Due::New(_) => supersede(facts, rendering),
        Due::Pending(_) => pending::pending(facts, rendering, current),
        Due::Nothing(_) => match current_run::current_run(facts, Some(rendering), current) {
            Step::Settled => moved_on(facts, rendering)
                .or_else(|| retry::next_attempt(facts, rendering, current))
                .or_else(|| profile::refresh(facts, rendering))
                .unwrap_or_else(|| stop::next_step(facts)),
            step => step,
        },
    }
}

fn decided_without_rendering(facts: &Facts) -> Step {
    let removed = matches!(facts.ledger_state, LedgerState::Lost { ours: true, .. });
    if facts.runnable.deleting || removed || facts.watch == WatchState::Starting {
        return Step::Settled;
    }
    first_run::before_catching_up(facts).unwrap_or_else(|| looked_after(facts))
}

/// Returns the next step for the runs that exist, whatever is rendered.
fn looked_after(facts: &Facts) -> Step {
    let step = match &facts.ledger.current {
        Some(current) if current.phase == RunPhase::Created => {
            current_run::current_run(facts, None, current)
        }
        Some(current) => pending::went_withdrawn(facts, current)
            .or_else(|| pending::read_unconfirmed(facts, current))
            .or_else(|| pending::known_made(facts))
            .unwrap_or_else(|| superseded::record_results(facts)),
        None => return Step::Settled,
    };
    match step {
        Step::Settled => stop::next_step(facts),
        step => step,
    }
}

/// Writes the new provenance if the document of the current run now derives from other sources.
/// Otherwise dependents of this Runnable would wait for it.
fn moved_on(facts: &Facts, rendering: &Rendering) -> Option<Step> {
    let (ledger, sources) = (&facts.ledger, facts.dependencies.traced.as_ref()?);
    let hashes = rendering.document.hashes();
    if !Provenance::from_ledger(ledger).moves_on(ledger, hashes, sources) {
        return None;
    }
    Some(if rendering.consistent {
        Step::Write(Box::new(ledger.clone()), Change::MoveOn)
    } else {
        Step::RenderAgain
    })
}

/// Gives the next sequence number to what is rendered now.
fn supersede(facts: &Facts, rendering: &Rendering) -> Step {
    if let Err(step) = gate::consistent(facts, rendering) {
        return step;
    }
    let mut fate = Fate::Known;
    if let Some(current) = facts
        .ledger
        .current
        .as_ref()
        .filter(|current| current.phase != RunPhase::Created && may_land(current, facts.now))
    {
        let name = RunName::from_current(current);
        fate = match facts.reads.get(&name) {
            // The gate knows when it is to be read.
            None if overlap::is_asked(facts) && may_come(current) => Fate::Known,
            None => return Step::ReadRun(name),
            Some(NameRead::Found(found)) if facts.is_run_of(&found.run, current) => {
                Fate::Found(found.run.clone())
            }
            Some(NameRead::Absent | NameRead::Found(_)) => Fate::Absent,
            // The entry stays in the history without a uid, like one whose run is absent, but its
            // run may exist.
            Some(NameRead::Denied) => Fate::Unread,
        };
    }
    // A run that a user has deleted is not waited for.
    let current = facts.ledger.current.as_ref();
    let current = current.filter(|_| overlap::may_wait(facts));
    let ended = current.and_then(|current| current_run::deleted_unfinished(facts, current));
    let message = match &ended {
        Some(_) => current_run::DELETED_UNFINISHED,
        None => &overlap::explain_outcome(facts).unwrap_or_else(|| last_message(facts)),
    };
    let next = Next {
        beginning: Beginning::Run,
        attempt: 1,
        fate: &fate,
        message,
    };
    let ledger = ended.unwrap_or_else(|| facts.ledger.clone());
    intend(facts, rendering, ledger, &next)
}

/// The purpose of the next number.
struct Next<'a> {
    /// Kind of beginning.
    beginning: Beginning,
    /// Number of the attempt.
    attempt: i64,
    /// Outcome of the entry that is superseded.
    fate: &'a Fate,
    /// Last message about that entry.
    message: &'a str,
}

/// Writes the intent, unless something holds it back.
fn intend(facts: &Facts, rendering: &Rendering, mut ledger: Ledger, next: &Next<'_>) -> Step {
    let passed = match gate::intent(facts, rendering, &ledger, next.beginning) {
        Ok(passed) => passed,
        Err(step) => return step,
    };
    ledger.breaker = passed.breaker;
    let token = facts.runnable.rerun_token.clone();
    let intent = Intent {
        approved: passed.approved,
        ..rendering.intent(token, next.attempt, passed.profile)
    };
    let uid = &facts.runnable.uid;
    let ledger = ledger.intend(
        intent,
        |sequence| rendering.document.run_name(uid, sequence),
        next.fate,
        next.message,
        facts.now,
    );
    if ledger.history.len() > MAX_HISTORY {
        return Step::Stuck(crowded());
    }
    if let Err(step) = room::check_room(facts, &ledger) {
        return step;
    }
    Step::Write(Box::new(ledger), Change::Intent)
}

/// Unfinished runs never leave the history, and the API server would refuse a longer one.
fn crowded() -> ReconcileError {
    ReconcileError::from_diagnosis(
        Category::UnknownError,
        Requeue::Backoff,
        Diagnosis::Crowded(MAX_HISTORY),
        None,
    )
}

/// Returns the last message about the current run.
fn last_message(facts: &Facts) -> String {
    crate::status::said_of_run(&facts.stored)
        .unwrap_or_default()
        .to_owned()
}

fn other_controller() -> ReconcileError {
    ReconcileError::from_diagnosis(
        Category::OtherController,
        Requeue::OnChange,
        Diagnosis::OtherController(CREATES_SETTLE_IN.as_secs()),
        None,
    )
}

#[cfg(test)]
pub(super) mod tests;
