//! Plans: a scenario in which one chosen request of the controller, or one event sent to it, is broken in one
//! chosen way.
//!
//! The plans are not written down anywhere. A scenario is played once without faults, the requests of the
//! controller are recorded, and each of them is broken in every way that fits it. So the list follows the
//! code. A plan holds if the API server's audit log ([`record`]) ends up the same as without the fault: the
//! same runs were made, the same were deleted, and the status is the same.

pub mod campaign;
mod held;
pub mod minutes;
mod own_kind;
pub mod plan;
pub mod record;
mod rights;
mod runs;
pub mod scenario;
pub mod stage;
pub mod strangers;
pub mod table;
