//! The commands that need no control plane: on files, and against a server that plays an API server.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod approve;
mod boundary;
mod broken;
mod cancel;
mod cases;
mod completion;
mod cures;
mod diff_states;
mod dist;
mod documentation;
mod exported;
mod files;
mod foreign;
mod get;
mod graph;
mod hostile;
mod init;
mod inputs;
mod kustomize;
mod live_sources;
mod logs;
mod many;
mod near_misses;
mod never_met;
mod never_works;
mod no_pods;
mod pods;
mod printed;
mod profile;
mod profiles;
mod rbac;
mod seen;
mod selectors;
mod sinks;
mod sources;
#[path = "../support/mod.rs"]
mod support;
mod unusable;
mod validate;
mod validate_many;
mod written;
