//! Chains, checked: A gives to B and C, and D reads both; or each reads the one before. Every order in which inputs change, runs end, caches catch up
//! and workers look, against the real rules of `protocol/src/sources.rs`.
//!
//! The model of one Runnable (the rest of this crate) has shown that a run that is intended is made once. So here a run is
//! made and confirmed together with its intent, and recorded when it ends; the ledger is the real one all the same, and so is
//! the status that others read. What is explored is what lies between Runnables: at which revisions of its sources a run is
//! intended, and what it is said to be made from.
//!
//! # What a step is
//! A look of a worker at a Runnable asks first by what its cache shows of the sources; to hold, or to find nothing due, costs no
//! read. Else it reads the sources consistently, in one step or ([`Setup::by_requests`](setup::Setup)) each in one, and what it
//! then decides is written in a step of its own, with the resourceVersion that the look began with. What it looks at itself is
//! never stale: a write would be refused.
//!
//! # What must hold
//! - C1: at each intent every traced ancestor has one revision.
//! - C2: no run is intended while a value is missing.
//! - C3: none on a cycle, as far as its sources and the cache show.
//! - C4: what the ledger says a run, and the outputs, were made from is what a rendering of just that gives.
//! - C5: when all is quiet, each Runnable has run for what is there and says so, or names truly why not.
//! - "once": a Runnable below A never has more runs than A has given different outputs.
//! - "held": none is intended beside a source that is at work, or has not looked at its own spec, nor beside one further up that is, as
//!   far as the cache shows.
//! - "fresh": an intent never goes back behind what an earlier one has read.
//! - "still": a run that gives what the one before gave moves nothing.
//! - "comes to rest": the workers do not keep each other busy.
//!
//! C5 and the last one are judged at the end of fair schedules, from every state.
//!
//! # What is abstract
//! Who is woken by what: every worker may look at everything at any time. Reads that are refused, sources that are no Runnables,
//! and sinks do not occur. The hash stands for the document.

pub mod catalogue;
mod judge;
mod known;
pub mod model;
pub mod mutant;
pub mod picture;
mod quiet;
mod runs;
pub mod setup;
mod worker;
pub mod world;

pub use model::Chain;
