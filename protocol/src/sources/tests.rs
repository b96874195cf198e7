//! What a chain of Runnables may run of, and when.

mod coherence;
mod graph;
mod provenance;
mod readiness;
mod sample;
mod settle;
mod shown;
mod trace;
