//! Explores a configuration, and finds shortest counter-examples.

use std::{
    collections::{HashSet, VecDeque},
    fmt::Debug,
    hash::Hash,
    time::{Duration, Instant},
};

use stateright::{Checker, HasDiscoveries, Model};

use crate::{configuration::Configuration, model::Checked, pool::hashed};

/// What can be explored: a model of which a fresh one, that knows nothing yet, can be had at any time.
pub trait Explored:
    Model<
        State: Clone + Debug + Hash + PartialEq + Send + Sync,
        Action: Copy + Debug + PartialEq + Send + Sync,
    > + Sized
    + Send
    + Sync
    + 'static
{
    /// What it is made from.
    type Setup: Clone;

    /// A model of which nothing is known yet.
    fn fresh(setup: Self::Setup) -> Self;

    /// What the setup is called.
    fn name(setup: &Self::Setup) -> &'static str;
}

impl Explored for Checked {
    type Setup = Configuration;

    fn fresh(setup: Configuration) -> Self {
        Self::new(setup)
    }

    fn name(setup: &Configuration) -> &'static str {
        setup.name
    }
}

/// How far to explore.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// States at most.
    pub states: usize,
    /// Threads.
    pub threads: usize,
}

/// What was found.
#[derive(Debug)]
pub struct Finding<M = Checked> {
    /// The configuration's name.
    pub name: &'static str,
    /// Different states.
    pub states: usize,
    /// Steps to the farthest of them.
    pub depth: usize,
    /// How long it took.
    pub time: Duration,
    /// Whether every state was explored.
    pub exhausted: bool,
    /// Broken properties.
    pub broken: Vec<&'static str>,
    /// The states that were explored, for counter-examples.
    pub model: M,
}

/// Explores until something is broken, all is explored, or the limit is reached.
#[must_use]
pub fn explore<M: Explored>(setup: M::Setup, limits: Limits) -> Finding<M> {
    let began = Instant::now();
    let name = M::name(&setup);
    let checker = M::fresh(setup.clone())
        .checker()
        .threads(limits.threads)
        .target_state_count(limits.states)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let mut broken: Vec<&'static str> = checker.discoveries().into_keys().collect();
    broken.sort_unstable();
    Finding {
        name,
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        time: began.elapsed(),
        exhausted: broken.is_empty() && checker.state_count() < limits.states,
        broken,
        model: M::fresh(setup),
    }
}

/// One way to break a property.
#[derive(Debug)]
pub struct CounterExample<A = crate::model::Action> {
    /// The property.
    pub property: &'static str,
    /// The actions, from the first state on.
    pub actions: Vec<A>,
}

/// A shortest way to break any property.
#[must_use]
pub fn shortest<M: Explored>(model: &M) -> Option<CounterExample<M::Action>> {
    let properties = model.properties();
    let mut came: Vec<(usize, Option<M::Action>)> = Vec::new();
    let mut met = HashSet::new();
    let mut next: VecDeque<(usize, M::State)> = VecDeque::new();
    for world in model.init_states() {
        met.insert(hashed(&world));
        came.push((0, None));
        next.push_back((came.len() - 1, world));
    }
    let mut actions = Vec::new();
    while let Some((at, world)) = next.pop_front() {
        let broken = properties
            .iter()
            .find(|property| !(property.condition)(model, &world));
        if let Some(property) = broken {
            let actions = path(&came, at);
            let property = property.name;
            return Some(CounterExample { property, actions });
        }
        model.actions(&world, &mut actions);
        for action in actions.drain(..) {
            if let Some(world) = model.next_state(&world, action)
                && met.insert(hashed(&world))
            {
                came.push((at, Some(action)));
                next.push_back((came.len() - 1, world));
            }
        }
    }
    None
}

fn path<A: Copy>(came: &[(usize, Option<A>)], mut at: usize) -> Vec<A> {
    let mut actions = Vec::new();
    while let (before, Some(action)) = came[at] {
        actions.push(action);
        at = before;
    }
    actions.reverse();
    actions
}
