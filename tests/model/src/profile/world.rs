//! A state of the model: the Runnable, the profiles, the runs, and the workers.

use super::cast::{ApprovalId, LedgerId, ObjectId};

/// Profiles that there may be.
pub const PROFILES: usize = 2;

/// The Runnable as it is stored, or as a cache has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stored {
    /// Its resourceVersion.
    pub version: u8,
    /// Its inputs.
    pub input: u8,
    /// The request to choose anew; 0 for none.
    pub request: u8,
    /// What a person has written to approve a run.
    pub approved: Option<ApprovalId>,
    /// Whether a controller has written its status.
    pub is_served: bool,
    /// What its status says of runs.
    pub ledger: LedgerId,
}

/// For which Runnables a profile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// For none.
    Nobody,
    /// For all, with the lowest rank.
    Anybody,
    /// For those of the template, with a higher one.
    OfTemplate,
}

/// A profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Profile {
    /// Its generation.
    pub generation: u8,
    /// Its rule.
    pub rule: Rule,
}

/// All profiles, by number.
pub type Profiles = [Option<Profile>; PROFILES];

/// A run that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run {
    /// Its uid.
    pub uid: u8,
    /// What it is.
    pub object: ObjectId,
}

/// The run that a number was given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Given {
    /// Its inputs.
    pub input: u8,
    /// The pin that was written with it.
    pub pin: Option<Pin>,
}

/// The run that a person has seen, and approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Approved {
    /// Its number.
    pub number: u8,
    /// Its inputs.
    pub input: u8,
    /// The profile that it was to be made with, by number and generation.
    pub profile: Option<(u8, u8)>,
}

/// What a Runnable is pinned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pin {
    /// The profile.
    pub profile: u8,
    /// The request that its choice answers; 0 for none.
    pub request: u8,
}

/// What became of a create.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// The run was made.
    Made(Run),
    /// There is one of that name.
    Exists,
}

/// What a worker knows in a look.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that have nothing to do with each other"
)]
pub struct Known {
    /// The Runnable, and after each write what was written.
    pub own: Stored,
    /// The profiles.
    pub profiles: Profiles,
    /// The runs that the watch shows.
    pub seen: Vec<Run>,
    /// No create can be on its way.
    pub is_settled: bool,
    /// The template was read consistently.
    pub is_consistent: bool,
    /// Runs by a list.
    pub listed: Option<Vec<Run>>,
    /// Runs by their numbers, as far as their names were read.
    pub read: Vec<(u8, Option<Run>)>,
    /// Who wrote the ledger was read.
    pub knows_writer: bool,
    /// What became of the create.
    pub answer: Option<Answer>,
    /// It has written the ledger itself.
    pub has_written: bool,
    /// Nothing can be done about a new run.
    pub is_stuck: bool,
}

/// Why the ledger changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Change {
    /// A number is given.
    Intent,
    /// The profile was chosen anew.
    Refresh,
    /// It was made out of the runs.
    Rebuild,
    /// Anything else.
    Record,
}

/// What is to be done next, and has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// The ledger is written.
    Write(LedgerId, Change),
    /// A create is sent.
    Send(ObjectId),
    /// It arrives.
    Arrive(ObjectId),
}

/// A look under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pass {
    /// What is known.
    pub known: Known,
    /// What comes next.
    pub effect: Effect,
}

/// One controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Worker {
    /// The Runnable, as cached.
    pub cache: Stored,
    /// The profiles, as cached.
    pub profiles: Profiles,
    /// How many runs the watch has shown.
    pub seen: usize,
    /// The look under way.
    pub pass: Option<Pass>,
}

/// What may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Left {
    /// Changes of profiles and their rules.
    pub profiles: u8,
    /// Requests to choose anew.
    pub requests: u8,
    /// Changes of the inputs.
    pub inputs: u8,
    /// Approvals of what would be made, before everything else is at rest.
    pub approvals: u8,
    /// Statuses that are lost.
    pub wipes: u8,
    /// Crashes of a worker.
    pub crashes: u8,
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The Runnable.
    pub stored: Stored,
    /// The profiles.
    pub profiles: Profiles,
    /// The runs, in the order in which they were made.
    pub runs: Vec<Run>,
    /// Creates of nobody who still waits for an answer.
    pub wire: Vec<ObjectId>,
    /// The controllers.
    pub workers: Vec<Worker>,
    /// What each number was given for, from 1 on.
    pub given: Vec<Given>,
    /// What a person has approved, in order.
    pub approved: Vec<Approved>,
    /// The pin is one that only a run names.
    pub is_unproven: bool,
    /// What may still happen.
    pub left: Left,
    /// Properties that were broken, as bits of `judge`.
    pub broken: u8,
}
