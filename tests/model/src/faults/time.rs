//! Effects of time on a state. The clock stands still, so everything else moves.

use crate::{
    model::Checked,
    pool::{Pool, StatusId},
    world::{Outcome, Pass, Worker, World},
};

impl Checked {
    /// Lets half a minute pass: everything sent has arrived, and nothing read before is recent.
    pub(crate) fn pause(&self, world: &mut World) -> bool {
        if !self.may_pass(world) {
            return false;
        }
        let before = world.clone();
        world.same_second = false;
        for worker in &mut world.workers {
            if let Some(pass) = &mut worker.pass {
                pass.prompt = false;
            }
            if let Some(without) = &mut worker.memory.without_ledger {
                worker.woken |= !without.settled;
                without.settled = true;
            }
            // The watch has not shown a run that was made: the worker looks for it.
            if let Some(unobserved) = &mut worker.memory.unobserved_run {
                worker.woken |= !unobserved.over;
                unobserved.over = true;
            }
            end_grace(worker);
        }
        *world != before
    }

    /// Returns true if the next attempt after a failure is at a future time.
    pub(crate) fn awaits_retry(&self, world: &World) -> bool {
        let pool = &self.decisions.pool;
        self.setup.retries > 0 && pool.due(world.runnable.status) != world.runnable.status
    }

    /// Lets the time of the next attempt come. Workers that know of it look again by themselves.
    pub(crate) fn come_due(&self, world: &mut World) -> bool {
        if !self.awaits_retry(world) {
            return false;
        }
        self.each_status(world, Pool::due);
        for worker in &mut world.workers {
            worker.woken = true;
        }
        true
    }

    /// Changes the status wherever it is kept.
    fn each_status(&self, world: &mut World, change: impl Fn(&Pool, StatusId) -> StatusId) {
        let change = |status: &mut StatusId| *status = change(&self.decisions.pool, *status);
        change(&mut world.runnable.status);
        world.backup.iter_mut().for_each(change);
        for worker in &mut world.workers {
            let cached = worker.cache.iter_mut().map(|cached| &mut cached.status);
            let reported = worker.memory.last_reported.iter_mut();
            let passes = worker.pass.iter_mut();
            let passes = passes.map(|pass| &mut pass.knowledge.stored);
            cached.chain(reported).chain(passes).for_each(change);
        }
    }

    /// Lets more than the minimum age pass.
    pub(crate) fn age(&self, world: &mut World) -> bool {
        if !self.may_pass(world) {
            return false;
        }
        let before = world.clone();
        self.pause(world);
        self.each_status(world, Pool::aged);
        world.runs.iter_mut().for_each(|run| run.make.old = true);
        for worker in &mut world.workers {
            let memory = &mut worker.memory;
            for shown in memory.made.iter_mut().chain(&mut memory.unconfirmed) {
                shown.make.old = true;
            }
            memory.unknown_runs.iter_mut().for_each(|it| it.old = true);
            if let Some(pass) = &mut worker.pass {
                grow_old(pass);
            }
        }
        if *world == before {
            return false;
        }
        world
            .workers
            .iter_mut()
            .for_each(|worker| worker.woken = true);
        true
    }

    fn may_pass(&self, world: &World) -> bool {
        let caught_up = world
            .workers
            .iter()
            .all(|worker| worker.cache.is_none_or(|cached| cached == world.runnable));
        world.wire.iter().all(|request| request.endless)
            && (caught_up || !self.setup.caches_keep_up)
    }
}

fn grow_old(pass: &mut Pass) {
    let knowledge = &mut pass.knowledge;
    let sighted = knowledge.cached_runs.iter_mut().map(|(shown, _)| shown);
    let listed = knowledge.listed.iter_mut().flatten();
    let read = knowledge
        .reads
        .iter_mut()
        .filter_map(|(_, shown)| shown.as_mut());
    for shown in sighted.chain(listed).chain(read) {
        shown.make.old = true;
    }
    if let Some(Outcome::Created(shown) | Outcome::MadeBefore(shown)) = &mut knowledge.created {
        shown.make.old = true;
    }
}

/// Lets the timeout of the runs expire. Workers look again by themselves.
pub(super) fn end_time_of_runs(world: &mut World) {
    world.left.timeouts -= 1;
    world.overdue = true;
    for worker in &mut world.workers {
        worker.woken = true;
    }
}

/// Lets the pending change have stayed the same for long enough. A worker that waits for that looks again.
pub(crate) fn settle(worker: &mut Worker) -> bool {
    let due = worker.memory.due.as_mut();
    let Some(due) = due.filter(|due| !due.2) else {
        return false;
    };
    due.2 = true;
    worker.woken = true;
    true
}

pub(super) fn end_grace(worker: &mut Worker) {
    if let Some(missing) = &mut worker.memory.missing {
        worker.woken |= !missing.over;
        missing.over = true;
    }
}
