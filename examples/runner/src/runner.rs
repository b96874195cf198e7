//! What a runner has to be able to do.

use std::future::Future;

use anyhow::Result;
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::input::Context;

/// What a runner gives: the outputs of the run.
pub type Outputs = Map<String, Value>;

/// What a runner is started with.
#[derive(Clone, Debug)]
pub struct Input {
    /// For whom it works.
    pub context: Context,
    /// What it is to do; what that means is the runner's own.
    pub args: Value,
    /// True once it is to end.
    pub stop: watch::Receiver<bool>,
}

/// Does the work of one run.
pub trait Runner {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Begins, and returns at once. What cannot be begun is an error.
    fn start(&mut self, input: Input) -> impl Future<Output = Result<()>>;

    /// Waits until the work is over: done, failed, or ended because it was to stop.
    fn wait(&mut self) -> impl Future<Output = Result<Outputs>>;
}
