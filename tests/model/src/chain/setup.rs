//! Configuration of an exploration: the chain, and the events that may happen to it.

use cartouche_protocol::sources::WaitFor;

use super::mutant::Mutant;

/// Shape of the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// B reads A.
    Pair,
    /// B and C read A, and D reads both.
    #[default]
    Diamond,
    /// B reads A, C reads B, and D reads C.
    Line,
}

impl Shape {
    /// Returns its number of Runnables.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Pair => 2,
            Self::Diamond | Self::Line => 4,
        }
    }
}

/// Number of events that may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Left {
    /// Runs that fail.
    pub failures: u8,
    /// Re-runs of A that a user requests.
    pub reruns: u8,
    /// Suspensions of C.
    pub suspensions: u8,
    /// Losses of the status of B.
    pub losses: u8,
    /// Edits of A to read D, which makes a cycle.
    pub edits: u8,
}

/// One configuration.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its name.
    pub name: &'static str,
    /// Its shape.
    pub shape: Shape,
    /// Inputs of A, one after the other, from 0 to 2. B does not distinguish 1 from 2.
    pub inputs: Vec<u8>,
    /// True if everything has run for the first input already.
    pub has_run: bool,
    /// Workers at once.
    pub workers: u8,
    /// Further events that may happen.
    pub left: Left,
    /// True if each read of a source is a step.
    pub by_requests: bool,
    /// The policy by which D waits for its sources.
    pub wait_for: WaitFor,
    /// The mistake.
    pub mutant: Mutant,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            name: "",
            shape: Shape::Diamond,
            inputs: vec![0, 1],
            has_run: true,
            workers: 1,
            left: Left::default(),
            by_requests: false,
            wait_for: WaitFor::Settled,
            mutant: Mutant::None,
        }
    }
}
