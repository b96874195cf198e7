//! The model for stateright: first states, actions, properties.

use std::fmt::Write as _;

use cartouche_crds::RunPhase;
use cartouche_protocol::ledger::Ledger;
use stateright::{Model, Property};

use super::{
    cast::Cast,
    judge::{APPROVED, P1, P2, P3, PINNED, PROOF},
    mutant::Mutant,
    world::{Effect, Left, Profile, Profiles, Rule, Stored, Worker, World},
};
use crate::explore::{CounterExample, Explored};

/// Rounds of a fair schedule after which workers count as keeping each other busy.
const ROUNDS: usize = 12;
/// Maximum number of steps of one look.
const STEPS: usize = 20;

/// Configuration of an exploration.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its name.
    pub name: &'static str,
    /// The rules of the first profiles.
    pub rules: [Option<Rule>; 2],
    /// Number of workers.
    pub workers: usize,
    /// Events that may happen.
    pub left: Left,
    /// True if each run needs approval.
    pub approval: bool,
    /// The deliberate mistake.
    pub mutant: Mutant,
}

/// A Runnable and its profiles, ready to be explored.
#[derive(Debug)]
pub struct ProfileModel {
    /// The explored configuration.
    pub setup: Setup,
    pub(super) cast: Cast,
}

/// A possible next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A profile changes, or is deleted.
    Profile(usize, Option<Profile>),
    /// A user requests to choose anew.
    Request,
    /// A user changes the inputs.
    Input,
    /// A user approves the run that would be made.
    Approve,
    /// The ledger is lost.
    Wipe,
    /// A worker's cache takes over the Runnable.
    Observe(usize),
    /// A worker's cache takes over the profiles.
    ObserveProfiles(usize),
    /// A worker's cache takes over the runs.
    ObserveRuns(usize),
    /// A worker begins a look.
    Look(usize),
    /// A worker proceeds with its look.
    Step(usize),
    /// A worker crashes.
    Crash(usize),
    /// A create arrives whose sender has crashed.
    Arrive(usize),
    /// A create whose sender has crashed never arrives.
    Lose(usize),
}

impl Explored for ProfileModel {
    type Setup = Setup;

    fn fresh(setup: Setup) -> Self {
        Self {
            cast: Cast::new(setup.approval),
            setup,
        }
    }

    fn name(setup: &Setup) -> &'static str {
        setup.name
    }
}

/// Returns every step of a counter-example.
#[must_use]
pub fn story(model: &ProfileModel, example: &CounterExample<Action>) -> String {
    let mut world = model.first_world();
    let mut told = String::new();
    for action in &example.actions {
        model.happen(&mut world, *action);
        let ledger = model.cast.ledger(world.stored.ledger);
        let current = ledger.current.as_ref();
        let current = current.map(|it| (it.sequence, it.phase));
        let (pinned, runs) = (&ledger.profile, &world.runs);
        let runs = runs.iter().map(|run| model.cast.identity(run.object));
        let runs: Vec<_> = runs
            .map(|run| (run.sequence, run.profile.map(|it| it.version.to_string())))
            .collect();
        let _ = writeln!(told, "  {action:?}: {current:?}, {pinned:?}, {runs:?}");
    }
    told
}

impl ProfileModel {
    fn first_world(&self) -> World {
        let stored = Stored {
            version: 1,
            input: 0,
            request: 0,
            approved: None,
            is_served: false,
            ledger: self.cast.keep_ledger(&Ledger::default()),
        };
        let profile = |rule: Option<Rule>| {
            rule.map(|rule| Profile {
                generation: 1,
                rule,
            })
        };
        let profiles = self.setup.rules.map(profile);
        let worker = Worker {
            cache: stored,
            profiles,
            seen: 0,
            pass: None,
        };
        World {
            stored,
            profiles,
            runs: Vec::new(),
            wire: Vec::new(),
            workers: vec![worker; self.setup.workers],
            given: Vec::new(),
            approved: Vec::new(),
            is_unproven: false,
            left: self.setup.left,
            broken: 0,
        }
    }

    fn happen(&self, world: &mut World, action: Action) {
        match action {
            Action::Profile(number, profile) => {
                world.left.profiles -= 1;
                world.profiles[number] = profile;
            }
            Action::Request => {
                world.left.requests -= 1;
                world.stored.request += 1;
                world.stored.version += 1;
            }
            Action::Input => {
                world.left.inputs -= 1;
                world.stored.input ^= 1;
                world.stored.version += 1;
            }
            Action::Approve => {
                world.left.approvals -= 1;
                self.approve(world);
            }
            Action::Wipe => {
                world.left.wipes -= 1;
                world.stored.ledger = self.cast.keep_ledger(&Ledger::default());
                world.stored.version += 1;
            }
            Action::Observe(worker) => world.workers[worker].cache = world.stored,
            Action::ObserveProfiles(worker) => world.workers[worker].profiles = world.profiles,
            Action::ObserveRuns(worker) => world.workers[worker].seen = world.runs.len(),
            Action::Look(worker) => {
                self.look(world, worker);
            }
            Action::Step(worker) => {
                self.step(world, worker);
            }
            Action::Crash(worker) => {
                world.left.crashes -= 1;
                let pass = world.workers[worker].pass.take();
                if let Some(Effect::Arrive(object)) = pass.map(|pass| pass.effect) {
                    world.wire.push(object);
                    world.wire.sort_unstable();
                }
            }
            Action::Arrive(create) => {
                let object = world.wire.remove(create);
                self.arrive(world, object);
            }
            Action::Lose(create) => {
                world.wire.remove(create);
            }
        }
        world.workers.sort_unstable();
    }

    /// Approves the run that would be made next, or for the number that was given, by the present state.
    fn approve(&self, world: &mut World) {
        if let Some((seen, text)) = self.approvable(world)
            && world.stored.approved != Some(text)
        {
            world.stored.approved = Some(text);
            world.stored.version += 1;
            world.approved.push(seen);
        }
    }

    /// Returns true if a fair schedule comes to rest with everything as it should be.
    fn rests(&self, world: &World) -> bool {
        if world.broken != 0 {
            return true;
        }
        let mut world = world.clone();
        while let Some(object) = world.wire.pop() {
            self.arrive(&mut world, object);
        }
        for _ in 0..ROUNDS {
            let before = (world.stored, world.runs.len());
            let mut is_held = false;
            self.approve(&mut world);
            for worker in 0..world.workers.len() {
                self.finish(&mut world, worker);
                let caught_up = &mut world.workers[worker];
                caught_up.cache = world.stored;
                caught_up.profiles = world.profiles;
                caught_up.seen = world.runs.len();
                is_held = self.look(&mut world, worker);
            }
            let is_quiet = world.workers.iter().all(|it| it.pass.is_none());
            if is_quiet && before == (world.stored, world.runs.len()) {
                return self.is_right(&world, is_held);
            }
        }
        false
    }

    fn finish(&self, world: &mut World, worker: usize) {
        for _ in 0..STEPS {
            if world.workers[worker].pass.is_none() {
                return;
            }
            self.step(world, worker);
        }
    }

    fn is_right(&self, world: &World, is_held: bool) -> bool {
        let ledger = self.cast.ledger(world.stored.ledger);
        let mut runs = world.runs.iter();
        let are_known = runs.all(|run| ledger.knows(&format!("uid-{}", run.uid)));
        let is_made = ledger.current.as_ref().is_some_and(|current| {
            let given = usize::try_from(current.sequence - 1).ok();
            let given = given.and_then(|number| world.given.get(number));
            current.phase == RunPhase::Created
                && given.is_some_and(|given| given.input == world.stored.input)
        });
        are_known && (is_made || is_held)
    }
}

/// Returns the possible changes of profiles.
fn changes(profiles: Profiles) -> Vec<Action> {
    let rules = [Rule::Nobody, Rule::Anybody, Rule::OfTemplate];
    let mut changes = Vec::new();
    for (number, profile) in profiles.iter().enumerate() {
        let generation = profile.map_or(1, |profile| profile.generation + 1);
        let others = rules.map(|rule| Some(Profile { generation, rule }));
        let gone = profile.is_some().then_some(None);
        let becomes = others.into_iter().chain(gone);
        changes.extend(becomes.map(|profile| Action::Profile(number, profile)));
    }
    changes
}

impl Model for ProfileModel {
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
            let is_looking = worker.pass.is_some();
            let may = [
                (worker.cache != world.stored, Action::Observe(index)),
                (
                    worker.profiles != world.profiles,
                    Action::ObserveProfiles(index),
                ),
                (worker.seen != world.runs.len(), Action::ObserveRuns(index)),
                (!is_looking, Action::Look(index)),
                (is_looking, Action::Step(index)),
                (is_looking && world.left.crashes > 0, Action::Crash(index)),
            ];
            actions.extend(may.iter().filter(|(may, _)| *may).map(|(_, one)| *one));
        }
        let creates = 0..world.wire.len();
        actions.extend(creates.flat_map(|it| [Action::Arrive(it), Action::Lose(it)]));
        let left = &world.left;
        if left.profiles > 0 {
            actions.extend(changes(world.profiles));
        }
        let has_ledger = self.cast.ledger(world.stored.ledger).current.is_some();
        let others = [
            (left.requests > 0, Action::Request),
            (left.inputs > 0, Action::Input),
            (left.approvals > 0, Action::Approve),
            (left.wipes > 0 && has_ledger, Action::Wipe),
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
            Property::always("P1", |_, world: &World| world.broken & P1 == 0),
            Property::always("P2", |_, world: &World| world.broken & P2 == 0),
            Property::always("P3", |_, world: &World| world.broken & P3 == 0),
            Property::always("pinned", |_, world: &World| world.broken & PINNED == 0),
            Property::always("proof", |_, world: &World| world.broken & PROOF == 0),
            Property::always("approved", |_, world: &World| world.broken & APPROVED == 0),
            Property::always("rests", |model: &Self, world| model.rests(world)),
        ]
    }
}
