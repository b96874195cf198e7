//! A mistake in the pace of statuses.

use cartouche_protocol::pace::WriteTime;

use super::{Mutant, makes};

/// Returns the time at which a status is written.
pub(crate) fn due(due: WriteTime) -> WriteTime {
    match due {
        WriteTime::After(_) if makes(Mutant::WordsAtOnce) => WriteTime::Now,
        due => due,
    }
}
