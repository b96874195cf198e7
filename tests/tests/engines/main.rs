//! The engines that run what Cartouche stamps: their real controllers, their real definitions, the
//! real Cartouche. Only the kubelet is played, by KWOK.
//!
//! An engine whose Go module cannot be had is skipped, and the test says so on standard error.

mod any_kind;
mod argo;
mod chain;
mod gitops;
mod jobs;
mod scene;
mod tekton;
