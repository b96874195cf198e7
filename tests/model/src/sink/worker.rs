//! A look of a worker, step by step.

use cartouche_protocol::sinks::{SinkOwner, SinkVerdict, Wanted, may_write};

use super::{
    model::SinkModel,
    mutant::Mutant,
    object,
    world::{Object, Pass, RUNS, Stage, Stored, World},
};

/// A sink has outputs of an older run than before.
pub(super) const BACK: u8 = 1;
/// A foreign object was written or deleted.
pub(super) const ANOTHERS: u8 = 2;
/// The status has a record that was never written.
pub(super) const TOLD: u8 = 4;

impl SinkModel {
    /// Begins a look, if the cache shows anything to do.
    pub(super) fn look(&self, world: &mut World, worker: usize) {
        let own = world.workers[worker].cache;
        let mut next = own;
        // The run is read consistently.
        let ended = (own.outputs + 1..=own.current).rev();
        let ended = ended.map(usize::from).filter(|number| *number <= RUNS);
        if let Some(newest) = ended.map(|it| (it, world.ended[it])).find(|it| it.1) {
            next.outputs = u8::try_from(newest.0).unwrap_or_default();
        }
        if own.wants && !own.named {
            next = Stored { named: true, ..own };
            if self.setup.mutant != Mutant::Unnamed {
                world.workers[worker].pass = Some(Pass {
                    own,
                    next,
                    found: None,
                    stage: Stage::WriteStatus,
                });
                return;
            }
        }
        if own.wants && next.outputs > 0 || !own.wants && own.named || next != own {
            let first = if self.setup.mutant == Mutant::StatusFirst {
                next.told = if own.wants { next.outputs } else { 0 };
                Stage::WriteStatus
            } else {
                Stage::ReadSink
            };
            world.workers[worker].pass = Some(Pass {
                own,
                next,
                found: None,
                stage: first,
            });
        }
    }

    /// Performs the next step of a look.
    pub(super) fn step(&self, world: &mut World, worker: usize) {
        let Some(mut pass) = world.workers[worker].pass else {
            return;
        };
        let goes_on = match pass.stage {
            Stage::ReadSink => {
                pass.found = world.object;
                pass.stage = match self.setup.mutant {
                    Mutant::LedgerUnread => Stage::WriteSink,
                    _ => Stage::ReadAgain,
                };
                true
            }
            Stage::ReadAgain => {
                pass.stage = Stage::WriteSink;
                world.stored.version == pass.own.version
            }
            Stage::WriteSink => {
                let is_written = self.write_sink(world, &mut pass);
                pass.stage = Stage::WriteStatus;
                is_written && self.setup.mutant != Mutant::StatusFirst
            }
            Stage::WriteStatus => self.write_status(world, &mut pass),
        };
        world.workers[worker].pass = goes_on.then_some(pass);
    }

    /// Writes the sink. Returns true if the look continues.
    fn write_sink(&self, world: &mut World, pass: &mut Pass) -> bool {
        let ledger = object::ledger(pass.next);
        let found = pass.found.and_then(|it| object::found(it, &ledger));
        let mut holder = found.as_ref().map_or(SinkOwner::Absent, |it| it.holder);
        if self.setup.mutant == Mutant::OwnerUnread && holder == SinkOwner::Another {
            holder = SinkOwner::Ours(0);
        }
        if !pass.next.wants {
            if holder == SinkOwner::Absent && self.may_land(world) {
                return false;
            }
            if matches!(holder, SinkOwner::Ours(_)) {
                // The sink is deleted as it was read. It is forgotten once it is seen to be gone.
                if world.object.is_some() && world.object != pass.found {
                    return false;
                }
                world.judge_touch(0);
                world.object = None;
                pass.next.named = self.setup.mutant != Mutant::Hasty;
            } else {
                pass.next.named = false;
            }
            pass.next.told = 0;
            return true;
        }
        let Some(from) = &ledger.outputs_from else {
            return true;
        };
        let number = pass.next.outputs;
        let is_held = found
            .as_ref()
            .is_some_and(|it| it.content == object::content(number));
        let mut wanted = Wanted::new(&ledger, from, is_held);
        if let SinkVerdict::Newer(has) = may_write(holder, wanted) {
            wanted.is_waited_out = self.is_waited_out(world, has);
        }
        let verdict = may_write(holder, wanted);
        let verdict = match (verdict, self.setup.mutant) {
            (SinkVerdict::Newer(_), Mutant::NewerUnheeded) => SinkVerdict::Replace,
            (SinkVerdict::Overwrite(has), Mutant::NeverOverwritten) => SinkVerdict::Newer(has),
            (verdict, _) => verdict,
        };
        match verdict {
            SinkVerdict::Leave => pass.next.told = number,
            SinkVerdict::Newer(has) => pass.next.told = u8::try_from(has).unwrap_or_default(),
            SinkVerdict::NotOurs => pass.next.told = 0,
            SinkVerdict::Create | SinkVerdict::Replace | SinkVerdict::Overwrite(_) => {
                let is_as_read = world.object == pass.found;
                if !is_as_read && self.setup.mutant != Mutant::NoResourceVersion {
                    return false;
                }
                world.judge_touch(number);
                world.count += 1;
                let uid = world.object.map_or(world.count, |it| it.uid);
                let (sequence, content) = object::sent(found.as_ref(), number);
                world.object = Some(Object {
                    uid,
                    version: world.count,
                    is_ours: true,
                    sequence,
                    content,
                });
                world.written = world.written.max(number);
                pass.next.told = number;
            }
        }
        true
    }

    /// Returns true if half a minute may have passed, because no worker is about to record the run of this
    /// number, and that run is seen to have given nothing.
    fn is_waited_out(&self, world: &World, number: i64) -> bool {
        let number = u8::try_from(number).unwrap_or_default();
        let passes = world.workers.iter().filter_map(|worker| worker.pass);
        let is_recorded =
            |pass: Pass| pass.stage == Stage::WriteStatus && pass.next.outputs >= number;
        match self.setup.mutant {
            Mutant::AheadForEver => false,
            Mutant::Impatient => true,
            _ => !world.ended[usize::from(number)] && !passes.into_iter().any(is_recorded),
        }
    }

    /// Returns true if half a minute cannot have passed yet, because a worker is about to make the sink.
    fn may_land(&self, world: &World) -> bool {
        let passes = world.workers.iter().filter_map(|worker| worker.pass);
        let mut writing = passes.filter(|pass| pass.stage == Stage::WriteSink && pass.own.wants);
        self.setup.mutant != Mutant::Hasty && writing.next().is_some()
    }

    /// Writes the status. Returns true if the look continues.
    fn write_status(&self, world: &mut World, pass: &mut Pass) -> bool {
        if pass.own == pass.next {
            return self.after_status(pass);
        }
        if world.stored.version != pass.own.version {
            return false;
        }
        if pass.next.told > world.written {
            world.broken |= TOLD;
        }
        world.stored = Stored {
            version: pass.own.version + 1,
            ..pass.next
        };
        (pass.own, pass.next) = (world.stored, world.stored);
        self.after_status(pass)
    }

    fn after_status(&self, pass: &mut Pass) -> bool {
        pass.stage = Stage::ReadSink;
        self.setup.mutant == Mutant::StatusFirst
    }
}

impl World {
    /// Judges a worker that is about to write the outputs of this number to the object, or to delete it.
    fn judge_touch(&mut self, number: u8) {
        let Some(object) = self.object else {
            return;
        };
        if !object.is_ours {
            self.broken |= ANOTHERS;
        }
        let was_given =
            object.sequence <= self.stored.current && self.ended[usize::from(object.sequence)];
        if number > 0 && object.is_ours && number < object.sequence && was_given {
            self.broken |= BACK;
        }
    }
}
