//! Explores a configuration, and finds shortest counter-examples.

use std::{
    collections::{HashSet, VecDeque},
    fmt::Debug,
    hash::Hash,
    time::{Duration, Instant},
};

use stateright::{Checker, HasDiscoveries, Model};

use crate::{configuration::Configuration, model::Checked, pool::hashed};

/// An explorable model: its setup can make a fresh one, without any knowledge, at any time.
pub trait Explored:
    Model<
        State: Clone + Debug + Hash + PartialEq + Send + Sync,
        Action: Copy + Debug + PartialEq + Send + Sync,
    > + Sized
    + Send
    + Sync
    + 'static
{
    /// Configuration of the model.
    type Setup: Clone;

    /// Returns a model without any knowledge.
    fn fresh(setup: Self::Setup) -> Self;

    /// Returns the name of a setup.
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

/// Limits of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of states.
    pub states: usize,
    /// Number of threads.
    pub threads: usize,
}

/// Result of an exploration.
#[derive(Debug)]
pub struct Finding<M = Checked> {
    /// The configuration's name.
    pub name: &'static str,
    /// Number of different states.
    pub states: usize,
    /// Steps to the farthest of them.
    pub depth: usize,
    /// Duration.
    pub time: Duration,
    /// True if every state was explored.
    pub exhausted: bool,
    /// Broken properties.
    pub broken: Vec<&'static str>,
    /// The explored model, for counter-examples.
    pub model: M,
}

/// Explores until a property is broken, all is explored, or the limit is reached.
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

/// A sequence of actions that breaks a property.
#[derive(Debug)]
pub struct CounterExample<A = crate::model::Action> {
    /// The property.
    pub property: &'static str,
    /// The actions, from the first state on.
    pub actions: Vec<A>,
}

/// Returns a shortest way to break any property.
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
