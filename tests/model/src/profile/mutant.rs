//! Deliberate mistakes that the check must catch.

/// One mistake, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mutant {
    /// The code as it is.
    #[default]
    None,
    /// What the profile says is part of what is hashed.
    InHash,
    /// The pin is not written with the intent.
    Unwritten,
    /// A ledger that was lost is made anew without the pin.
    NotRebuilt,
    /// The profile is chosen again for a create that is repeated.
    ChosenAgain,
    /// The pin that a run names counts as one that the status has.
    Believed,
    /// A request is followed while a run is on its way.
    RefreshedWhilePending,
    /// The request that a choice answers is not written.
    TokenForgotten,
    /// The profile is chosen anew for each run.
    Followed,
    /// Of several that match, the first is taken.
    TieIgnored,
    /// What was approved is compared when the number is given, and not again before the create.
    ComparedOnce,
    /// A run that may have been made is not looked for, though no create is sent since its profile is gone.
    NotLookedFor,
}
