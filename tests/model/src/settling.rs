//! The end of a state when faults stop and every worker gets its turn.
//!
//! From every reached state, fair schedules are played to their end: requests arrive, caches catch up,
//! workers work, runs succeed, time passes. Actions that a status asks its user for come last, because the
//! status must ask first. Rounds that were played before are not played again, so this costs little more than
//! one round a state.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use cartouche_crds::{
    CurrentRun, RunPhase, RunResult, RunnableStatus, StopReason, conditions::RUN_TEMPLATE_READY,
};
use cartouche_protocol::{
    category::Category,
    ledger::{Ledger, RunName},
};

use crate::{
    cast::{NOW, run_of, token},
    configuration::Left,
    faults::time,
    judge,
    model::Checked,
    pool::hashed,
    server::Fate,
    world::{Ghost, Presence, Run, Uid, World},
};

/// Rounds after which a schedule counts as never coming to rest.
const MOST_ROUNDS: usize = 80;
/// Turns in one round after which its passes count as never ending.
const MOST_TURNS: usize = 200;

/// A property that is broken at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The final input does not have exactly one newest run, or its outputs are missing.
    L1 = 1,
    /// A run of ours is unknown to the ledger.
    L2 = 2,
    /// There is no end: the workers keep each other busy.
    Restless = 4,
}

/// Known ends, by state and schedule.
pub type Verdicts = RwLock<HashMap<u64, u8>>;

/// Order of the turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Schedule {
    /// One worker after the other, whole passes; runs end when nothing else is left to do.
    InTurn,
    /// The reverse order; runs end as soon as they can.
    Reverse,
    /// Request by request.
    LockStep,
}

impl Checked {
    /// Returns true if no fair schedule ends in this way.
    pub(crate) fn settles(&self, world: &World, broken: Broken) -> bool {
        if world.ghost.broken != 0 {
            return true;
        }
        let schedules: &[Schedule] = if world.workers.len() > 1 {
            &[Schedule::InTurn, Schedule::Reverse, Schedule::LockStep]
        } else {
            &[Schedule::InTurn, Schedule::Reverse]
        };
        schedules
            .iter()
            .all(|schedule| self.played(world, *schedule) & broken as u8 == 0)
    }

    fn played(&self, world: &World, schedule: Schedule) -> u8 {
        let mut world = world.clone();
        world.forbidden = false;
        world.backup = None;
        world.left = Left::default();
        world.ghost = Ghost::default();
        for worker in &mut world.workers {
            worker.woken |= self.setup.left.rights > 0;
        }
        let mut rounds = Vec::new();
        let mut verdict = Broken::Restless as u8;
        for _ in 0..MOST_ROUNDS {
            world.squeeze_versions();
            let key = hashed(&(&world, schedule));
            let known = self.verdicts.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = known.get(&key) {
                verdict = *known;
                break;
            }
            drop(known);
            rounds.push(key);
            let before = world.clone();
            if !self.round(&mut world, schedule) {
                break;
            }
            world.squeeze_versions();
            let may_wait = !self.setup.at_once;
            let is_woken = |world: &mut World| {
                let mut workers = world.workers.iter_mut();
                let settles = workers.by_ref().any(time::settle);
                settles || self.come_due(world) || self.age(world)
            };
            if world == before && self.leaves_at_work(&world) {
                if may_wait && is_woken(&mut world) {
                    continue;
                }
                verdict = Broken::L1 as u8;
                break;
            }
            if world == before && !finish_all(&mut world) && !(may_wait && is_woken(&mut world)) {
                verdict = self.judged(&world);
                if verdict != 0 || !self.make_way(&mut world) {
                    break;
                }
                verdict = Broken::Restless as u8;
            }
        }
        let mut verdicts = self
            .verdicts
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        verdicts.extend(rounds.into_iter().map(|key| (key, verdict)));
        verdict
    }

    /// Plays one round. Returns false when its passes never end.
    fn round(&self, world: &mut World, schedule: Schedule) -> bool {
        world.ghost = Ghost::default();
        if schedule == Schedule::Reverse {
            finish_all(world);
        }
        self.deliver_all(world);
        let mut order: Vec<usize> = (0..world.workers.len()).collect();
        if schedule == Schedule::Reverse {
            order.reverse();
        }
        if schedule == Schedule::LockStep {
            for worker in &order {
                self.catch_up(world, *worker);
            }
            return self.work(world, &order);
        }
        order.iter().all(|worker| {
            self.catch_up(world, *worker);
            self.work(world, &[*worker])
        })
    }

    fn catch_up(&self, world: &mut World, worker: usize) {
        self.observe(world, worker);
        if self.setup.by_template && world.workers[worker].template != world.runnable.input {
            world.workers[worker].template = world.runnable.input;
            world.workers[worker].woken = true;
        }
        self.hear(world, worker);
    }

    /// Lets these workers take turns and end the passes that they have, or have reason to begin.
    fn work(&self, world: &mut World, workers: &[usize]) -> bool {
        let mut busy: Vec<usize> = workers
            .iter()
            .copied()
            .filter(|worker| world.workers[*worker].pass.is_some() || world.workers[*worker].woken)
            .collect();
        for _ in 0..MOST_TURNS {
            if busy.is_empty() {
                return true;
            }
            for worker in busy.clone() {
                self.act(world, worker);
                self.deliver_all(world);
            }
            busy.retain(|worker| world.workers[*worker].pass.is_some());
        }
        false
    }

    fn deliver_all(&self, world: &mut World) {
        while !world.wire.is_empty() {
            self.deliver(world, 0, Fate::Answered);
        }
    }

    fn judged(&self, world: &World) -> u8 {
        let mut verdict = 0;
        if !self.is_up_to_date(world) && !self.says_what_is_in_the_way(world) {
            verdict |= Broken::L1 as u8;
        }
        // Without its template a Runnable has no rights to list by: the ledger finds lost runs again when the
        // template is back.
        if !world.runnable.mistyped && !judge::knows_all(self, world) {
            verdict |= Broken::L2 as u8;
        }
        verdict
    }

    /// L1: returns true if the current run is the newest and for the final input, and the status has its end.
    fn is_up_to_date(&self, world: &World) -> bool {
        let stored = self.decisions.pool.stored(world.runnable.status);
        let document = self.setup.document(world.runnable.input);
        let rendered = self.decisions.cast.document(document);
        let Some(current) = &stored.current_run else {
            return false;
        };
        let uid = current.uid.as_deref();
        let Some(run) = uid
            .and_then(run_of)
            .and_then(|uid| world.runs.get(usize::from(uid)))
        else {
            return false;
        };
        let asked = token(self.setup.token(world.runnable.input));
        let is_own = run.make.owner == world.runnable.owner && !run.make.forged;
        let newest =
            own(world).all(|run| !run.is_there() || i64::from(run.make.number) <= current.sequence);
        let for_input = rendered.next.has_hash(&current.input_hash)
            && (run.make.document == document || !run.is_there() && self.setup.adopts())
            && (asked.is_none() || asked.as_deref() == stored.last_answered());
        let told = match current.result {
            None => false,
            Some(RunResult::Lost) => !run.is_there(),
            Some(RunResult::Failed) => {
                let was_stopped = current.stop.is_some() && !run.is_there();
                let has_failed = run.result == Some(false) || was_stopped;
                let reason = current.stop.as_ref().map(|stop| &stop.reason);
                // The last document has not run if its run was replaced by another one.
                let is_wanted = reason == Some(&StopReason::Replaced);
                has_failed && !is_wanted && self.is_tried_often_enough(&stored, run)
            }
            Some(RunResult::Succeeded) => run.result == Some(true),
        };
        let from = stored.outputs_from.as_ref();
        let outputs = current.result != Some(RunResult::Succeeded)
            || !run.is_there()
            || from.is_some_and(|from| {
                from.sequence == current.sequence && Some(from.uid.as_str()) == uid
            });
        let ready = stored
            .conditions
            .iter()
            .find(|condition| condition.type_ == "Ready");
        let ready = current.result != Some(RunResult::Succeeded)
            || !run.is_there()
            || ready.is_some_and(|ready| ready.status == "True");
        is_own && newest && for_input && told && outputs && ready
    }

    /// Returns true if a failed run is not to be retried, or its retry is in the future where no time passes.
    /// No retry is planned for a run that was cancelled, or that a rebuild found again.
    fn is_tried_often_enough(&self, stored: &RunnableStatus, run: &Run) -> bool {
        let ledger = Ledger::from_status(stored);
        let policy = self.setup.asked();
        let allowed = |current: &CurrentRun| {
            let retry = policy.retry.as_ref();
            retry.is_some_and(|retry| retry.allows(current))
        };
        if let Some(ahead) = policy.ahead(&ledger) {
            return self.setup.at_once && ahead.at > NOW;
        }
        let is_found_again = self.setup.loses_status() || self.setup.adopts();
        let is_exhausted = !ledger.current.as_ref().is_some_and(allowed);
        is_exhausted || run.make.cancelled || is_found_again
    }

    /// Returns true if all is at rest although the timeout of a run has expired, or it is to be replaced, and
    /// no worker has stopped it.
    fn leaves_at_work(&self, world: &World) -> bool {
        let ledger = self.decisions.ledger(world.runnable.status);
        let is_left = |uid: Uid| {
            let run = world.runs.get(usize::from(uid));
            run.is_some_and(|run| run.is_there() && run.result.is_none() && !run.make.told)
        };
        let mut at_work = ledger.at_work().filter_map(|run| {
            let reason = run.stop.map(|stop| &stop.reason);
            let is_to_stop = world.overdue || reason == Some(&StopReason::Replaced);
            run_of(run.uid).filter(|_| is_to_stop)
        });
        !world.runnable.mistyped && at_work.any(is_left)
    }

    /// Performs the action that the status asks the user for: resumes the Runnable, approves, or deletes the
    /// object that has the name of the next run. Returns true if there was anything to do.
    fn make_way(&self, world: &mut World) -> bool {
        if world.runnable.suspended || world.runnable.mistyped {
            world.runnable.suspended = false;
            world.runnable.mistyped = false;
            world.touch();
            return true;
        }
        if self.approve(world) {
            return true;
        }
        let Some(uid) = self.in_the_way(world) else {
            return false;
        };
        world.runs[usize::from(uid)].presence = Presence::Deleted;
        true
    }

    /// Returns the foreign object that has the name of the run to be made. One of our own earlier runs may
    /// have it only where the template gives all of them this name.
    fn in_the_way(&self, world: &World) -> Option<Uid> {
        let stored = self.decisions.pool.stored(world.runnable.status);
        let current = stored.current_run.as_ref()?;
        if current.phase == RunPhase::Created {
            return None;
        }
        let holder = world.holder(self.decisions.pool.name(&RunName::from_current(current)))?;
        let own = holder.make.owner == world.runnable.owner && !holder.make.forged;
        let is_it = own && i64::from(holder.make.number) == current.sequence;
        (!is_it && (!own || self.setup.fixed_name)).then_some(holder.uid)
    }

    /// Returns true if the status asks for an approval of the present rendering that is not given yet.
    fn is_to_be_approved(&self, world: &World) -> bool {
        let document = self.setup.document(world.runnable.input);
        let waiting = self.decisions.waiting(&self.setup, world.runnable.status);
        waiting.is_some_and(|it| it.1 == document && world.runnable.approved != Some(it))
    }

    /// Returns true if no run can be made for now and the status gives the reason. Where another client has
    /// written the status and no list is available for a comparison, the status stays and an event gives the
    /// reason.
    fn says_what_is_in_the_way(&self, world: &World) -> bool {
        if world.runnable.mistyped && world.runnable.marked {
            return true;
        }
        let expected = if world.runnable.mistyped {
            Category::RunTemplateNotFound
        } else if world.runnable.suspended {
            Category::Suspended
        } else if self.is_to_be_approved(world) {
            Category::ApprovalRequired
        } else if self.in_the_way(world).is_some() {
            Category::NameConflict
        } else {
            return false;
        };
        let stored = self.decisions.pool.stored(world.runnable.status);
        stored.conditions.iter().any(|condition| {
            condition.type_ == RUN_TEMPLATE_READY && condition.reason == expected.as_str()
        })
    }
}

fn own(world: &World) -> impl Iterator<Item = &Run> {
    let owner = world.runnable.owner;
    let is_own = move |run: &&Run| run.make.owner == owner && !run.make.forged;
    world.runs.iter().filter(is_own)
}

/// Ends all runs. Returns true if any of them was still under way.
fn finish_all(world: &mut World) -> bool {
    let mut any = false;
    for run in world.runs.iter_mut().filter(|run| run.is_there()) {
        any |= run.result.is_none();
        run.result.get_or_insert(true);
    }
    any
}
