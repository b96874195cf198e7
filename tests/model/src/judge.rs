//! The model before the oracle, `cartouche-oracle`: a state becomes the events so far, and a step becomes the
//! next event.
//!
//! The model restores and empties statuses only where nothing is lost by it. So of the excuses, those for I1
//! ([`Run::hasty`]) and for runs that nothing can know of ([`Run::is_forgotten`]) remain. This module also
//! judges what only the model sees: of which inputs a run is intended, and that none is while its Runnable is
//! suspended.

use std::collections::BTreeMap;

use cartouche_crds::{ConcurrencyPolicy, CurrentRun, RunnableStatus, StopReason};
use cartouche_language::HASH_VERSION;
use cartouche_oracle::{Actor, Event, Known, Object, Past, Runnable, Served, Verb, Verdict};
use cartouche_protocol::ledger::Change;
use serde_json::json;

use crate::{
    cast::{NOW, owner_uid, run_of, run_uid, token},
    configuration::Release,
    model::Checked,
    pool::StatusId,
    world::{Knowledge, Make, Presence, Run, STRANGER, Uid, World},
};

/// A number without a cause.
pub const S3: u8 = 1;
/// Outputs went back, or are not those of a run of ours that the ledger knows.
pub const S4: u8 = 2;
/// A run was deleted that had to stay.
pub const S5: u8 = 4;
/// A run was begun while the Runnable was suspended.
pub const SUSPENDED: u8 = 8;
/// A run was stopped without an entry in a ledger, or with one that is taken back.
pub const S7: u8 = 16;

/// A run was intended while another one may have been at work.
pub const S6: u8 = 32;
/// A run was intended without approval.
pub const S8: u8 = 64;
/// A run was intended of a rendering that had not stayed the same for long enough.
pub const SETTLED: u8 = 128;

/// Judges a write of the status that takes effect now.
pub(crate) fn write(
    model: &Checked,
    world: &mut World,
    knowledge: &Knowledge,
    status: StatusId,
    change: Option<Change>,
) {
    let new = model.decisions.pool.stored(status);
    let old = model.decisions.pool.stored(world.runnable.status);
    let mut past = past(model, world, |_| true);
    past.tell(event(
        Verb::Changed,
        Object::Runnable(Runnable {
            uid: owner_uid(world.runnable.owner),
            approved: model.decisions.approval(world.runnable.approved),
            refresh: None,
            status: new.clone(),
        }),
    ));
    world.ghost.broken |= broken(&past.verdict());
    if change == Some(Change::Intent) && may_overlap(model, world) {
        world.ghost.broken |= S6;
    }
    // No run is replaced by one that may not begin.
    let is_held = world.runnable.suspended || knowledge.suspended;
    if change == Some(Change::MakeWay) && is_held {
        world.ghost.broken |= S7;
    }
    if matches!(change, Some(Change::Intent | Change::Renumber))
        && let Some(current) = &new.current_run
    {
        let stale = knowledge.input < world.ghost.newest_input;
        if stale || repeats(model, world, &old, current, knowledge) {
            world.ghost.broken |= S3;
        }
        let is_new = change == Some(Change::Intent) && !goes_on(&old, current);
        if model.setup.debounce && is_new && !knowledge.settled {
            world.ghost.broken |= SETTLED;
        }
        // The resourceVersion of the write covers the spec, too.
        if world.runnable.suspended || knowledge.suspended {
            world.ghost.broken |= SUSPENDED;
        }
        world.ghost.newest_input = world.ghost.newest_input.max(knowledge.input);
        world.ghost.restored = false;
    }
}

/// Returns true if a run is of the document and the request of the previous one.
fn goes_on(old: &RunnableStatus, new: &CurrentRun) -> bool {
    let before = old.current_run.as_ref();
    let asks = new.rerun_token.is_some() && new.rerun_token.as_deref() != old.last_answered();
    before.is_some_and(|before| before.input_hash == new.input_hash) && !asks
}

/// Returns true if a create on its way may make a run beside the intended one, where none may be.
fn may_overlap(model: &Checked, world: &World) -> bool {
    // While the run of a name exists, no create makes another one. A user who deletes it meanwhile is I1.
    let is_made = |make: &Make| world.runs.iter().any(|run| run.make.name == make.name);
    let may_land = |make: &Make| make.owner == world.runnable.owner && !is_made(make);
    let mut on_their_way = world.wire.iter().map(|request| &request.make);
    model.setup.concurrency != ConcurrencyPolicy::Allow && on_their_way.any(may_land)
}

/// Returns true if the previous run was of the same document and request, under a hash of another version.
fn repeats(
    model: &Checked,
    world: &World,
    old: &RunnableStatus,
    new: &CurrentRun,
    knowledge: &Knowledge,
) -> bool {
    let Some(before) = old.current_run.as_ref().filter(|_| model.setup.adopts()) else {
        return false;
    };
    let asks = new.rerun_token.as_deref();
    let asks = asks.is_some_and(|token| old.last_answered() != Some(token));
    let run = before.uid.as_deref().and_then(run_of);
    let Some(run) = run.and_then(|uid| world.runs.get(usize::from(uid))) else {
        return false;
    };
    let deleted = run.presence == Presence::Deleted && run.result.is_none();
    !before.input_hash.starts_with(HASH_VERSION)
        && run.make.document == model.setup.document(knowledge.input)
        && !asks
        && !deleted
}

/// Judges a create that is sent now. One that was sent before the Runnable was suspended may still arrive.
pub(crate) fn create(world: &mut World, knowledge: &Knowledge) {
    if knowledge.suspended {
        world.ghost.broken |= SUSPENDED;
    }
}

/// Judges that a create arrives now: beside no other run, where none may be.
pub(crate) fn arrive(model: &Checked, world: &mut World, make: &Make) {
    let is_at_work = |run: &Run| {
        run.is_there() && run.result.is_none() && !run.make.forged && run.make.owner == make.owner
    };
    if model.setup.concurrency != ConcurrencyPolicy::Allow && world.runs.iter().any(is_at_work) {
        world.ghost.broken |= S6;
    }
    // Hashes of two releases do not show that they are of one change. Where two such releases work at the
    // same time no document returns, so each must run once.
    let is_of_same = |run: &Run| {
        let (one, other) = (&run.make, make);
        !one.forged
            && (one.owner, one.document, one.token) == (other.owner, other.document, other.token)
    };
    if model.setup.beside != Release::Present && world.runs.iter().any(is_of_same) {
        world.ghost.broken |= S3;
    }
}

/// Judges that a run is stopped now: its timeout has expired, and the ledger records that already.
pub(crate) fn stop(model: &Checked, world: &mut World, run: Uid) {
    let (ledger, uid) = (model.decisions.ledger(world.runnable.status), run_uid(run));
    // A ledger that a status lost meanwhile says nothing of it.
    let is_unwritten = ledger.knows(&uid) && ledger.stop_of(&uid).is_none();
    let stop = ledger.stop_of(&uid);
    let makes_way = match stop {
        Some(stop) => stop.reason == StopReason::Replaced,
        None => model.setup.concurrency == ConcurrencyPolicy::Replace,
    };
    if !world.overdue && !makes_way || is_unwritten {
        world.ghost.broken |= S7;
    }
}

/// Judges a delete of retention that takes effect now.
pub(crate) fn retire(model: &Checked, world: &mut World, run: usize) {
    let mut past = past(model, world, |_| true);
    let run = known(
        model,
        Uid::try_from(run).unwrap_or(Uid::MAX),
        &world.runs[run],
    );
    past.tell(event(Verb::Deleted, Object::Run(run.run)));
    world.ghost.broken |= broken(&past.verdict());
}

/// S1: returns true if at most one object was ever made for a number.
pub(crate) fn one_for_each_number(model: &Checked, world: &World) -> bool {
    let mut past = past(model, world, |_| true);
    past.judge_numbers();
    past.verdict().violations.is_empty()
}

/// S2: returns true if the ledger's record of a run is true, and no foreign run is in it.
pub(crate) fn content_is_as_recorded(model: &Checked, world: &World) -> bool {
    let mut past = past(model, world, |_| true);
    let status = model.decisions.pool.stored(world.runnable.status);
    past.judge_content(&owner_uid(world.runnable.owner), &status);
    past.verdict().violations.is_empty()
}

/// L2: returns true if the ledger knows every numbered run.
pub(crate) fn knows_all(model: &Checked, world: &World) -> bool {
    let past = past(model, world, |run| run.make.number > 0);
    let unknown = past.unknown(&owner_uid(world.runnable.owner));
    unknown.violations.is_empty()
}

fn broken(verdict: &Verdict) -> u8 {
    let bits = verdict.violations.iter().map(|it| match it.property {
        "S3" => S3,
        "S4" => S4,
        "S5" => S5,
        "S6" => S6,
        "S7" => S7,
        "S8" => S8,
        // Judged in the state that follows.
        _ => 0,
    });
    bits.fold(0, |all, bit| all | bit)
}

fn event(verb: Verb, object: Object) -> Event {
    Event {
        at: 1,
        second: Some(NOW.as_second()),
        actor: Actor::Controller,
        verb,
        object,
    }
}

/// Returns the events so far, of these runs.
fn past(model: &Checked, world: &World, wanted: impl Fn(&Run) -> bool) -> Past {
    let runs = (0..).zip(&world.runs).filter(|(_, run)| wanted(run));
    let status = model.decisions.pool.stored(world.runnable.status);
    let served = Served::new(status, world.ghost.restored);
    let past = Past::shown(
        runs.map(|(uid, run)| known(model, uid, run)).collect(),
        BTreeMap::from([(owner_uid(world.runnable.owner), served)]),
    )
    .with_most_attempts(1 + model.setup.retries);
    let past = if model.setup.approval {
        past.with_approval()
    } else {
        past
    };
    match model.setup.concurrency {
        ConcurrencyPolicy::Allow => past,
        ConcurrencyPolicy::LatestOnly | ConcurrencyPolicy::Replace => past.without_overlap(),
    }
}

fn known(model: &Checked, number: Uid, run: &Run) -> Known {
    let (make, cast) = (&run.make, &model.decisions.cast);
    let name = model.decisions.pool.named(make.name);
    let uid = run_uid(number);
    let maker = match make {
        _ if make.forged || make.owner == STRANGER => Actor::Stranger,
        _ if make.number == 0 => Actor::Original,
        _ => Actor::Controller,
    };
    let said = cartouche_oracle::Run {
        answer: Some(json!(uid)),
        uid,
        runnable: owner_uid(make.owner),
        kind: name.kind.clone(),
        name: name.name.clone(),
        number: (make.number > 0).then(|| i64::from(make.number)),
        hash: cast.hash(make),
        token: token(make.token),
        profile: None,
        content: None,
        created: Some(cast.created(number, make).as_second()),
        result: run.result,
        cancelled: make.cancelled,
    };
    Known {
        // The time of the deletion is unknown: not before the present number was given.
        gone: (!run.is_there()).then_some(1),
        cut_short: run.presence == Presence::Deleted && run.result.is_none(),
        unrecorded: run.hasty,
        forgettable: run.forgettable,
        recorded: true,
        had_succeeded: run.had_succeeded,
        ..Known::new(said, maker, 0)
    }
}
