//! A look of a worker, step by step.

use super::{
    cast::ApprovalId,
    decisions::Next,
    model::ProfileModel,
    world::{Answer, Approved, Effect, Known, Pass, Profiles, Run, Stored, World},
};

/// Maximum number of reads of one look.
const READS: usize = 20;

impl ProfileModel {
    /// Begins a look with the content of the caches. Returns true if it ends without a usable profile.
    pub(super) fn look(&self, world: &mut World, index: usize) -> bool {
        let is_settled = !may_arrive(world);
        let worker = &world.workers[index];
        let seen = world.runs[..worker.seen].to_vec();
        let known = Known {
            is_settled,
            ..Known::at_first(worker.cache, worker.profiles, seen)
        };
        self.go_on(world, index, known)
    }

    /// Returns the content that a user sees and approves, of the run that would be made in the present state,
    /// and the text of the approval.
    pub(super) fn approvable(&self, world: &World) -> Option<(Approved, ApprovalId)> {
        if !self.setup.approval {
            return None;
        }
        let known = Known::at_first(world.stored, world.profiles, world.runs.clone());
        self.cast.approvable(&known)
    }

    /// Decides and reads, up to the next effect. Returns true if the look ends before that without a usable
    /// profile.
    fn go_on(&self, world: &mut World, index: usize, mut known: Known) -> bool {
        let mut is_held = false;
        for _ in 0..READS {
            match self.cast.next(&known, self.setup.mutant) {
                Next::Render if !known.is_consistent => known.is_consistent = true,
                Next::List => known.listed = Some(world.runs.clone()),
                Next::Read(number) => {
                    let run = world.runs.iter().copied();
                    let mut run = run.filter(|it| self.number(*it) == Some(number));
                    known.read.retain(|(read, _)| *read != number);
                    known.read.push((number, run.next()));
                    known.read.sort_unstable();
                }
                Next::ReadWriter => known.knows_writer = true,
                Next::Do(effect) => {
                    world.workers[index].pass = Some(Pass { known, effect });
                    return is_held;
                }
                Next::Stuck(by_profile) if !known.is_stuck => {
                    is_held = by_profile;
                    known.is_stuck = true;
                }
                Next::Render | Next::Stuck(_) | Next::Rest => break,
            }
        }
        world.workers[index].pass = None;
        is_held
    }

    fn number(&self, run: Run) -> Option<u8> {
        let sequence = self.cast.identity(run.object).sequence?;
        u8::try_from(sequence).ok()
    }

    /// Performs the next step of a look. Returns true if it ends then without a usable profile.
    pub(super) fn step(&self, world: &mut World, index: usize) -> bool {
        let Some(Pass { mut known, effect }) = world.workers[index].pass.take() else {
            return false;
        };
        let is_latest = world.stored.version == known.own.version;
        match effect {
            Effect::Write(ledger, change) => {
                if !is_latest {
                    return false;
                }
                world.judge_write(&self.cast, &known, ledger, change);
                world.stored.version += 1;
                world.stored.is_served = true;
                world.stored.ledger = ledger;
                known.own = world.stored;
                known.has_written = true;
                self.go_on(world, index, known)
            }
            Effect::Send(object) => {
                // A worker that has just written the ledger knows that it is the latest.
                if is_latest || known.has_written {
                    let effect = Effect::Arrive(object);
                    world.workers[index].pass = Some(Pass { known, effect });
                }
                false
            }
            Effect::Arrive(object) => {
                known.answer = Some(self.arrive(world, object));
                self.go_on(world, index, known)
            }
        }
    }

    /// Delivers a create to the API server.
    pub(super) fn arrive(&self, world: &mut World, object: super::cast::ObjectId) -> Answer {
        let name = self.cast.identity(object).name;
        let mut runs = world.runs.iter();
        if runs.any(|run| self.cast.identity(run.object).name == name) {
            return Answer::Exists;
        }
        let uid = u8::try_from(world.runs.len() + 1).unwrap_or(u8::MAX);
        let run = Run { uid, object };
        world.runs.push(run);
        world.judge_made(&self.cast, object);
        Answer::Made(run)
    }
}

impl Known {
    /// Returns the knowledge from caches.
    fn at_first(own: Stored, profiles: Profiles, seen: Vec<Run>) -> Self {
        Self {
            own,
            profiles,
            seen,
            is_settled: false,
            is_consistent: false,
            listed: None,
            read: Vec::new(),
            knows_writer: false,
            answer: None,
            has_written: false,
            is_stuck: false,
        }
    }
}

/// Returns true if a create can be on its way, or can still be sent by a worker that has just written its
/// entry.
fn may_arrive(world: &World) -> bool {
    let mut passes = world.workers.iter().filter_map(|it| it.pass.as_ref());
    let is_sent = |pass: &Pass| match pass.effect {
        Effect::Arrive(_) => true,
        Effect::Send(_) => pass.known.has_written,
        Effect::Write(..) => false,
    };
    !world.wire.is_empty() || passes.any(is_sent)
}
