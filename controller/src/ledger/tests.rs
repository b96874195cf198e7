//! The transitions of the ledger, one by one, and what holds after any of them.

mod intent;
mod laws;
mod outcome;
mod rebuild;
pub(crate) mod sample;
