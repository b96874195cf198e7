//! What to do next: facts in, one step out. Pure.
//!
//! A step that reads or writes is carried out, its answer is added to the facts, and it is decided
//! again, until nothing is left to do. The order of the questions is the protocol
//! (`docs/exactly-once.md`).

mod approval;
mod current_run;
mod debounce;
mod first_run;
mod gate;
mod overlap;
mod pending;
mod permissions;
mod profile;
mod retry;
mod room;
mod stop;
mod superseded;

pub use first_run::another_document;
pub use pending::MOST_RENUMBERED;
pub use stop::{STOPS_WITHIN, earlier_that_do_not_stop, next_stop};

use std::time::Duration;

use cartouche_crds::RunPhase;
use cartouche_templating::{Needed, kinds::StopRequest};
use gate::Beginning;

use crate::{
    category::Category,
    diagnosis::Diagnosis,
    facts::{Facts, LedgerState, LedgerWriter, NameRead, Rendering, WatchState},
    ledger::{
        CREATES_SETTLE_IN, Change, Due, Fate, Intent, Ledger, MAX_HISTORY, RunName, may_come,
        may_land,
    },
    reconcile_error::{ReconcileError, Requeue},
    sources::Provenance,
};

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Read the template and the selected object consistently, and render again.
    RenderAgain,
    /// List the runs that the Runnable controls, consistently, as its account.
    ListRuns {
        /// Of the kinds of all templates, not only of the rendered one.
        every_kind: bool,
    },
    /// Read one name consistently, as the account.
    ReadRun(RunName),
    /// Read consistently who wrote the ledger last. Whoever has written since the status was read is
    /// waited for.
    ReadLedgerWriter,
    /// Ask the server what it makes of the rendered document, and compare that with this run.
    AskServer(RunName),
    /// Ask the server, by a create without effect, what it makes of an object like the pending run's.
    Probe,
    /// Ask, as the account of the pods of the run that is due, whether it may do this.
    AskPermissions(Box<Needed>),
    /// Ask the server, by a create without effect, whether it would make the run of this number, which waits for a person.
    DryRun(i64),
    /// Write the ledger, with the resourceVersion of what was read.
    Write(Box<Ledger>, Change),
    /// Create the run of the pending entry, as the account.
    Create,
    /// Tell a run to stop, as the account.
    Stop(Box<ToStop>),
    /// Wait for something that enqueues the Runnable by itself, or for a time.
    Wait(Waiting),
    /// Nothing can be done about this now.
    Stuck(ReconcileError),
    /// Everything is as it should be.
    Settled,
}

/// A run that is told to stop.
#[derive(Clone, Debug, PartialEq)]
pub struct ToStop {
    /// How it is asked for.
    pub name: RunName,
    /// Its uid: an object that has taken its name is left alone.
    pub uid: String,
    /// How it is told.
    pub request: StopRequest,
    /// The resourceVersion in which it was seen to work: one that has ended since is not deleted.
    pub version: Option<u64>,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The first list of the watch.
    FirstList,
    /// An event of the watch, which a read is ahead of.
    Watch,
    /// Another controller, which may have seen the missing run go.
    GracePeriod,
    /// No create can be on its way any more.
    CreatesSettle,
    /// A controller of another release, for so long: it has intended a run, and may be about to make it.
    OtherRelease(Duration),
}

/// The next step.
#[must_use]
pub fn decide(facts: &Facts) -> Step {
    unless_put_back(facts, retry::scheduled(facts, decided(facts)))
}

/// What is done for the runs that exist while something else is stuck: their results and outputs are
/// recorded, and a pending one that was made after all is confirmed. Nothing is intended or created.
#[must_use]
pub fn decide_without_rendering(facts: &Facts) -> Step {
    unless_put_back(
        facts,
        retry::scheduled(facts, decided_without_rendering(facts)),
    )
}

/// Where somebody else has written the status, it is found out whether that was the ledger before anything is asked for by
/// it, made or written, be it a condition: no watch may show the newer runs, if they are of a kind that it does not name, and whoever
/// writes takes away the note of who did before.
fn unless_put_back(facts: &Facts, step: Step) -> Step {
    match step {
        Step::RenderAgain | Step::ListRuns { .. } | Step::Wait(_) => step,
        _ if is_marked(facts) && !is_leaving(facts) => Step::ReadLedgerWriter,
        step => step,
    }
}

/// Whether nothing is done for a Runnable any more. One that a finalizer of ours keeps is to be left in order, by a ledger that was
/// not put back.
fn is_leaving(facts: &Facts) -> bool {
    facts.runnable.deleting && !facts.runnable.is_kept_by_us
}

/// Somebody else has written the status, and nobody has asked yet whether that was the ledger.
fn is_marked(facts: &Facts) -> bool {
    facts.other_writer && facts.ledger_writer.is_none() && facts.ledger.current.is_some()
}

/// Whether a status may be written that leaves the ledger as it is. Conditions are written with the rest of the status,
/// and whoever writes takes away the note of who did before: a ledger that was put back would then be taken for the
/// latest. So nothing is, before it is known who wrote it, and that no run that exists is ahead of it.
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
                .or_else(|| retry::retried(facts, rendering, current))
                .or_else(|| profile::refreshed(facts, rendering))
                .unwrap_or_else(|| stop::stopped(facts)),
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

/// What is done for the runs that exist, whatever is rendered.
fn looked_after(facts: &Facts) -> Step {
    let step = match &facts.ledger.current {
        Some(current) if current.phase == RunPhase::Created => {
            current_run::current_run(facts, None, current)
        }
        Some(current) => pending::went_withdrawn(facts, current)
            .or_else(|| pending::landed(facts, current))
            .or_else(|| pending::known_made(facts))
            .unwrap_or_else(|| superseded::superseded(facts)),
        None => return Step::Settled,
    };
    match step {
        Step::Settled => stop::stopped(facts),
        step => step,
    }
}

/// What the current run is of is rendered from something else by now: that is written, or whoever stems from this Runnable would
/// wait for it.
fn moved_on(facts: &Facts, rendering: &Rendering) -> Option<Step> {
    let (ledger, sources) = (&facts.ledger, facts.dependencies.traced.as_ref()?);
    let hashes = rendering.document.hashes();
    if !Provenance::of(ledger).moves_on(ledger, hashes, sources) {
        return None;
    }
    Some(if rendering.consistent {
        Step::Write(Box::new(ledger.clone()), Change::MoveOn)
    } else {
        Step::RenderAgain
    })
}

/// The next sequence for what is rendered now.
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
        let name = RunName::of(current);
        fate = match facts.reads.get(&name) {
            // The gate knows when it is to be read.
            None if overlap::is_asked(facts) && may_come(current) => Fate::Known,
            None => return Step::ReadRun(name),
            Some(NameRead::Found(found)) if facts.is_run_of(&found.run, current) => {
                Fate::Found(found.run.clone())
            }
            Some(NameRead::Absent | NameRead::Found(_)) => Fate::Absent,
            // It stays in the history without a uid, as what is not there, but may be there already.
            Some(NameRead::Denied) => Fate::Unread,
        };
    }
    // Nobody waits for the end of what somebody has deleted.
    let current = facts.ledger.current.as_ref();
    let current = current.filter(|_| overlap::may_wait(facts));
    let ended = current.and_then(|current| current_run::deleted_unfinished(facts, current));
    let message = match &ended {
        Some(_) => current_run::DELETED_UNFINISHED,
        None => &overlap::explained(facts).unwrap_or_else(|| last_message(facts)),
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

/// What the next number is for.
struct Next<'a> {
    /// What it begins.
    beginning: Beginning,
    /// Which attempt it is.
    attempt: i64,
    /// What has become of the entry that it supersedes.
    fate: &'a Fate,
    /// What was last said of that one.
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
    if let Err(step) = room::left(facts, &ledger) {
        return step;
    }
    Step::Write(Box::new(ledger), Change::Intent)
}

/// Unfinished runs never leave the history, and a longer one would be refused.
fn crowded() -> ReconcileError {
    ReconcileError::caused(
        Category::UnknownError,
        Requeue::Backoff,
        Diagnosis::Crowded(MAX_HISTORY),
        None,
    )
}

/// What was last said of the current run.
fn last_message(facts: &Facts) -> String {
    crate::status::said_of_run(&facts.stored)
        .unwrap_or_default()
        .to_owned()
}

fn other_controller() -> ReconcileError {
    ReconcileError::caused(
        Category::OtherController,
        Requeue::OnChange,
        Diagnosis::OtherController(CREATES_SETTLE_IN.as_secs()),
        None,
    )
}

#[cfg(test)]
pub(super) mod tests;
