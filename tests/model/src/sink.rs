//! An object that outputs are written to, checked: every order in which runs end, caches catch up, two
//! workers look and users interfere, against the real rule of `protocol/src/sinks.rs` and the real reading
//! and making of the object.
//!
//! # What a step is
//! A look of a worker begins with the Runnable out of its cache, which may be of any age, and with a run that
//! has ended. Then it reads the sink, reads the Runnable again, writes the sink, and writes the status: each
//! a step of its own, and a crash may come between any two.
//!
//! # What must hold
//! - "back": a sink never has the outputs of an older run than before, unless the ledger was restored and has
//!   never given that number (K1).
//! - "another's": an object that is not of this Runnable is never written and never deleted (K1).
//! - "told": the status never records outputs in a sink that were not written there.
//! - "follows": when all is quiet, the sink has the outputs that the status has, or is gone if it is no
//!   longer wanted, or its name is another's.
//!
//! # What is abstract
//! The making of runs is for the rest of this crate: here they are given. Of the contents only the number of
//! the run counts. Refused requests leave a sink as it is, as a crash does. The half minute after which a
//! missing sink is forgotten passes only while no worker is about to make it. The one after which a sink that
//! is ahead is reset passes only while no worker is about to record the run of its number.

pub mod catalogue;
pub mod model;
pub mod mutant;
mod object;
mod worker;
pub mod world;

pub use model::SinkModel;
