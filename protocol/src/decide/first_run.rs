//! Handles a Runnable without a ledger, or with a ledger that is behind the cluster.

use std::{cmp::Reverse, collections::HashMap};

use cartouche_crds::{CurrentRun, RunPhase};
use cartouche_templating::Rendered;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::{Beginning, Next, Step, Waiting, gate, intend, overlap, supersede};
use crate::{
    facts::{Facts, LedgerState, LedgerWriter, NameRead, Rendering},
    ledger::{
        ANOTHER, Change, Fate, FetchedRun, Ledger, ListedRun, RunIdentity, RunName,
        explanation::explanation, rebuild,
    },
};

/// The wait for the API server's clock, which comes with each of its answers.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// Handles the first reconciliation, a takeover, or a lost status. All runs that exist become the
/// ledger; only if there are none is the first run intended.
pub(super) fn first_run(facts: &Facts, rendering: &Rendering) -> Step {
    if matches!(facts.ledger_state, LedgerState::Lost { settled: false, .. }) {
        return Step::Wait(Waiting::CreatesSettle);
    }
    if !rendering.consistent {
        let is_lost = facts.ledger_state != LedgerState::NeverServed;
        let held = gate::consistent(facts, rendering).err();
        // A lost ledger is rebuilt, whatever holds the next run back.
        return held.filter(|_| !is_lost).unwrap_or(Step::RenderAgain);
    }
    // A Runnable that has never run needs no list while it waits for approval or for the next
    // change. If there are runs after all, its number becomes another one, which needs a new
    // approval.
    if facts.ledger_state == LedgerState::NeverServed
        && let Err(step) = gate::first(facts, rendering)
    {
        return step;
    }
    let Some(found) = &facts.listed else {
        return Step::ListRuns {
            every_kind: facts.ledger_state != LedgerState::NeverServed,
        };
    };
    // A status that was emptied leaves no trace. A run with a number shows that there was a ledger,
    // and with it perhaps runs of other kinds.
    let uid = &facts.runnable.uid;
    let is_numbered = |found: &FetchedRun| found.run.genuine_sequence(uid).is_some();
    if !facts.listed_every_kind && found.iter().any(is_numbered) {
        return Step::ListRuns { every_kind: true };
    }
    match rebuilt(facts, rendering, found, &[]) {
        Some(ledger) => Step::Write(Box::new(ledger), Change::Rebuild),
        None => intend(facts, rendering, facts.ledger.clone(), &first("")),
    }
}

/// Handles a ledger that went back, because a backup of the status was restored: the runs that
/// exist are added to it.
///
/// An intent is written before its create, so no run of ours is ahead of the latest ledger. A run
/// that claims to be ahead is believed only if this process has written a higher number itself, or
/// if another client wrote the ledger last, which takes the permission to write statuses. Otherwise
/// it is an unknown run.
pub(super) fn catch_up(facts: &Facts, rendering: &Rendering) -> Option<Step> {
    match put_back(facts) {
        PutBack::No => return None,
        PutBack::Unread => return Some(Step::ReadLedgerWriter),
        PutBack::Yes => {}
    }
    let Some(found) = &facts.listed else {
        return Some(if rendering.consistent {
            Step::ListRuns { every_kind: true }
        } else {
            Step::RenderAgain
        });
    };
    let behind = |run: &RunIdentity| facts.ledger.is_behind(run, &facts.runnable.uid);
    // No list shows those that are gone; their numbers are taken all the same.
    let gone = facts
        .cached_runs
        .iter()
        .filter(|cached_run| cached_run.deleted);
    let gone: Vec<&RunIdentity> = gone
        .map(|cached_run| &cached_run.run)
        .filter(|run| behind(run))
        .collect();
    if gone.is_empty() && !found.iter().any(|found| behind(&found.run)) {
        return None;
    }
    rebuilt(facts, rendering, found, &gone)
        .map(|ledger| Step::Write(Box::new(ledger), Change::Rebuild))
}

/// Returns the step that comes first while no run can be decided upon. A write to a ledger that was
/// put back would erase the record of who did that, so nothing is written until the existing runs
/// were listed.
pub(super) fn before_catching_up(facts: &Facts) -> Option<Step> {
    match put_back(facts) {
        PutBack::No => None,
        PutBack::Unread => Some(Step::ReadLedgerWriter),
        PutBack::Yes => (!facts.listed_every_kind).then_some(Step::Settled),
    }
}

/// Answer to the question whether the ledger went back.
enum PutBack {
    No,
    /// Unknown until the last writer of the ledger is read.
    Unread,
    Yes,
}

fn put_back(facts: &Facts) -> PutBack {
    // Finished runs are not kept in memory: a number that this process has seen in the ledger shows
    // that they existed.
    let current = facts.ledger.current.as_ref();
    if current.is_some_and(|current| current.sequence < facts.reached_sequence) {
        return PutBack::Yes;
    }
    let uid = &facts.runnable.uid;
    let is_ahead = |run: &RunIdentity| facts.ledger.is_behind(run, uid);
    match facts.ledger_writer {
        Some(LedgerWriter::Another) => PutBack::Yes,
        None if facts.cached_runs.iter().any(|it| is_ahead(&it.run)) => PutBack::Unread,
        Some(LedgerWriter::Ours) | None => PutBack::No,
    }
}

fn rebuilt(
    facts: &Facts,
    rendering: &Rendering,
    found: &[FetchedRun],
    gone: &[&RunIdentity],
) -> Option<Ledger> {
    let known = |run: &RunIdentity| {
        facts.unknown_runs.contains(&run.uid) || facts.ledger.has_taken_a_name(&run.uid)
    };
    let found: Vec<&FetchedRun> = found.iter().filter(|one| !known(&one.run)).collect();
    let found_runs = found.iter().map(|one| (&one.run, one.matches));
    let gone_runs = gone.iter().map(|run| (*run, false));
    let listed: Vec<ListedRun<'_>> = found_runs
        .chain(gone_runs)
        .map(|(run, matches)| ListedRun { run, matches })
        .collect();
    let mut next = rebuild(
        &facts.ledger,
        &listed,
        &facts.runnable.uid,
        facts.runnable.rerun_token.as_deref(),
        facts.now,
    )?;
    let newest = next
        .current
        .as_ref()
        .filter(|current| !is_known(&rendering.document, current))
        .and_then(|current| current.uid.clone());
    if found
        .iter()
        .any(|one| one.matches && Some(&one.run.uid) == newest.as_ref())
    {
        next = next.migrate_hash(rendering.document.input_hash());
    }
    let next = next.made_under(&rendering.rules_hash);
    let mut next = recorded(facts, next, found);
    next.cap_history();
    Some(next)
}

/// Records what was read of the runs, newest first. Any client may have created very many; the
/// ledger has taken the newest.
fn recorded(facts: &Facts, ledger: Ledger, found: Vec<&FetchedRun>) -> Ledger {
    let numbers: HashMap<String, i64> = ledger.numbers().collect();
    let mut taken: Vec<(&i64, &FetchedRun)> = found
        .into_iter()
        .filter_map(|one| Some((numbers.get(&one.run.uid)?, one)))
        .collect();
    taken.sort_by_key(|(number, _)| Reverse(*number));
    taken
        .into_iter()
        .fold(ledger, |ledger, (_, one)| ledger.record(one, facts.now))
}

/// Handles a current run whose hash is of another version, or that another controller made: if its
/// object contains what is rendered now, nothing has changed.
pub(super) fn migrate_hash(facts: &Facts, rendering: &Rendering, current: &CurrentRun) -> Step {
    if !rendering.consistent {
        return Step::RenderAgain;
    }
    let Some(found) = current
        .uid
        .as_deref()
        .and_then(|uid| facts.fetched_run(uid))
    else {
        return relink_unread(facts, rendering, current);
    };
    let same_kind = current.api_version == rendering.document.api_version()
        && current.kind == rendering.document.kind();
    let of_run = found.run.input_hash.as_deref();
    let is_like = |of_run: &str| Some(rendering.document.hashes().like(of_run)? == of_run);
    // Values of Secrets cannot be compared. The run counts as one of the document if the ledger has
    // its hash, as a run that is gone does.
    let has_secrets = rendering.document.has_secrets();
    let is_hidden = has_secrets && of_run == Some(&*current.input_hash);
    // The hash of the run says more than its contents if its version is known: it covers what was
    // left out since.
    let is_same = of_run
        .and_then(is_like)
        .or_else(|| (found.matches || is_hidden).then_some(true));
    match is_same.or(facts.server_agrees) {
        Some(true) => linked(facts.ledger.clone(), rendering),
        None if same_kind => Step::AskServer(RunName::from_current(current)),
        _ => {
            let message = explanation(found, current.stop.as_ref());
            let next = intend(facts, rendering, facts.ledger.clone(), &first(&message));
            waiting_noted(facts, rendering, next)
        }
    }
}

/// Writes down that the current run is of another document, if the next run has to wait. Once its
/// object is gone that could not be found out any more, and the next run would be forgotten.
fn waiting_noted(facts: &Facts, rendering: &Rendering, next: Step) -> Step {
    match next {
        Step::Stuck(_) => {
            let another = another_document(&rendering.document);
            let noted = facts.ledger.clone().migrate_hash(&another);
            Step::Write(Box::new(noted), Change::MigrateHash)
        }
        next => next,
    }
}

/// Returns a hash of this controller's version that no document has. It marks a run taken over of
/// which only this is known: it is of another document than the one that waits for its end.
#[must_use]
pub fn another_document(rendered: &Rendered) -> String {
    let version = rendered.hashes().own.split_inclusive(':').next();
    format!("{}{ANOTHER}", version.unwrap_or_default())
}

/// Returns true if the version of this entry's hash is known here, so that the hash can be compared
/// with what is rendered.
fn is_known(rendered: &Rendered, current: &CurrentRun) -> bool {
    rendered.hashes().like(&current.input_hash).is_some()
}

/// A first attempt, after a run with this last message.
fn first(message: &str) -> Next<'_> {
    Next {
        beginning: Beginning::Run,
        attempt: 1,
        fate: &Fate::Known,
        message,
    }
}

/// Handles a current run that was not read, or does not exist under its uid.
fn relink_unread(facts: &Facts, rendering: &Rendering, current: &CurrentRun) -> Step {
    let name = RunName::from_current(current);
    let Some(read) = facts.reads.get(&name) else {
        return Step::ReadRun(name);
    };
    if current.phase != RunPhase::Created {
        let confirmed = match read {
            NameRead::Found(found) if facts.is_run_of(&found.run, current) => {
                facts.ledger.confirm(&found.run)
            }
            NameRead::Found(_) | NameRead::Absent | NameRead::Denied => None,
        };
        return match confirmed {
            Some(confirmed) => Step::Write(Box::new(confirmed), Change::Confirm),
            None => supersede_unknown(facts, rendering, current),
        };
    }
    // Gone: whether it was made from this very input cannot be known any more, and a new release
    // must not run a whole cluster again. Its end is noticed like that of any other run.
    linked(facts.ledger.clone(), rendering)
}

/// Handles a number that another release has given and that has no run.
///
/// Its document is unknown and may be the pending one, so the number is given up only when no
/// create of it can land any more. The other release has a minute to create the run. Then the entry
/// is withdrawn, as it is when runs wait for each other.
fn supersede_unknown(facts: &Facts, rendering: &Rendering, current: &CurrentRun) -> Step {
    let now = facts.now.unwrap_or(Timestamp::MIN);
    match overlap::left_alone_until(facts, current) {
        Some(until) if now < until => {
            let left = facts.now.map_or(SECOND, |now| until.duration_since(now));
            Step::Wait(Waiting::OtherRelease(left.unsigned_abs()))
        }
        _ => supersede(facts, rendering),
    }
}

fn linked(ledger: Ledger, rendering: &Rendering) -> Step {
    Step::Write(
        Box::new(ledger.migrate_hash(rendering.document.input_hash())),
        Change::MigrateHash,
    )
}
