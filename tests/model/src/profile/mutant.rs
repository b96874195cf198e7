//! Deliberate mistakes that the check must catch.

/// One mistake, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mutant {
    /// The unmodified code.
    #[default]
    None,
    /// The content of the profile is part of the hash.
    InHash,
    /// The pin is not written with the intent.
    Unwritten,
    /// A lost ledger is rebuilt without the pin.
    NotRebuilt,
    /// The profile is chosen again for a repeated create.
    ChosenAgain,
    /// The pin that a run names counts as one in the status.
    Believed,
    /// A request is followed while a run is on its way.
    RefreshedWhilePending,
    /// The request that a choice answers is not written.
    TokenForgotten,
    /// The profile is chosen anew for each run.
    Followed,
    /// Of several matching profiles, the first is taken.
    TieIgnored,
    /// The approval is compared when the number is given, and not again before the create.
    ComparedOnce,
    /// The worker does not look for a run that may have been made, because its profile is gone and no create
    /// is sent.
    NotLookedFor,
}
