//! Containers that work, on a real node: what a runner finds, gives and is told, and what Cartouche makes of that.
//!
//! It needs Linux and root. Elsewhere each of these tests says that it is skipped, and why.

mod ends;
mod leftovers;
mod people;
mod runner;
mod scene;
mod tofu;
