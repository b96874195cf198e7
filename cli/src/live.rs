//! Live objects: reading, comparing and describing them, shared by the commands that need a cluster.

pub(crate) mod age;
pub(crate) mod events;
pub(crate) mod managed_fields;
pub(crate) mod newer_release;
pub(crate) mod object_diff;
pub(crate) mod pending;
pub(crate) mod place;
pub(crate) mod pod_waiting;
pub(crate) mod profiles;
pub(crate) mod prospect;
pub(crate) mod requests;
pub(crate) mod run_diff;
pub(crate) mod runs;
pub(crate) mod selection;
pub(crate) mod sources;
pub(crate) mod table;
pub(crate) mod written;
