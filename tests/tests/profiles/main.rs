//! Profiles and files of runs, judged by Kubernetes: nothing serves them yet, so that no controller is here.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail like tests"
)]

mod accepted;
mod merged;

const DEMO: &str = env!("CARGO_BIN_EXE_demo");
