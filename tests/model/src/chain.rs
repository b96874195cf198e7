//! Chains, checked: A gives to B and C, and D reads both; or each reads the previous one. Explores every
//! order in which inputs change, runs end, caches catch up and workers reconcile, against the real rules of
//! `protocol/src/sources.rs`.
//!
//! The model of one Runnable (the rest of this crate) has shown that an intended run is made once. So here a
//! run is made and confirmed together with its intent, and recorded when it ends. The ledger is still the
//! real one, and so is the status that others read. The model explores what lies between Runnables: at which
//! revisions of its sources a run is intended, and its recorded provenance.
//!
//! # What a step is
//! A look of a worker at a Runnable first uses what its cache shows of the sources; to hold, or to find no
//! pending change, costs no read. Otherwise it reads the sources consistently, in one step or
//! ([`Setup::by_requests`](setup::Setup)) each in one. It writes its decision in a step of its own, with the
//! resourceVersion that the look began with. The Runnable itself is never stale: a write would be refused.
//!
//! # What must hold
//! - C1: at each intent every traced ancestor has one revision.
//! - C2: no run is intended while a value is missing.
//! - C3: none on a cycle, as far as its sources and the cache show.
//! - C4: a rendering of the recorded provenance of a run, or of the outputs, gives that run.
//! - C5: when all is quiet, each Runnable has run for its present inputs and reports so, or reports truly why
//!   not.
//! - "once": a Runnable below A never has more runs than A has given different outputs.
//! - "held": none is intended beside a source that is at work, or has not observed its own spec, nor beside
//!   one further up that is, as far as the cache shows.
//! - "fresh": an intent never goes back behind what an earlier one has read.
//! - "still": a run that gives what the previous one gave moves nothing.
//! - "comes to rest": the workers do not keep each other busy.
//!
//! C5 and the last one are judged at the end of fair schedules, from every state.
//!
//! # What is abstract
//! Wake-ups: every worker may look at everything at any time. Refused reads, sources that are no Runnables,
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
