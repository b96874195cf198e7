//! The interface of a runner.

use std::future::Future;

use anyhow::Result;
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::input::Context;

/// Outputs of a run.
pub type Outputs = Map<String, Value>;

/// Input of a runner.
#[derive(Clone, Debug)]
pub struct Input {
    /// The run that the runner works for.
    pub context: Context,
    /// The arguments, whose meaning is the runner's own.
    pub args: Value,
    /// True once the runner is asked to stop.
    pub stop: watch::Receiver<bool>,
}

/// Does the work of one run.
pub trait Runner {
    /// Returns the name of the runner, for messages.
    fn name(&self) -> &str;

    /// Starts the work, and returns at once. Fails if it cannot start.
    fn start(&mut self, input: Input) -> impl Future<Output = Result<()>>;

    /// Waits until the work is over: done, failed, or stopped on request.
    fn wait(&mut self) -> impl Future<Output = Result<Outputs>>;
}
