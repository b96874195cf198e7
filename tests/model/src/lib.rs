//! Exactly once, checked: every order of faults, requests and looks at caches, against the real code.
//!
//! The decisions about runs are pure functions (`decide`, `ledger`, `status`, `retention`, `process_state`).
//! This model calls those very functions with real facts: real rendered documents, real objects, real
//! statuses. It adds the world around them: an API server, one or two workers, and everything that can go
//! wrong between them. [stateright](https://www.stateright.rs) then explores every order of steps.
//!
//! # What a step is
//! A pass of a worker ([`worker`](crate) is the loop of `controller/src/reconcile.rs`) is split at each
//! request that has an effect: a write of the status, a create that is sent, a create that arrives, a delete.
//! With [`Configuration::coarse`](configuration::Configuration::coarse) off, reads are steps of their own,
//! too. Taking over the Runnable, the template or the runs into a cache is a step: between these steps a
//! cache may be of any age. A crash loses a worker's memory and watches, and leaves its cache as it was, as
//! if an API server that lags had answered its first list.
//!
//! # What can go wrong
//! Two workers at once; crashes; creates that are lost, delayed, or answered by silence; writes whose answer
//! is lost; rights that are taken away; users and TTLs that delete runs; watches that lose events; a status
//! that is lost, or restored from a backup; a Runnable that is created anew; the original controller's runs,
//! before us and beside us; a hash of another version; a full history; time; foreign objects under the name
//! of a run, and templates that give every run the same name; users who suspend and resume.
//!
//! # What must hold
//! S1 to S5 and L1 of `docs/concepts/exactly-once.md`, and L2: no run of ours stays unknown to the ledger. L1 and L2
//! are judged at the end of fair schedules that are played from every state. A schedule without an end is an
//! error of its own ("comes to rest"), which would reveal two workers that keep each other busy. While a
//! Runnable is suspended no intent takes effect, and no worker that has read so sends a create ("suspended").
//! Unavoidable cases are left out by name:
//! - I1: a user deletes a run before it is confirmed, or while a create of it is on its way
//!   ([`Run::hasty`](world::Run::hasty));
//! - I2: a run that ends and is deleted unseen is `Lost`, without outputs;
//! - I3: a backup is restored, or a whole status lost, while something is on its way (the model restores with
//!   the controllers stopped, or beside them while they have nothing under way);
//! - a backup that is restored without a note of its writer is known by its number only
//!   ([`Restored::Unnoted`](configuration::Restored::Unnoted)).
//!
//! # What is abstract
//! Time: "half a minute passes" and "ten minutes pass" are steps that can be taken only while no create is on
//! the wire, because a create is given up by the API server within 10 seconds and is sent within 20 seconds
//! of a consistent read of the ledger. Back-off: a failure may be retried at any moment. Refused reads,
//! selectors and Jobs' pods do not occur.
//!
//! Of the memory of a process (`ProcessState`), the model drives all but `prune_retired`, which saves
//! deletions and decides nothing. The clock of a worker stands still, so the model only knows whether a time
//! is over. A mistake in its length is for the unit tests, and so is one that calls a run lost too soon,
//! which the end does not reveal. The time until a run counts as lost is explored only where
//! [`Configuration::grace`](configuration::Configuration::grace) is set. Code that swallows events
//! (`consume_echo`, `consume_create_echo`) is judged where only events wake a worker
//! ([`Configuration::at_once`](configuration::Configuration::at_once)).
//!
//! # Several Runnables
//! All of this is about one Runnable. Several Runnables that read each other have a model of their own:
//! [`chain`]. So have the object that outputs are written to, [`sink`], and the profiles that runs are made
//! with, [`profile`](mod@profile).
//!
//! # Mistakes on purpose
//! A check that finds nothing proves little, so [`mutant`] has mistakes that it must find.
//!
//! ```text
//! cargo test -p cartouche-model                      a bounded check, and all mutants
//! cargo run --release -p cartouche-model -- --all    everything; takes hours and memory
//! cargo run --release -p cartouche-model -- --trace one.wipe
//! ```

mod beginnings;
pub mod cast;
pub mod catalogue;
pub mod chain;
pub mod configuration;
pub mod decisions;
pub mod explore;
mod faults;
mod judge;
mod looks;
pub mod model;
pub mod mutant;
pub mod picture;
pub mod pool;
mod process;
pub mod profile;
mod reads;
mod server;
mod settling;
pub mod sink;
mod symmetry;
mod worker;
pub mod world;
