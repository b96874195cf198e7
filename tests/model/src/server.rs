//! The API server: the effect of a request that arrives, and the events of the watches.

use cartouche_protocol::ledger::Change;

use crate::{
    judge,
    model::Checked,
    mutant::Mutant,
    pool::StatusId,
    process::Memory,
    world::{Known, Make, Outcome, Presence, Request, Run, Shown, Stage, Uid, World},
};

/// Fate of a create on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives, and so does its answer.
    Answered,
    /// It arrives, and so does its answer; the next pass confirms the run.
    PutOff,
    /// It arrives; its answer is lost.
    AnswerLost,
    /// It never arrives.
    Dropped,
    /// Its sender gives up; it arrives later.
    Delayed,
}

impl Checked {
    /// Replaces the status, with the resourceVersion that the pass began with. Returns true if that was still
    /// the present one.
    pub(crate) fn put(
        &self,
        world: &mut World,
        index: usize,
        status: StatusId,
        change: Option<Change>,
    ) -> bool {
        let Some(mut pass) = world.workers[index].pass.take() else {
            return false;
        };
        let blind = self.setup.mutant == Mutant::NoPrecondition;
        let present = pass.version == world.runnable.version || blind;
        if !present || pass.knowledge.owner != world.runnable.owner {
            world.workers[index].pass = Some(pass);
            return false;
        }
        judge::write(self, world, &pass.knowledge, status, change);
        // The status has one owner: its last writer.
        world.runnable.marked = false;
        world.runnable.noted = false;
        world.runnable.status = status;
        world.touch();
        pass.version = world.runnable.version;
        pass.prompt = true;
        pass.has_written = true;
        let worker = &mut world.workers[index];
        let (stored, version) = (
            self.decisions.pool.stored(status),
            world.runnable.version.to_string(),
        );
        self.decisions
            .remember(self.setup.mutant, &mut worker.memory, |state| {
                state.wrote_status(&stored, &version);
            });
        worker.pass = Some(pass);
        true
    }

    /// Stops a run. An engine ends it at any time, if at all; or it is deleted, unless it has changed since
    /// it was seen at work.
    pub(crate) fn stop(&self, world: &mut World, index: usize, uid: Uid) {
        judge::stop(self, world, uid);
        if let Some(run) = world.runs.get_mut(usize::from(uid))
            && run.is_there()
        {
            run.make.told = true;
            if self.setup.stop_deletes && run.result.is_none() {
                run.presence = Presence::Deleted;
            }
        }
        let worker = &mut world.workers[index];
        worker.memory.told.push(uid);
        if let Some(pass) = &mut worker.pass {
            pass.knowledge.told.push(uid);
        }
    }

    /// Decides the fate of a create on the wire.
    pub(crate) fn deliver(&self, world: &mut World, request: usize, fate: Fate) {
        let Request {
            sender,
            make,
            endless,
        } = world.wire.remove(request);
        let arrives = matches!(fate, Fate::Answered | Fate::PutOff | Fate::AnswerLost);
        let outcome = if arrives {
            self.arrive(world, make)
        } else {
            Outcome::Unknown
        };
        self.send_again(world, make, fate, endless);
        world.wire.sort_unstable();
        let Some(sender) = sender else { return };
        let worker = &mut world.workers[usize::from(sender)];
        let Some(pass) = &mut worker.pass else { return };
        if self.setup.mutant == Mutant::ConfirmSkipped {
            worker.pass = None;
            worker.woken = true;
            return;
        }
        let answered = matches!(fate, Fate::Answered | Fate::PutOff);
        if let Outcome::Created(shown) = outcome
            && answered
        {
            worker.memory.made = Some(shown);
        }
        if let (Fate::PutOff, Outcome::Created(shown)) = (fate, outcome) {
            worker.memory.unconfirmed = Some(shown);
            worker.pass = None;
            worker.woken = true;
            return;
        }
        pass.knowledge.created = Some(if answered { outcome } else { Outcome::Unknown });
        pass.stage = Stage::Deciding;
    }

    /// Puts what is left of a create after its fate back on the wire.
    fn send_again(&self, world: &mut World, make: Make, fate: Fate, endless: bool) {
        if fate == Fate::Delayed {
            world.wire.push(Request {
                sender: None,
                make,
                endless,
            });
        }
        if self.setup.mutant == Mutant::CreateRetried
            && !matches!(fate, Fate::Answered | Fate::PutOff)
            && !endless
        {
            world.wire.push(Request {
                sender: None,
                make,
                endless: true,
            });
        }
    }

    fn arrive(&self, world: &mut World, mut make: Make) -> Outcome {
        if world.forbidden {
            return Outcome::Refused;
        }
        if self.setup.mutant == Mutant::GenerateName {
            make.name = self.random_name(make, world.runs.len());
        }
        if world.holder(make.name).is_some() {
            return Outcome::Exists;
        }
        judge::arrive(self, world, &make);
        let uid = Self::add_run(world, Run::new(make));
        let result = None;
        Outcome::Created(Shown { uid, make, result })
    }

    /// Adds an object.
    pub(crate) fn add_run(world: &mut World, run: Run) -> Uid {
        let uid = Uid::try_from(world.runs.len()).unwrap_or(Uid::MAX);
        world.runs.push(run);
        for worker in &mut world.workers {
            worker.seen.push(crate::world::Seen::default());
        }
        uid
    }

    /// Returns a name that no other object has.
    pub(crate) fn random_name(&self, make: Make, number: usize) -> crate::pool::NameId {
        let pool = &self.decisions.pool;
        let rendered = &self.decisions.cast.document(make.document).rendered;
        pool.name(&cartouche_protocol::ledger::RunName {
            api_version: rendered.api_version().to_owned(),
            kind: rendered.kind().to_owned(),
            name: format!("run-random{number}"),
        })
    }

    /// Performs the next delete of a pass that has settled, with the uid as its precondition.
    pub(crate) fn retire_one(&self, world: &mut World, index: usize) {
        let Some(pass) = &mut world.workers[index].pass else {
            return;
        };
        let Stage::Retiring(runs) = &mut pass.stage else {
            return;
        };
        let uid = usize::from(runs.remove(0));
        if world.runs[uid].is_there() {
            judge::retire(self, world, uid);
            world.runs[uid].presence = Presence::Retired;
        }
    }

    /// Delivers all events of the watches of runs.
    pub(crate) fn hear(&self, world: &mut World, index: usize) {
        let wanted = world.workers[index].memory.kinds;
        let first = wanted & !world.workers[index].complete;
        for uid in 0..world.runs.len() {
            let run = world.runs[uid];
            let kind = self.decisions.cast.kind(run.make.document);
            if wanted >> kind & 1 == 0 {
                continue;
            }
            let listed = first >> kind & 1 == 1;
            let known = world.workers[index].seen[uid].known;
            match (run.is_there(), listed) {
                (true, _) if known != Known::Exists(run.result) => {
                    self.show(world, index, uid, false);
                }
                (false, true) => world.workers[index].seen[uid].known = Known::Gone,
                (false, false) if known != Known::Gone => self.show(world, index, uid, true),
                (true, _) | (false, false) => {}
            }
        }
        let worker = &mut world.workers[index];
        worker.woken |= first != 0;
        worker.complete |= wanted;
    }

    /// Replaces lost events of the watches of runs by a new list, which has the existing runs but not the
    /// deletions.
    pub(crate) fn list_anew(&self, world: &mut World, index: usize) {
        for uid in 0..world.runs.len() {
            let run = world.runs[uid];
            let kind = self.decisions.cast.kind(run.make.document);
            let worker = &mut world.workers[index];
            if worker.complete >> kind & 1 == 0 {
                continue;
            }
            if run.is_there() {
                self.show(world, index, uid, false);
                continue;
            }
            let seen = &mut worker.seen[uid];
            if matches!(seen.known, Known::Exists(_)) {
                seen.cached_run = seen.cached_run.filter(|(_, deleted)| *deleted);
                worker.woken = true;
            }
            seen.known = Known::Gone;
        }
    }

    /// Delivers one event of the watch; see `show` of the controller's `watch/runs.rs`.
    fn show(&self, world: &mut World, index: usize, uid: usize, deleted: bool) {
        let run = world.runs[uid];
        let worker = &mut world.workers[index];
        let seen = &mut worker.seen[uid];
        seen.known = if deleted {
            Known::Gone
        } else {
            Known::Exists(run.result)
        };
        let Some(cached) = worker.cache.filter(|cached| cached.owner == run.make.owner) else {
            return;
        };
        let shown = Shown {
            uid: Uid::try_from(uid).unwrap_or(Uid::MAX),
            make: run.make,
            result: run.result,
        };
        let cached_run = Some((run.result, deleted));
        if !self.decisions.matters(cached.status, &shown) {
            return;
        }
        let news = seen.cached_run != cached_run;
        seen.cached_run = cached_run;
        let as_made = self.consume_create_echo(&mut worker.memory, cached.status, &shown, deleted);
        worker.woken |= news && !as_made;
    }

    /// Returns true if the pass that made this run knows everything that the watch shows of it.
    fn consume_create_echo(
        &self,
        memory: &mut Memory,
        status: StatusId,
        shown: &Shown,
        deleted: bool,
    ) -> bool {
        // Saves the comparison where nothing was made.
        if memory.made.is_none() {
            return false;
        }
        let Some(seen) = self.decisions.seen(status, shown, deleted) else {
            return false;
        };
        let ignored = self.setup.mutant == Mutant::SightsIgnored
            && memory.made.is_some_and(|made| made.uid == shown.uid);
        ignored
            || self.decisions.remember(self.setup.mutant, memory, |state| {
                state.consume_create_echo(&seen)
            })
    }

    /// Returns true if a watch of runs has anything to deliver.
    pub(crate) fn has_news(&self, world: &World, index: usize) -> bool {
        let worker = &world.workers[index];
        let wanted = worker.memory.kinds;
        let late = |(run, seen): (&Run, &crate::world::Seen)| {
            let kind = self.decisions.cast.kind(run.make.document);
            wanted >> kind & 1 == 1
                && if run.is_there() {
                    seen.known != Known::Exists(run.result)
                } else {
                    seen.known != Known::Gone
                }
        };
        worker.complete & wanted != wanted || world.runs.iter().zip(&worker.seen).any(late)
    }

    /// Returns true if a create for this name may still arrive.
    pub(crate) fn is_outstanding(&self, world: &World, make: &Make) -> bool {
        let awaited = |status| {
            let stored = self.decisions.pool.stored(status);
            stored.current_run.as_ref().is_some_and(|current| {
                current.phase != cartouche_crds::RunPhase::Created
                    && current.sequence == i64::from(make.number)
            })
        };
        world
            .wire
            .iter()
            .any(|request| request.make.name == make.name)
            || world.workers.iter().any(|worker| {
                worker.pass.as_ref().is_some_and(|pass| {
                    pass.prompt
                        && pass.knowledge.owner == make.owner
                        && awaited(pass.knowledge.stored)
                })
            })
    }
}
