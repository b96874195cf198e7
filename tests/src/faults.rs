//! Plans: a scenario in which one chosen request of the controller, or one event that it is sent, is
//! broken in one chosen way.
//!
//! The plans are not written down anywhere: a scenario is played once without faults, what the
//! controller asks for is recorded, and each of these requests is broken in every way that fits it.
//! So the list follows the code. A plan holds if the API server's own record ([`record`]) ends up the
//! same as without the fault: the same runs were made, the same were deleted, and the status says
//! the same.

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
