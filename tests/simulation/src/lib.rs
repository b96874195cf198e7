//! The whole controller in a simulated cluster, with random faults, deterministic by seed.
//!
//! [turmoil](https://docs.rs/turmoil) runs the real controller, with the real client library, on one or two
//! hosts whose time and network are simulated. The third host is an API server of our own, which keeps to the
//! semantics that matter: one resourceVersion for everything, optimistic concurrency, preconditions, status
//! as a subresource, generated names, label selectors, pages, watches from a version on with bookmarks and
//! 410, and its own clock in every answer.
//!
//! Everything follows from a seed: the changes of users and their times ([`plan`]), the faults of requests
//! ([`faults`]), the ends of processes and the failures of networks, the durations of runs. After a while the
//! faults stop, and everything must come to rest. Then the store's own record is judged ([`oracle`]). Each
//! seed has a process of its own ([`report`]), and one that fails replays exactly.
//!
//! ```text
//! cargo test -p cartouche-simulation                              300 seeds
//! cargo run --release -p cartouche-simulation -- --seeds 10000
//! cargo run --release -p cartouche-simulation -- --seed 17 --trace
//! ```

pub mod approval;
pub mod chain;
pub mod controllers;
pub mod debounce;
pub mod discovery;
pub mod engine;
pub mod events;
pub mod faults;
pub mod flood;
pub mod oracle;
pub mod original;
pub mod overlap;
pub mod people;
pub mod plan;
pub mod play;
pub mod randomness;
pub mod report;
pub mod requests;
pub mod retries;
pub mod selector;
pub mod server;
pub mod sinks;
pub mod stops;
pub mod store;
pub mod strangers;
pub mod tenants;
pub mod trace;
pub mod watch;

pub use play::{Played, play};
