//! Commands that ask a cluster.

mod asked;
pub(crate) mod cancel;
pub(crate) mod change;
pub(crate) mod cluster;
pub(crate) mod commands;
mod describe;
mod explain;
mod get;
mod history;
mod owned;
mod run_name;
mod table;
mod tree;
mod when;

pub(crate) mod diff;
pub(crate) mod logs;
pub(crate) mod migrate;
pub(crate) mod outputs;
pub(crate) mod rerun;
pub(crate) mod suspend;
pub(crate) mod wait;
