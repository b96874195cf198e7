//! What must never happen, judged by the one who sees everything.
//!
//! The names are those of `docs/exactly-once.md`: S1 one object for a number, S2 its content, S3 a cause
//! for every number, S4 outputs, S5 what is deleted.

use cartouche_crds::{CurrentRun, RunPhase, RunnableStatus};
use cartouche_protocol::{decide::Change, facts::RunName};
use cartouche_templating::HASH_VERSION;

use crate::{
    cast::{run_of, run_uid, token},
    model::Checked,
    pool::StatusId,
    world::{Knowledge, Make, Presence, Run, STRANGER, Uid, World},
};

/// A number without a cause.
pub const S3: u8 = 1;
/// Outputs went back.
pub const S4_BACK: u8 = 2;
/// Outputs of a run that the ledger does not know, or not its own.
pub const S4_SOURCE: u8 = 4;
/// A run was deleted that had to stay.
pub const S5: u8 = 8;
/// A run was begun while the Runnable was suspended.
pub const SUSPENDED: u8 = 16;

/// Judges a write of the status that has its effect now.
pub(crate) fn write(
    model: &Checked,
    world: &mut World,
    knowledge: &Knowledge,
    status: StatusId,
    change: Option<Change>,
) {
    let new = model.decisions.pool.stored(status);
    let old = model.decisions.pool.stored(world.runnable.status);
    if matches!(change, Some(Change::Intent | Change::Renumber))
        && let Some(current) = &new.current_run
    {
        if !has_cause(model, world, &old, current, knowledge) {
            world.ghost.broken |= S3;
        }
        // The resourceVersion of the write stands for the spec, too.
        if world.runnable.suspended || knowledge.suspended {
            world.ghost.broken |= SUSPENDED;
        }
        world.ghost.newest_input = world.ghost.newest_input.max(knowledge.input);
        world.ghost.restored = false;
    }
    if let (Some(old), Some(new)) = (&old.current_run, &new.current_run)
        && new.sequence < old.sequence
    {
        world.ghost.broken |= S3;
    }
    outputs(world, &old, &new);
}

/// Judges a create that is sent now. One that was sent before the Runnable was suspended may still land.
pub(crate) fn create(world: &mut World, knowledge: &Knowledge) {
    if knowledge.suspended {
        world.ghost.broken |= SUSPENDED;
    }
}

fn has_cause(
    model: &Checked,
    world: &World,
    old: &RunnableStatus,
    new: &CurrentRun,
    knowledge: &Knowledge,
) -> bool {
    if knowledge.input < world.ghost.newest_input {
        return false;
    }
    let document = model.setup.document(knowledge.input);
    let Some(before) = &old.current_run else {
        let newest = newest(model, world, knowledge.owner);
        return !newest
            .iter()
            .any(|run| run.is_there() && run.make.document == document);
    };
    let same_hash = before.input_hash == new.input_hash;
    let earlier_version = !before.input_hash.starts_with(HASH_VERSION)
        && document_of(model, world, before) == Some(document);
    let newest = newest(model, world, knowledge.owner);
    let behind = newest
        .iter()
        .any(|run| i64::from(run.make.number) >= before.sequence);
    if world.ghost.restored && behind {
        let unchanged = |run: &Run| {
            run.is_there()
                && run.make.document == document
                && token(run.make.token) == new.rerun_token
        };
        return !newest.iter().any(unchanged);
    }
    (!same_hash && !earlier_version)
        || (before.phase == RunPhase::Created && before.rerun_token != new.rerun_token)
        || was_deleted_unfinished(world, before)
        || is_unused(model, world, before, knowledge.owner)
}

fn document_of(model: &Checked, world: &World, current: &CurrentRun) -> Option<u8> {
    let uid = current.uid.as_deref().and_then(run_of)?;
    let run = world.runs.get(usize::from(uid))?;
    model.setup.adopts().then_some(run.make.document)
}

fn was_deleted_unfinished(world: &World, before: &CurrentRun) -> bool {
    let run = before.uid.as_deref().and_then(run_of);
    run.and_then(|uid| world.runs.get(usize::from(uid)))
        .is_some_and(|run| run.presence == Presence::Deleted && run.result.is_none())
}

/// No run of this number and hash was made, nor will be. One that somebody deleted too early (I1) does not count if
/// somebody else's object has had its name since.
fn is_unused(model: &Checked, world: &World, before: &CurrentRun, owner: u8) -> bool {
    let is_ours = |make: &Make| make.owner == owner && !make.forged;
    let same = |make: &Make| {
        is_ours(make)
            && i64::from(make.number) == before.sequence
            && model.decisions.cast.hash(make) == before.input_hash
    };
    let name = model.decisions.pool.name(&RunName::of(before));
    let was_taken = || {
        let mut others = world.runs.iter().filter(|run| !is_ours(&run.make));
        others.any(|run| run.make.name == name)
    };
    let mut made = world.runs.iter().filter(|run| same(&run.make));
    before.phase != RunPhase::Created && made.all(|run| run.hasty && was_taken())
}

/// The newest run that was ever made; several when nobody can tell them apart.
fn newest(model: &Checked, world: &World, owner: u8) -> Vec<Run> {
    let is_own = move |run: &&Run| run.make.owner == owner && !run.make.forged;
    let own = || world.runs.iter().filter(is_own);
    if own().all(|run| run.make.number > 0) {
        return own()
            .max_by_key(|run| run.make.number)
            .copied()
            .into_iter()
            .collect();
    }
    if model.setup.same_second {
        return own().copied().collect();
    }
    own().next_back().copied().into_iter().collect()
}

fn outputs(world: &mut World, old: &RunnableStatus, new: &RunnableStatus) {
    let Some(from) = &new.outputs_from else {
        if world.ghost.outputs > 0 {
            world.ghost.broken |= S4_BACK;
        }
        return;
    };
    let sequence = u16::try_from(from.sequence).unwrap_or(u16::MAX);
    if sequence < world.ghost.outputs {
        world.ghost.broken |= S4_BACK;
    }
    world.ghost.outputs = world.ghost.outputs.max(sequence);
    let current = new
        .current_run
        .iter()
        .map(|run| (run.sequence, run.uid.as_deref()));
    let history = new
        .history
        .iter()
        .map(|run| (run.sequence, run.uid.as_deref()));
    let known = current
        .chain(history)
        .any(|run| run == (from.sequence, Some(from.uid.as_str())));
    let kept = old.outputs_from.as_ref() == Some(from);
    let run = run_of(&from.uid).and_then(|uid| world.runs.get(usize::from(uid)));
    let own =
        run.is_some_and(|run| run.result == Some(true) && run.make.owner == world.runnable.owner);
    let own = own && !run.is_some_and(|run| run.make.forged);
    let answer = new
        .outputs
        .as_ref()
        .and_then(|outputs| outputs.get("answer"));
    if !(known || kept) || !own || answer.is_none_or(|answer| *answer != from.uid) {
        world.ghost.broken |= S4_SOURCE;
    }
}

/// Judges a delete of retention that has its effect now.
pub(crate) fn retire(model: &Checked, world: &mut World, run: usize) {
    let stored = model.decisions.pool.stored(world.runnable.status);
    let uid = run_uid(Uid::try_from(run).unwrap_or(Uid::MAX));
    let is = |other: Option<&str>| other == Some(uid.as_str());
    let current = stored
        .current_run
        .as_ref()
        .is_some_and(|run| is(run.uid.as_deref()));
    let source = stored
        .outputs_from
        .as_ref()
        .is_some_and(|from| is(Some(&from.uid)));
    let unknown = stored.current_run.is_some()
        && !current
        && !stored.history.iter().any(|entry| is(entry.uid.as_deref()));
    if world.runs[run].result.is_none() || current || source || unknown {
        world.ghost.broken |= S5;
    }
}

/// S1: at most one object was ever made for a number.
pub(crate) fn one_for_each_number(world: &World) -> bool {
    let counted: Vec<(u8, u16)> = world
        .runs
        .iter()
        .filter(|run| run.make.number > 0 && run.make.owner != STRANGER && !run.make.forged)
        .filter(|run| !run.is_forgotten() && !run.hasty)
        .map(|run| (run.make.owner, run.make.number))
        .collect();
    (1..counted.len()).all(|at| !counted[..at].contains(&counted[at]))
}

/// S2: what the ledger says of a run is so, and no run of another is in it. After a loss of the status only what was confirmed counts.
pub(crate) fn content_is_as_recorded(model: &Checked, world: &World) -> bool {
    let stored = model.decisions.pool.stored(world.runnable.status);
    let by_uid = model.setup.loses_status();
    let current = stored.current_run.iter();
    let current = current.map(|run| (run.sequence, &run.input_hash, run.uid.as_deref()));
    let history = stored.history.iter();
    let history = history.map(|run| (run.sequence, &run.input_hash, run.uid.as_deref()));
    current.chain(history).all(|(sequence, hash, uid)| {
        world.runs.iter().zip(0u16..).all(|(run, number)| {
            let named = uid.and_then(run_of) == Some(number);
            if run.make.owner != world.runnable.owner || run.make.forged {
                return !named;
            }
            let same_number = i64::from(run.make.number) == sequence;
            let concerned = if by_uid || run.make.number == 0 {
                named
            } else {
                named || same_number
            };
            let as_recorded = (same_number || run.make.number == 0)
                && model.decisions.cast.hash(&run.make) == *hash;
            let later = !hash.starts_with(HASH_VERSION) || model.setup.adopts();
            run.is_forgotten() || !concerned || as_recorded || (named && later)
        })
    })
}
