//! Profiles and files of runs, judged by Kubernetes alone, without a controller.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail like tests"
)]

mod accepted;
mod merged;

const DEMO: &str = env!("CARGO_BIN_EXE_demo");
