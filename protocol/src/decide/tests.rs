//! Every branch of a decision, without a server.

#![allow(
    clippy::wildcard_imports,
    reason = "the scene has the words that these tests are written in"
)]

mod adoption;
mod approval;
mod creation;
mod debounce;
mod existing;
mod gone;
mod history;
mod laws;
mod outdated;
mod overlap;
mod profiles;
mod put_off;
mod releases;
mod reporting;
mod restored;
mod retry;
mod room;
pub(crate) mod scene;
mod sources;
mod stop;
mod suspended;
mod wanting;
