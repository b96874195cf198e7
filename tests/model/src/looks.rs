//! A worker's view at the beginning of a pass: its watches, and what they have shown.

use cartouche_crds::RunnableStatus;
use cartouche_protocol::ledger::Ledger;

use crate::{
    cast::{kind_number, run_of},
    model::Checked,
    process::{CLOCK, Memory},
    world::{Knowledge, Known, Shown, World},
};

impl Checked {
    /// Starts the needed watches and takes over what they have shown.
    pub(crate) fn look_around(&self, world: &mut World, index: usize) {
        if self.setup.prompt_watch {
            self.hear(world, index);
        }
        let Some(mut pass) = world.workers[index].pass.take() else {
            return;
        };
        let stored = self.decisions.pool.stored(pass.knowledge.stored);
        self.want_kinds(world, index, &stored, &pass.knowledge);
        if self.setup.prompt_watch {
            self.hear(world, index);
        }
        let worker = &mut world.workers[index];
        let knowledge = &mut pass.knowledge;
        self.take_in_waits(&mut worker.memory, knowledge);
        let kind = stored
            .current_run
            .as_ref()
            .map(|current| kind_number(&current.kind));
        knowledge.watched = kind.is_none_or(|kind| worker.complete >> kind & 1 == 1);
        knowledge.cached_runs = if self.setup.polled {
            Vec::new()
        } else {
            let seen = worker.seen.iter().zip(&world.runs).zip(0..);
            seen.filter(|((_, run), _)| run.make.owner == knowledge.owner)
                .filter_map(|((seen, run), uid)| {
                    let (result, deleted) = seen.cached_run?;
                    let make = run.make;
                    Some((Shown { uid, make, result }, deleted))
                })
                .collect()
        };
        if self.setup.retires {
            knowledge.complete = worker.complete;
            let seen = worker.seen.iter().zip(0..);
            knowledge.existing = seen
                .filter(|(seen, _)| matches!(seen.known, Known::Exists(_)))
                .map(|(_, uid)| uid)
                .collect();
        }
        if self.setup.polled && kind.is_some() {
            let owner = knowledge.owner;
            let polled = world.shown().filter(|shown| shown.make.owner == owner);
            knowledge.cached_runs = polled.map(|shown| (shown, false)).collect();
        }
        world.workers[index].pass = Some(pass);
    }

    /// Takes over what the worker still waits for, from its memory of the current run.
    fn take_in_waits(&self, memory: &mut Memory, knowledge: &mut Knowledge) {
        // Where no worker has to wait for a report of another controller, the time for it has passed.
        knowledge.grace_over = !self.setup.grace;
        knowledge.unobserved_run = None;
        if memory.unobserved_run.is_none() && memory.missing.is_none() {
            return;
        }
        let ledger = self.decisions.ledger(knowledge.stored);
        self.decisions.remember(self.setup.mutant, memory, |state| {
            let unobserved = state.find_unobserved(CLOCK);
            knowledge.unobserved_run = unobserved.and_then(|(uid, _)| run_of(uid));
            let grace = state.grace_left(&ledger, CLOCK);
            knowledge.grace_over |= grace.is_some_and(|left| left.is_zero());
        });
    }

    fn want_kinds(
        &self,
        world: &mut World,
        index: usize,
        stored: &RunnableStatus,
        knowledge: &Knowledge,
    ) {
        let rendered = self
            .decisions
            .cast
            .kind(self.setup.document(knowledge.input));
        let history = stored.history.iter();
        let wanted = history
            .map(|entry| kind_number(&entry.kind))
            .chain(
                stored
                    .current_run
                    .iter()
                    .map(|current| kind_number(&current.kind)),
            )
            .chain([rendered])
            .fold(0, |kinds, kind| kinds | 1 << kind);
        let worker = &mut world.workers[index];
        worker.complete &= wanted;
        worker.memory.kinds = wanted;
        for (seen, run) in worker.seen.iter_mut().zip(&world.runs) {
            let kind = self.decisions.cast.kind(run.make.document);
            if worker.complete >> kind & 1 == 0 {
                seen.known = Known::Nothing;
            }
        }
    }

    /// Drops the cached runs that do not matter any more; see `prune.rs`.
    pub(crate) fn tidy(&self, world: &mut World, index: usize) {
        let worker = &mut world.workers[index];
        let Some(pass) = &worker.pass else { return };
        for ((seen, run), uid) in worker.seen.iter_mut().zip(&world.runs).zip(0u16..) {
            let Some((result, deleted)) = seen.cached_run else {
                continue;
            };
            let make = run.make;
            let shown = Shown { uid, make, result };
            if make.owner == pass.knowledge.owner
                && !self
                    .decisions
                    .needs(self.setup.mutant, &pass.knowledge, &shown, deleted)
            {
                seen.cached_run = None;
            }
        }
        let is_seen = |uid: &str| {
            let mut seen = pass.knowledge.cached_runs.iter();
            seen.any(|(shown, _)| Some(shown.uid) == run_of(uid))
        };
        let ledger = self.decisions.ledger(pass.knowledge.stored);
        worker.woken |= is_out_of_sight(&ledger, &pass.knowledge);
        self.decisions
            .remember(self.setup.mutant, &mut worker.memory, |state| {
                state.prune(&ledger, is_seen, CLOCK);
            });
    }
}

/// Returns true if no watch shows the current run, so that the worker looks again without an event.
fn is_out_of_sight(ledger: &Ledger, knowledge: &Knowledge) -> bool {
    let current = ledger.current.as_ref();
    let unfinished = current.filter(|current| current.result.is_none());
    let uid = unfinished.and_then(|current| current.uid.as_deref().and_then(run_of));
    let mut shown = knowledge.cached_runs.iter();
    uid.is_some_and(|uid| !shown.any(|(shown, deleted)| shown.uid == uid && !deleted))
}
