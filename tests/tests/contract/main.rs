//! The API contract of `carto.run/v1alpha1`, scenario by scenario, on a real API server with the
//! real controller in front of it. One file a chapter.

#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

mod approval;
mod bad_input;
mod chains;
mod concurrency;
mod conditions;
mod debounce;
mod events;
mod expressions;
mod fixed_names;
mod health;
mod idempotence;
mod identity;
mod inputs;
mod loops;
mod objects;
mod outputs;
mod pace;
mod profiles;
mod retry;
mod runner;
mod schema;
mod selector;
mod sinks;
mod sources;
mod stamping;
mod stuck;
mod suspension;
mod templates;
mod timeout;
mod triggers;
mod watched_secrets;
mod world;
