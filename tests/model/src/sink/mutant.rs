//! Deliberate mistakes that the check must catch.

/// One mistake, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mutant {
    /// The unmodified code.
    #[default]
    None,
    /// The sink is written even if it has changed since it was read.
    NoResourceVersion,
    /// Any object with the name counts as ours.
    OwnerUnread,
    /// The status is written before the sink.
    StatusFirst,
    /// The Runnable is not read again before the sink is written.
    LedgerUnread,
    /// A sink with newer outputs counts as one with older ones.
    NewerUnheeded,
    /// The sink is made before the status names it.
    Unnamed,
    /// A missing sink is forgotten at once.
    Hasty,
    /// A sink of a number that was never given stays as it is.
    NeverOverwritten,
    /// A sink that is ahead stays as it is, regardless of its writer.
    AheadForEver,
    /// A sink that is ahead is reset although its run has given its content.
    Impatient,
}
