//! A state of the model: the Runnable, the profiles, the runs, and the workers.

use super::cast::{ApprovalId, LedgerId, ObjectId};

/// Maximum number of profiles.
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
    /// The approval that a user has written.
    pub approved: Option<ApprovalId>,
    /// True if a controller has written its status.
    pub is_served: bool,
    /// The ledger of its status.
    pub ledger: LedgerId,
}

/// The Runnables that a profile is for.
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

/// An existing run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run {
    /// Its uid.
    pub uid: u8,
    /// Its object.
    pub object: ObjectId,
}

/// A run that a number was given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Given {
    /// Its inputs.
    pub input: u8,
    /// The pin that was written with it.
    pub pin: Option<Pin>,
}

/// A run that a user has seen and approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Approved {
    /// Its number.
    pub number: u8,
    /// Its inputs.
    pub input: u8,
    /// The profile that the user saw, by number and generation.
    pub profile: Option<(u8, u8)>,
}

/// The pin of a Runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pin {
    /// The profile.
    pub profile: u8,
    /// The request that its choice answers; 0 for none.
    pub request: u8,
}

/// The outcome of a create.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// The run was made.
    Made(Run),
    /// A run of that name exists.
    Exists,
}

/// A worker's knowledge in a look.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that have nothing to do with each other"
)]
pub struct Known {
    /// The Runnable, with the worker's own writes.
    pub own: Stored,
    /// The profiles.
    pub profiles: Profiles,
    /// The runs that the watch shows.
    pub seen: Vec<Run>,
    /// True if no create can be on its way.
    pub is_settled: bool,
    /// True if the template was read consistently.
    pub is_consistent: bool,
    /// Runs from a list.
    pub listed: Option<Vec<Run>>,
    /// Runs by their numbers, as far as their names were read.
    pub read: Vec<(u8, Option<Run>)>,
    /// True if the writer of the ledger was read.
    pub knows_writer: bool,
    /// The outcome of the create.
    pub answer: Option<Answer>,
    /// True if the worker has written the ledger itself.
    pub has_written: bool,
    /// True if no new run can be made.
    pub is_stuck: bool,
}

/// The reason of a change of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Change {
    /// A number is given.
    Intent,
    /// The profile was chosen anew.
    Refresh,
    /// The ledger was rebuilt from the runs.
    Rebuild,
    /// Anything else.
    Record,
}

/// The next step that has an effect.
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
    /// The worker's knowledge.
    pub known: Known,
    /// The next step.
    pub effect: Effect,
}

/// One controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Worker {
    /// The Runnable, as cached.
    pub cache: Stored,
    /// The profiles, as cached.
    pub profiles: Profiles,
    /// Number of runs that the watch has shown.
    pub seen: usize,
    /// The look under way.
    pub pass: Option<Pass>,
}

/// Events that may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Left {
    /// Changes of profiles and their rules.
    pub profiles: u8,
    /// Requests to choose anew.
    pub requests: u8,
    /// Changes of the inputs.
    pub inputs: u8,
    /// Approvals of the run that would be made, before everything else is at rest.
    pub approvals: u8,
    /// Losses of the status.
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
    /// Creates whose sender no longer waits for an answer.
    pub wire: Vec<ObjectId>,
    /// The controllers.
    pub workers: Vec<Worker>,
    /// The content that each number was given for, from 1 on.
    pub given: Vec<Given>,
    /// The approvals of the user, in order.
    pub approved: Vec<Approved>,
    /// True if only a run names the pin.
    pub is_unproven: bool,
    /// Events that may still happen.
    pub left: Left,
    /// Broken properties, as bits of `judge`.
    pub broken: u8,
}
