//! Effects of others on the status: they empty it, or restore a copy of it.

use cartouche_crds::RunnableStatus;
use cartouche_oracle::is_loss;

use super::crash;
use crate::{configuration::Restored, model::Checked, pool::StatusId, world::World};

impl Checked {
    /// Removes the ledger: the original controller wrote the status, or all of it is lost.
    pub(super) fn wipe(&self, world: &mut World) {
        let mut status = (*self.decisions.pool.stored(world.runnable.status)).clone();
        // Exception I3: an empty status gives no reason to wait.
        let unsafe_now = self.setup.wipes_all && !is_still(world);
        if status.current_run.is_none() || unsafe_now {
            return;
        }
        if world.left.wipes > 0 {
            world.left.wipes -= 1;
        } else {
            world.left.original_writes -= 1;
        }
        if self.setup.wipes_all {
            status = RunnableStatus::default();
        }
        status.current_run = None;
        status.history_mut().clear();
        status.outputs_from = None;
        status.breaker = None;
        self.replace(world, self.decisions.pool.status(&status));
    }

    /// Restores a backup with nothing on its way; a restore while something is on its way is exception I3.
    pub(super) fn restore(&self, world: &mut World) {
        let Some(backup) = world
            .backup
            .filter(|backup| *backup != world.runnable.status)
        else {
            return;
        };
        let stopped = self.setup.restored == Restored::Stopped;
        if !world.wire.is_empty() || !stopped && !is_still(world) {
            return;
        }
        world.left.restores -= 1;
        world.backup = None;
        let crashing = if stopped { world.workers.len() } else { 0 };
        for worker in 0..crashing {
            crash(world, worker);
            world.workers[worker].cache = None;
        }
        world.ghost.restored |= self.replace(world, backup);
        if self.setup.restored == Restored::Unnoted {
            world.runnable.marked = false;
            world.runnable.noted = false;
        } else {
            note(world);
        }
    }

    /// Writes another status. Returns true if any record of runs is lost.
    fn replace(&self, world: &mut World, status: StatusId) -> bool {
        let old = self.decisions.pool.stored(world.runnable.status);
        let new = self.decisions.pool.stored(status);
        world.runnable.marked |= new != old;
        world.runnable.status = status;
        world.touch();
        let lost = is_loss(&old, &new);
        for run in world.runs.iter_mut().filter(|_| lost) {
            run.forgettable = true;
            run.had_succeeded |= run.result == Some(true);
        }
        lost
    }
}

/// Records the API server's note of a write by another client and of its second. Two writes in one second
/// leave the same note.
fn note(world: &mut World) {
    world.runnable.noted = true;
    world.runnable.writers += u8::from(!world.same_second);
    // Of no interest if no other write is to come.
    world.same_second = world.left.restores > 0;
}

/// Returns true if nothing is on its way, and no worker is about to send anything.
fn is_still(world: &World) -> bool {
    world.wire.is_empty() && world.workers.iter().all(|worker| worker.pass.is_none())
}
