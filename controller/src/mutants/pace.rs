//! A mistake in the pace of statuses.

use cartouche_protocol::pace::Due;

use super::{Mutant, makes};

/// Returns the time at which a status is written.
pub(crate) fn due(due: Due) -> Due {
    match due {
        Due::After(_) if makes(Mutant::WordsAtOnce) => Due::Now,
        due => due,
    }
}
