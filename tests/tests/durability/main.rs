//! Runs are made exactly once and nothing is lost: scenarios on a real API server, with the real controller
//! as a process that is killed, restarted, doubled and deceived.
//!
//! The API server's audit log and the objects themselves show what happened, never the controller's own
//! reports. Most runs are of a small kind, `Trial`, whose status the test plays ([`engine`]); where the real
//! Job controller matters, they are Jobs.

mod engine;
mod oracle;
mod scene;
mod sight;
mod sinks;

mod attacks;
mod chain;
mod changes;
mod contested;
mod definitions;
mod endings;
mod forged;
mod hash;
mod newer;
mod overlap;
mod polling;
mod profiles;
mod put_off;
mod refused;
mod releases;
mod restart;
mod restored;
mod retention;
mod retry;
mod rules;
mod status;
mod takeover;
mod timeout;
mod two;
mod uninstall;
mod upgraded;
mod versions;

/// The binary that holds the controller and the supervisor of all processes.
const DEMO: &str = env!("CARGO_BIN_EXE_demo");
