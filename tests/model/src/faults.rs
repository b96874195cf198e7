//! Effects of users, time and faults on a state.

mod status;
pub(crate) mod time;

use cartouche_crds::{RunPhase, RunnableStatus};
use cartouche_protocol::ledger::{Ledger, RunName};

use crate::{
    cast::run_uid,
    configuration::Left,
    model::{Action, Checked},
    process::Memory,
    server::Fate,
    world::{Ghost, Make, Presence, Run, STRANGER, Seen, Worker, World},
};

impl Checked {
    /// Performs one action.
    pub(crate) fn happen(&self, world: &mut World, action: Action) {
        match action {
            Action::Change => self.change(world),
            Action::Observe(worker) => self.observe(world, worker),
            Action::ObserveTemplate(worker) => {
                show_template(world, worker, world.runnable.input);
            }
            Action::TemplateGoesBack(worker) => {
                show_template(world, worker, world.workers[worker].template - 1);
            }
            Action::Hear(worker) => self.hear(world, worker),
            Action::ListAnew(worker) => {
                world.left.gaps -= 1;
                self.list_anew(world, worker);
            }
            Action::Act(worker) => self.act(world, worker),
            Action::ActUnanswered(worker) => self.act_unanswered(world, worker),
            Action::Deliver(request, fate) => {
                let lost = !matches!(fate, Fate::Answered | Fate::PutOff);
                world.left.losses -= u8::from(lost);
                self.deliver(world, request, fate);
            }
            Action::Crash(worker) => {
                world.left.crashes -= 1;
                crash(world, worker);
            }
            Action::Finish(run, result) => world.runs[usize::from(run)].result = Some(result),
            Action::Delete(run) => self.delete(world, usize::from(run)),
            Action::Cancel(run) => cancel(&mut world.runs[usize::from(run)], &mut world.left),
            Action::Due => {
                self.come_due(world);
            }
            Action::Overdue => time::end_time_of_runs(world),
            Action::Rights => change_rights(world),
            Action::Wipe => self.wipe(world),
            Action::BackUp => world.backup = Some(world.runnable.status),
            Action::Restore => self.restore(world),
            Action::GraceEnds(worker) => time::end_grace(&mut world.workers[worker]),
            Action::Settle(worker) => {
                time::settle(&mut world.workers[worker]);
            }
            Action::Pause => {
                self.pause(world);
            }
            Action::Age => {
                self.age(world);
            }
            Action::Rebirth => self.rebirth(world),
            Action::OriginalRun => self.run_by_the_original(world),
            Action::Stranger => self.intrude(world),
            Action::Forge { early } => self.forge(world, early),
            Action::Suspend(suspended) => suspend(world, suspended),
            Action::Mistype(mistyped) => mistype(world, mistyped),
            Action::Approve => {
                if self.approve(world) {
                    world.left.approvals -= 1;
                }
            }
        }
    }

    fn change(&self, world: &mut World) {
        world.runnable.input += 1;
        if !self.setup.by_template || self.token_moves(world) {
            world.touch();
        }
    }

    /// Approves the run that waits according to the status, even if that is out of date by now. Returns true
    /// if there was a new run to approve.
    pub(crate) fn approve(&self, world: &mut World) -> bool {
        let waiting = self
            .decisions
            .waiting(&self.setup, world.runnable.status)
            .filter(|waiting| world.runnable.approved != Some(*waiting));
        if let Some(waiting) = waiting {
            world.runnable.approved = Some(waiting);
            world.touch();
        }
        waiting.is_some()
    }

    fn run_by_the_original(&self, world: &mut World) {
        world.left.original_runs -= 1;
        let document = self.setup.document(world.runnable.input);
        let make = self.named(world.runnable.owner, 0, document, world.runs.len());
        Self::add_run(world, Run::new(make));
    }

    /// Puts a foreign object under the name that the ledger reserved: for example a copy of our run from a
    /// backup, with labels and annotations. Only its owner differs.
    fn intrude(&self, world: &mut World) {
        let stored = self.decisions.pool.stored(world.runnable.status);
        let reserved = stored.current_run.as_ref();
        let Some(current) = reserved.filter(|current| current.phase != RunPhase::Created) else {
            return;
        };
        let name = self.decisions.pool.name(&RunName::from_current(current));
        if world.holder(name).is_some() {
            return;
        }
        world.left.strangers -= 1;
        let number = u16::try_from(current.sequence).unwrap_or_default();
        let document = self.setup.document(world.runnable.input);
        let make = Make::of(STRANGER, number, document, name);
        Self::add_run(world, Run::new(make));
    }

    /// Forges the object of the next number: before it is intended, or just after, before the create arrives.
    /// The forger may create the kind of the runs and knows everything public. The object ends as if it had
    /// been a run.
    fn forge(&self, world: &mut World, early: bool) {
        let stored = self.decisions.pool.stored(world.runnable.status);
        let ledger = Ledger::from_status(&stored);
        let pending = ledger.current.as_ref();
        let pending = pending.filter(|current| current.phase != RunPhase::Created);
        let bare = self.setup.bare_forgeries;
        // A forgery cannot be distinguished for a Runnable without a ledger, nor when it arrives before a
        // create.
        if bare && (!early || ledger.current.is_none()) {
            return;
        }
        let number = match (early, pending) {
            (true, _) => ledger.next_sequence(),
            (false, Some(current)) => current.sequence,
            (false, None) => return,
        };
        let document = self.setup.document(world.runnable.input);
        let number = u16::try_from(number).unwrap_or(u16::MAX);
        let make = Make {
            forged: true,
            early: early && !bare,
            bare,
            ..self.named(world.runnable.owner, number, document, 0)
        };
        if world.holder(make.name).is_some() {
            return;
        }
        world.left.forgeries -= 1;
        Self::add_run(
            world,
            Run {
                result: (!bare).then_some(true),
                ..Run::new(make)
            },
        );
    }

    fn token_moves(&self, world: &World) -> bool {
        let now = world.runnable.input;
        self.setup.token(now) != self.setup.token(now - 1)
    }

    /// Lets the write of a status take effect, and loses its answer.
    fn act_unanswered(&self, world: &mut World, worker: usize) {
        let mut after = world.clone();
        self.act(&mut after, worker);
        if after.runnable == world.runnable {
            return;
        }
        let before = &world.workers[worker];
        let memory = Memory {
            // Facts that it read before it wrote stay known.
            unknown_runs: after.workers[worker].memory.unknown_runs.clone(),
            known_writers: after.workers[worker].memory.known_writers,
            ..before.memory.clone()
        };
        after.workers[worker] = Worker {
            woken: true,
            pass: None,
            memory,
            ..before.clone()
        };
        after.left.losses -= 1;
        *world = after;
    }

    fn delete(&self, world: &mut World, index: usize) {
        let run = world.runs[index];
        let stored = self.decisions.pool.stored(world.runnable.status);
        let uid = run_uid(u16::try_from(index).unwrap_or(u16::MAX));
        let current = stored.current_run.iter().map(|run| &run.uid);
        let known = current
            .chain(stored.history.iter().map(|entry| &entry.uid))
            .any(|known| *known == Some(uid.clone()));
        let own = run.make.owner == world.runnable.owner;
        let hasty = (own && !known) || self.is_outstanding(world, &run.make);
        if hasty && self.setup.patient_users {
            return;
        }
        let left = if run.result.is_none() {
            &mut world.left.unfinished
        } else {
            &mut world.left.finished
        };
        *left -= 1;
        world.runs[index].presence = Presence::Deleted;
        world.runs[index].hasty = hasty;
    }

    fn rebirth(&self, world: &mut World) {
        world.left.rebirths -= 1;
        world.runnable.owner += 1;
        world.runnable.status = self.decisions.pool.status(&RunnableStatus::default());
        world.runnable.marked = false;
        world.backup = None;
        world.ghost = Ghost::default();
        world.touch();
    }
}

fn show_template(world: &mut World, worker: usize, template: u8) {
    world.workers[worker].template = template;
    world.workers[worker].woken = true;
}

fn cancel(run: &mut Run, left: &mut Left) {
    left.cancels -= 1;
    run.make.cancelled = true;
    run.result = Some(false);
}

/// Takes or gives the right to create. Events of roles wake all workers.
fn change_rights(world: &mut World) {
    world.left.rights -= 1;
    world.forbidden = !world.forbidden;
    for worker in &mut world.workers {
        worker.woken = true;
    }
}

fn suspend(world: &mut World, suspended: bool) {
    world.left.suspensions -= u8::from(suspended);
    world.runnable.suspended = suspended;
    world.touch();
}

fn mistype(world: &mut World, mistyped: bool) {
    world.left.mistypes -= u8::from(mistyped);
    world.runnable.mistyped = mistyped;
    world.touch();
}

/// Loses memory and watches of a worker. The cache may come back: an API server that lags may answer the new
/// list.
fn crash(world: &mut World, index: usize) {
    let worker = &mut world.workers[index];
    worker.pass = None;
    worker.memory = Memory::default();
    worker.complete = 0;
    worker.seen.fill(Seen::default());
    worker.woken = true;
    for request in &mut world.wire {
        if request.sender.map(usize::from) == Some(index) {
            request.sender = None;
        }
    }
}
