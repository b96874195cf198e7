//! Debounce of changes.

use std::time::Duration;

/// Number of pauses after which a change that never stays the same runs anyway.
const MOST_PAUSES: u32 = 10;

/// Age of the pending change, as far as this process knows. It starts anew after a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settling {
    /// Time for which the document and the request have stayed the same.
    pub same_for: Duration,
    /// Time for which changes have been pending without a break, whatever they were.
    pub held_for: Duration,
}

impl Settling {
    /// Returns the time for which the change still has to stay the same, out of `pause` in all. Zero once it did,
    /// or once changes were held back for [as long as they may be](Self::longest).
    #[must_use]
    pub fn time_left(&self, pause: Duration) -> Duration {
        let same = pause.saturating_sub(self.same_for);
        same.min(Self::longest(pause).saturating_sub(self.held_for))
    }

    /// Returns the longest time for which changes are held back.
    #[must_use]
    pub fn longest(pause: Duration) -> Duration {
        pause.saturating_mul(MOST_PAUSES)
    }
}
