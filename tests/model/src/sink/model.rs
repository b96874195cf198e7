//! The model for stateright: first states, actions, properties.

use std::fmt::Write as _;

use stateright::{Model, Property};

use super::{
    mutant::Mutant,
    worker::{ANOTHERS, BACK, TOLD},
    world::{Left, Object, RUNS, Stored, Worker, World},
};
use crate::explore::{CounterExample, Explored};

/// Rounds of a fair schedule after which workers count as keeping each other busy.
const ROUNDS: usize = 12;

/// Configuration of an exploration.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its name.
    pub name: &'static str,
    /// Events that may happen.
    pub left: Left,
    /// True if the status names the sink from the beginning.
    pub named: bool,
    /// The deliberate mistake.
    pub mutant: Mutant,
}

/// A sink, ready to be explored.
#[derive(Debug)]
pub struct SinkModel {
    /// The explored configuration.
    pub setup: Setup,
}

/// A possible next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A new run begins.
    Begin,
    /// A run succeeds.
    End(usize),
    /// A worker's cache takes over the Runnable.
    Observe(usize),
    /// A worker begins a look.
    Look(usize),
    /// A worker proceeds with its look.
    Step(usize),
    /// A worker crashes.
    Crash(usize),
    /// A user deletes the sink.
    Delete,
    /// Another client makes an object of its name.
    Intrude,
    /// The Runnable is edited to want the sink, or not to.
    Edit,
    /// The ledger is restored to the first run, and the others are gone.
    Restore,
    /// A user gives the sink the number of the current run, which has not written to it.
    Forge,
}

impl Explored for SinkModel {
    type Setup = Setup;

    fn fresh(setup: Setup) -> Self {
        Self { setup }
    }

    fn name(setup: &Setup) -> &'static str {
        setup.name
    }
}

/// Returns every step of a counter-example.
#[must_use]
pub fn story(model: &SinkModel, example: &CounterExample<Action>) -> String {
    let mut world = model.first_world();
    let mut told = String::new();
    for action in &example.actions {
        model.happen(&mut world, *action);
        let (stored, object) = (&world.stored, &world.object);
        let _ = writeln!(told, "  {action:?}: {stored:?}, {object:?}");
    }
    told
}

impl SinkModel {
    fn first_world(&self) -> World {
        let stored = Stored {
            version: 1,
            wants: true,
            current: 1,
            outputs: 0,
            named: self.setup.named,
            told: 0,
        };
        let worker = Worker {
            cache: stored,
            pass: None,
        };
        World {
            stored,
            ended: [false; RUNS + 1],
            object: None,
            count: 0,
            workers: vec![worker; 2],
            left: self.setup.left,
            broken: 0,
            written: 0,
        }
    }

    fn happen(&self, world: &mut World, action: Action) {
        match action {
            Action::Begin => {
                world.left.runs -= 1;
                world.stored.current += 1;
                world.stored.version += 1;
            }
            Action::End(number) => world.ended[number] = true,
            Action::Observe(worker) => world.workers[worker].cache = world.stored,
            Action::Look(worker) => self.look(world, worker),
            Action::Step(worker) => self.step(world, worker),
            Action::Crash(worker) => {
                world.left.crashes -= 1;
                world.workers[worker].pass = None;
            }
            Action::Delete => {
                world.left.deletions -= 1;
                world.object = None;
            }
            Action::Intrude => {
                world.left.strangers -= 1;
                world.count += 1;
                world.object = Some(Object {
                    uid: world.count,
                    version: world.count,
                    is_ours: false,
                    sequence: 1,
                    content: 99,
                });
            }
            Action::Edit => {
                world.left.edits -= 1;
                world.stored.wants = !world.stored.wants;
                world.stored.version += 1;
            }
            Action::Restore => {
                world.left.restores -= 1;
                let version = world.stored.version + 1;
                world.stored = Stored {
                    version,
                    current: 1,
                    outputs: world.stored.outputs.min(1),
                    told: world.stored.told.min(1),
                    ..world.stored
                };
                world.ended[2..].fill(false);
            }
            Action::Forge => {
                world.left.forgeries -= 1;
                world.count += 1;
                let current = world.stored.current;
                world.object = world.object.map(|object| Object {
                    version: world.count,
                    sequence: current,
                    ..object
                });
            }
        }
        world.workers.sort_unstable();
    }

    /// Returns true if a fair schedule comes to rest with the sink as it should be.
    fn follows(&self, world: &World) -> bool {
        if world.broken != 0 {
            return true;
        }
        let mut world = world.clone();
        for _ in 0..ROUNDS {
            let before = (world.stored, world.object);
            for worker in 0..world.workers.len() {
                for _ in 0..2 {
                    while world.workers[worker].pass.is_some() {
                        self.step(&mut world, worker);
                        if self.is_at_rest(&world, worker) {
                            world.workers[worker].pass = None;
                        }
                    }
                    world.workers[worker].cache = world.stored;
                    self.look(&mut world, worker);
                }
            }
            if before == (world.stored, world.object) {
                return is_right(&world);
            }
        }
        false
    }

    /// Returns true for a worker with the mistake [`Mutant::StatusFirst`] that has read the sink. It reads
    /// the sink after each write of the status: one such look is enough.
    fn is_at_rest(&self, world: &World, worker: usize) -> bool {
        let pass = world.workers[worker].pass;
        self.setup.mutant == Mutant::StatusFirst && pass.is_some_and(|it| it.found.is_some())
    }
}

fn is_right(world: &World) -> bool {
    let stored = &world.stored;
    match world.object {
        Some(object) if !object.is_ours => true,
        // Without outputs the sink may have anything.
        Some(_) if stored.wants && stored.outputs == 0 => true,
        Some(object) => {
            let has = object.sequence == object.content && object.sequence == stored.outputs;
            stored.wants && has && stored.told == stored.outputs
        }
        None => !stored.wants || stored.outputs == 0,
    }
}

impl Model for SinkModel {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![self.first_world()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.broken != 0 {
            return;
        }
        for (index, worker) in world.workers.iter().enumerate() {
            if worker.cache != world.stored {
                actions.push(Action::Observe(index));
            }
            if worker.pass.is_none() {
                actions.push(Action::Look(index));
                continue;
            }
            actions.push(Action::Step(index));
            if world.left.crashes > 0 {
                actions.push(Action::Crash(index));
            }
        }
        let current = usize::from(world.stored.current);
        let ends = (1..=current).filter(|number| !world.ended[*number]);
        actions.extend(ends.map(Action::End));
        let left = &world.left;
        let is_behind = |it: Object| it.is_ours && it.sequence < world.stored.current;
        let others = [
            (left.runs > 0 && current < RUNS, Action::Begin),
            (left.deletions > 0 && world.object.is_some(), Action::Delete),
            (
                left.strangers > 0 && world.object.is_none(),
                Action::Intrude,
            ),
            (left.edits > 0, Action::Edit),
            (left.restores > 0 && current > 1, Action::Restore),
            (
                left.forgeries > 0 && world.object.is_some_and(is_behind),
                Action::Forge,
            ),
        ];
        actions.extend(others.iter().filter(|(may, _)| *may).map(|(_, one)| *one));
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut world = last.clone();
        self.happen(&mut world, action);
        (world != *last).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("back", |_, world: &World| world.broken & BACK == 0),
            Property::always("another's", |_, world: &World| world.broken & ANOTHERS == 0),
            Property::always("told", |_, world: &World| world.broken & TOLD == 0),
            Property::always("follows", |model: &Self, world| model.follows(world)),
        ]
    }
}
