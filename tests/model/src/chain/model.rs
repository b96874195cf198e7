//! The model for stateright: first states, actions, properties.

use std::{
    collections::HashMap,
    sync::{Arc, RwLock},
};

use cartouche_crds::RunnableStatus;
use cartouche_protocol::sources::Provenance;
use stateright::{Model, Property};

use super::{
    judge,
    quiet::{Broken, Order},
    setup::{Left, Setup},
    worker::Next,
    world::{A, B, C, Ghost, Kept, Stored, Who, WordId, Worker, World},
};
use crate::{explore::Explored, settling::Verdicts};

/// A chain, ready to be explored.
#[derive(Debug)]
pub struct Chain {
    /// The explored configuration.
    pub setup: Setup,
    pub(super) kept: Kept,
    pub(super) decided: RwLock<HashMap<u64, Arc<Next>>>,
    pub(super) verdicts: Verdicts,
}

/// A possible next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A gets its next input.
    Change,
    /// A run ends.
    Finish(usize, bool),
    /// A worker's cache takes over a Runnable.
    Observe(usize, Who),
    /// A worker looks at a Runnable.
    Look(usize, Who),
    /// A worker reads the next source.
    Read(usize),
    /// A worker writes its decision.
    Write(usize),
    /// A user requests another run of A.
    Rerun,
    /// C is suspended, or resumed.
    Suspend(bool),
    /// The status of B is lost.
    Lose,
    /// A is edited to read D, or not to read it any more.
    Edit(bool),
}

impl Explored for Chain {
    type Setup = Setup;

    fn fresh(setup: Setup) -> Self {
        Self {
            setup,
            kept: Kept::default(),
            decided: RwLock::default(),
            verdicts: Verdicts::default(),
        }
    }

    fn name(setup: &Setup) -> &'static str {
        setup.name
    }
}

impl Chain {
    fn first_world(&self) -> World {
        let nothing = Stored {
            version: 0,
            generation: 1,
            input: 0,
            token: 0,
            suspended: false,
            looped: false,
            status: self.kept.status(&RunnableStatus::default()),
            provenance: self.kept.provenance(&Provenance::default()),
            word: WordId::default(),
            given: 0,
        };
        let stored = vec![nothing; self.setup.shape.size()];
        let worker = Worker {
            cache: stored.clone(),
            pass: None,
        };
        let mut world = World {
            stored,
            runs: Vec::new(),
            workers: vec![worker; usize::from(self.setup.workers)],
            left: Left::default(),
            ghost: Ghost::default(),
        };
        if self.setup.has_run {
            self.play(&mut world, Order::Forth);
            world.ghost.broken = 0;
        }
        world.left = self.setup.left;
        world.squeeze();
        world
    }

    fn push_worker_actions(&self, world: &World, index: usize, actions: &mut Vec<Action>) {
        let worker = &world.workers[index];
        for (who, stored) in world.stored.iter().enumerate() {
            if worker.cache[who] != *stored {
                actions.push(Action::Observe(index, who));
            }
            if worker.pass.is_none() {
                actions.push(Action::Look(index, who));
            }
        }
        if let Some(pass) = &worker.pass {
            let is_read = pass.read.len() == self.reads(pass.of, &pass.own).len();
            actions.push(if is_read {
                Action::Write(index)
            } else {
                Action::Read(index)
            });
        }
    }

    fn happen(&self, world: &mut World, action: Action) {
        match action {
            Action::Change => edited(&mut world.stored[A], |own| own.input += 1),
            Action::Finish(run, succeeds) => {
                world.left.failures -= u8::from(!succeeds);
                self.finish(world, run, succeeds);
            }
            Action::Observe(worker, who) => world.workers[worker].cache[who] = world.stored[who],
            Action::Look(worker, who) => self.look(world, worker, who),
            Action::Read(worker) => {
                self.read(world, worker);
            }
            Action::Write(worker) => self.write_pass(world, worker),
            Action::Rerun => {
                world.left.reruns -= 1;
                world.stored[A].token += 1;
                world.stored[A].version += 1;
            }
            Action::Suspend(suspended) => {
                world.left.suspensions -= u8::from(suspended);
                edited(&mut world.stored[C], |own| own.suspended = suspended);
            }
            Action::Lose => self.lose(world),
            Action::Edit(looped) => {
                world.left.edits -= u8::from(looped);
                edited(&mut world.stored[A], |own| own.looped = looped);
            }
        }
    }

    fn lose(&self, world: &mut World) {
        world.left.losses -= 1;
        world.ghost.root[B] = None;
        let own = &mut world.stored[B];
        own.status = self.kept.status(&RunnableStatus::default());
        own.provenance = self.kept.provenance(&Provenance::default());
        own.word = WordId::default();
        own.version += 1;
    }
}

/// Changes the spec.
pub(super) fn edited(own: &mut Stored, edit: impl FnOnce(&mut Stored)) {
    edit(own);
    own.generation += 1;
    own.version += 1;
}

impl Model for Chain {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![self.first_world()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.ghost.broken != 0 {
            return;
        }
        for index in 0..world.workers.len() {
            self.push_worker_actions(world, index, actions);
        }
        for (index, run) in world.runs.iter().enumerate() {
            if run.result.is_none() {
                actions.push(Action::Finish(index, true));
                if world.left.failures > 0 {
                    actions.push(Action::Finish(index, false));
                }
            }
        }
        let (left, a) = (&world.left, &world.stored[A]);
        let suspended = world.stored.get(C).is_some_and(|it| it.suspended);
        let others = [
            (
                usize::from(a.input) + 1 < self.setup.inputs.len(),
                Action::Change,
            ),
            (left.reruns > 0, Action::Rerun),
            (left.suspensions > 0 && !suspended, Action::Suspend(true)),
            (suspended, Action::Suspend(false)),
            (left.losses > 0, Action::Lose),
            (left.edits > 0 && !a.looped, Action::Edit(true)),
            (a.looped, Action::Edit(false)),
        ];
        actions.extend(others.iter().filter(|(may, _)| *may).map(|(_, one)| *one));
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut world = last.clone();
        self.happen(&mut world, action);
        world.squeeze();
        (world != *last).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("C1", |_, world: &World| world.ghost.broken & judge::C1 == 0),
            Property::always("C2", |_, world: &World| world.ghost.broken & judge::C2 == 0),
            Property::always("C3", |_, world: &World| world.ghost.broken & judge::C3 == 0),
            Property::always("once", |_, world: &World| {
                world.ghost.broken & judge::ONCE == 0
            }),
            Property::always("held", |_, world: &World| {
                world.ghost.broken & judge::HELD == 0
            }),
            Property::always("fresh", |_, world: &World| {
                world.ghost.broken & judge::FRESH == 0
            }),
            Property::always("still", |_, world: &World| {
                world.ghost.broken & judge::STILL == 0
            }),
            Property::always("C4", judge::tells_the_truth),
            Property::always("C5", |model: &Self, world| model.rests(world, Broken::C5)),
            Property::always("comes to rest", |model: &Self, world| {
                model.rests(world, Broken::Restless)
            }),
        ]
    }
}
