//! Deliberate mistakes that the check must catch.

/// One mistake, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mutant {
    /// The code as it is.
    #[default]
    None,
    /// The sink is written whatever has become of it.
    NoResourceVersion,
    /// Whatever has the name counts as ours.
    OwnerUnread,
    /// The status is written before the sink.
    StatusFirst,
    /// The Runnable is not read again before the sink is written.
    LedgerUnread,
    /// A sink with newer outputs counts as one with older ones.
    NewerUnheeded,
    /// The sink is made before the status names it.
    Unnamed,
    /// A sink that is not there is forgotten at once.
    Hasty,
    /// A sink of a number that was never given stays as it is.
    NeverOverwritten,
    /// A sink that is ahead stays as it is, whoever has made it so.
    AheadForEver,
    /// A sink that is ahead is put back though its run has given what it has.
    Impatient,
}
