//! Tests of chains of Runnables.

mod coherence;
mod graph;
mod provenance;
mod readiness;
mod sample;
mod settle;
mod shown;
mod trace;
