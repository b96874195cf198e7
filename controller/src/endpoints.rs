//! `/healthz`, `/readyz` and `/metrics`, for probes, Prometheus and any client: the port needs no authentication.

mod answers;
mod connections;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use answers::Answers;
use tokio::net::TcpListener;

use crate::{lock::lock, metrics::Metrics};

/// State of readiness: what the process waits for before it serves Runnables, and what it does without.
#[derive(Clone, Default)]
pub struct ProcessReadiness {
    missing: Arc<Mutex<Vec<(&'static str, String)>>>,
    /// Problems despite which Runnables are served.
    warnings: Arc<Mutex<Vec<String>>>,
    lacking: Arc<Mutex<BTreeMap<&'static str, UnwatchedReason>>>,
}

/// Reason why something is not watched.
#[derive(Clone)]
struct UnwatchedReason {
    why: String,
    is_forbidden: bool,
}

impl ProcessReadiness {
    /// Creates a readiness that waits for all of these.
    #[must_use]
    pub fn waiting_for(what: &[&'static str]) -> Self {
        Self {
            missing: Arc::new(Mutex::new(
                what.iter().map(|what| (*what, String::new())).collect(),
            )),
            ..Self::default()
        }
    }

    /// Marks one of them as present.
    pub fn mark(&self, what: &'static str) {
        let mut missing = lock(&self.missing);
        let before = missing.len();
        missing.retain(|(missing, _)| *missing != what);
        if before > 0 && missing.is_empty() {
            tracing::info!("ready: Runnables are served");
        }
    }

    /// Sets why one of them is missing, briefly and for any reader: without accounts and texts of the API server.
    pub fn because(&self, what: &'static str, why: String) {
        if let Some((_, reason)) = lock(&self.missing)
            .iter_mut()
            .find(|(missing, _)| *missing == what)
        {
            *reason = why;
        }
    }

    /// Marks one of them as missing, possibly again, for this reason.
    pub fn misses(&self, what: &'static str, why: String) {
        let mut missing = lock(&self.missing);
        match missing.iter_mut().find(|(missing, _)| *missing == what) {
            Some((_, reason)) => *reason = why,
            None => missing.push((what, why)),
        }
    }

    /// Returns true if any of these is missing.
    #[must_use]
    pub fn is_missing(&self, any: &[&str]) -> bool {
        let missing = lock(&self.missing);
        missing.iter().any(|(missing, _)| any.contains(missing))
    }

    /// Marks something as not watched now, so that its changes are noticed late. Any client may read the reason.
    pub fn lacks(&self, what: &'static str, why: String, is_forbidden: bool) {
        lock(&self.lacking).insert(what, UnwatchedReason { why, is_forbidden });
    }

    /// Marks it as watched again.
    pub fn has(&self, what: &'static str) {
        lock(&self.lacking).remove(what);
    }

    /// Returns what is not watched, one line each.
    #[must_use]
    pub fn lacking(&self) -> Vec<String> {
        let line = |(what, it): (&&str, &UnwatchedReason)| format!("without {what}: {}", it.why);
        lock(&self.lacking).iter().map(line).collect()
    }

    /// Returns why the process does without this, if it does.
    #[must_use]
    pub fn why_lacking(&self, what: &str) -> Option<String> {
        lock(&self.lacking).get(what).map(|it| it.why.clone())
    }

    /// Returns true if the process may not watch this. False for a watch that fails, whose objects may exist.
    #[must_use]
    pub fn may_not_watch(&self, what: &str) -> bool {
        let lacking = lock(&self.lacking);
        lacking.get(what).is_some_and(|it| it.is_forbidden)
    }

    /// Returns what is still missing, one line each.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let line = |(what, why): &(&'static str, String)| {
            if why.is_empty() {
                format!("waiting for {what}")
            } else {
                format!("waiting for {what}: {why}")
            }
        };
        lock(&self.missing).iter().map(line).collect()
    }

    /// Replaces the warnings about problems despite which Runnables are served.
    pub fn warn(&self, warnings: Vec<String>) {
        *lock(&self.warnings) = warnings;
    }

    /// Returns the body of a ready answer. A kind that cannot be watched does not make the controller unready for the
    /// others.
    fn well(&self) -> String {
        let warnings = lock(&self.warnings);
        let warnings = warnings
            .iter()
            .map(|warning| format!("warning: {warning}\n"));
        let lacking = self.lacking().into_iter().map(|lacking| lacking + "\n");
        let ok = std::iter::once("ok\n".to_owned());
        ok.chain(lacking).chain(warnings).collect()
    }
}

/// Serves until the process ends.
pub async fn serve(listener: TcpListener, readiness: ProcessReadiness, metrics: Metrics) {
    connections::accept(listener, Answers::new(readiness, metrics)).await;
}

#[cfg(test)]
mod tests;
