//! Containers that do real work, on a real node: the input and output of a runner, its stop, and Cartouche's
//! reaction.
//!
//! They need Linux and root. Elsewhere each of these tests reports that it is skipped, with the reason.

mod ends;
mod leftovers;
mod people;
mod runner;
mod scene;
mod tofu;
