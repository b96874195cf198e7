//! What is explored: which chain, and what may happen to it.

use cartouche_protocol::sources::WaitFor;

use super::mutant::Mutant;

/// Who reads whom.
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
    /// How many Runnables it has.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Pair => 2,
            Self::Diamond | Self::Line => 4,
        }
    }
}

/// How often things may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Left {
    /// Runs that fail.
    pub failures: u8,
    /// Re-runs of A that somebody asks for.
    pub reruns: u8,
    /// How often C is suspended.
    pub suspensions: u8,
    /// How often the status of B is lost.
    pub losses: u8,
    /// How often A is edited to read D, which makes a cycle.
    pub edits: u8,
}

/// One configuration.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What it is called.
    pub name: &'static str,
    /// Who reads whom.
    pub shape: Shape,
    /// What A is given, one after the other, from 0 to 2. B does not tell 1 from 2.
    pub inputs: Vec<u8>,
    /// Whether everything has run for the first input already.
    pub has_run: bool,
    /// Workers at once.
    pub workers: u8,
    /// What else may happen.
    pub left: Left,
    /// Each read of a source is a step.
    pub by_requests: bool,
    /// What D waits for.
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
