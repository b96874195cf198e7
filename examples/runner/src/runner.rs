//! What a runner has to be able to do.

use anyhow::Result;
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::input::Context;

/// What a runner gives: the outputs of the run.
pub(crate) type Outputs = Map<String, Value>;

/// What a runner is started with.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// For whom it works.
    pub(crate) context: Context,
    /// What it is to do; what that means is the runner's own.
    pub(crate) args: Value,
    /// True once it is to end.
    pub(crate) stop: watch::Receiver<bool>,
}

/// Does the work of one run.
pub(crate) trait Runner {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Begins, and returns at once. What cannot be begun is an error.
    async fn start(&mut self, input: Input) -> Result<()>;

    /// Waits until the work is over: done, failed, or ended because it was to stop.
    async fn wait(&mut self) -> Result<Outputs>;
}
