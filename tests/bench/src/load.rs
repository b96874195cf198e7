//! The load: Runnables whose inputs change, the engine that finishes their runs, and the watches that see the
//! results.

mod board;
mod field;
mod rounds;

pub(crate) use board::{Board, Tally};
pub(crate) use field::{Field, Plan, SeenRun, SeenRunnable, name};
pub(crate) use rounds::{closed_loop, paced, rounds, sequential, warm_up};
