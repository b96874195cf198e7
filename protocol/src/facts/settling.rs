//! For how long a change is known.

use std::time::Duration;

/// What changes again and again runs after so many times as long.
const MOST_PAUSES: u32 = 10;

/// For how long what is due has been that, as far as this process knows: after a restart that begins anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settling {
    /// The same document and request.
    pub same_for: Duration,
    /// Anything, be it one change after another.
    pub held_for: Duration,
}

impl Settling {
    /// How long it still has to stay the same, where it has to for `pause` in all. Nothing once it did, or once changes were
    /// held back for [as long as they may be](Self::longest).
    #[must_use]
    pub fn left(&self, pause: Duration) -> Duration {
        let same = pause.saturating_sub(self.same_for);
        same.min(Self::longest(pause).saturating_sub(self.held_for))
    }

    /// How long changes are held back at most.
    #[must_use]
    pub fn longest(pause: Duration) -> Duration {
        pause.saturating_mul(MOST_PAUSES)
    }
}
