//! Tests of each transition of the ledger, and of the laws that hold after any of them.

#![allow(
    clippy::wildcard_imports,
    reason = "the samples are the words that these tests are written in"
)]

mod edges;
mod intent;
mod laws;
mod outcome;
mod profile;
mod rebuild;
pub(crate) mod sample;
mod unknown_fields;
