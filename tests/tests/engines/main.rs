//! The engines that run what Cartouche stamps: their real controllers, their real definitions, the real
//! Cartouche. Only the kubelet is played, by KWOK. Helm installs the chart.
//!
//! If the Go module of an engine is not available, its tests are skipped: each reports that on standard
//! error, and `.ci/run` repeats it at its end.

mod any_kind;
mod argo;
mod chain;
mod failures;
mod flux;
mod gitops;
mod helm;
mod jobs;
mod kueue;
mod pending;
mod played;
mod pods;
mod queues;
mod replaced;
mod scene;
mod tekton;
mod timeouts;
