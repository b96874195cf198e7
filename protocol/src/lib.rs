//! The protocol by which Cartouche makes each run exactly once. It turns the facts about a Runnable
//! into a decision, the next ledger, and a status.
//!
//! Pure: no client, no runtime, and the time is an argument. The controller carries out the
//! decisions; the model checks every order in which it may.

pub mod advice;
pub mod category;
pub mod compiled;
pub mod decide;
pub mod evaluate;
pub mod facts;
pub mod ledger;
pub mod managed_fields;
pub mod messages;
pub mod newer_release;
pub mod object;
pub mod pace;
pub mod permissions;
pub mod policy;
pub mod process_state;
pub mod profiles;
pub mod references;
pub mod rerun;
pub mod retention;
pub mod sinks;
pub mod sourced_inputs;
pub mod sources;
pub mod status;
pub mod trace;
