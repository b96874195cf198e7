//! `/healthz`, `/readyz` and `/metrics`, for probes, Prometheus and strangers: the port asks for no name.

mod answers;
mod connections;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use answers::Answers;
use tokio::net::TcpListener;

use crate::{lock::lock, metrics::Metrics};

/// What the process still waits for before it serves Runnables, and what it has to do without.
#[derive(Clone, Default)]
pub struct Readiness {
    missing: Arc<Mutex<Vec<(&'static str, String)>>>,
    /// What is wrong, though Runnables are served.
    warnings: Arc<Mutex<Vec<String>>>,
    lacking: Arc<Mutex<BTreeMap<&'static str, Lacking>>>,
}

/// Why something is not watched.
#[derive(Clone)]
struct Lacking {
    why: String,
    is_forbidden: bool,
}

impl Readiness {
    /// Waits for all of these.
    #[must_use]
    pub fn waiting_for(what: &[&'static str]) -> Self {
        Self {
            missing: Arc::new(Mutex::new(
                what.iter().map(|what| (*what, String::new())).collect(),
            )),
            ..Self::default()
        }
    }

    /// One of them is there.
    pub fn reached(&self, what: &'static str) {
        let mut missing = lock(&self.missing);
        let before = missing.len();
        missing.retain(|(missing, _)| *missing != what);
        if before > 0 && missing.is_empty() {
            tracing::info!("ready: Runnables are served");
        }
    }

    /// Why one of them is not there yet, in few words that strangers may read: no account, no text of the API server.
    pub fn because(&self, what: &'static str, why: String) {
        if let Some((_, reason)) = lock(&self.missing)
            .iter_mut()
            .find(|(missing, _)| *missing == what)
        {
            *reason = why;
        }
    }

    /// One of them is missing, be it once more, for this reason.
    pub fn misses(&self, what: &'static str, why: String) {
        let mut missing = lock(&self.missing);
        match missing.iter_mut().find(|(missing, _)| *missing == what) {
            Some((_, reason)) => *reason = why,
            None => missing.push((what, why)),
        }
    }

    /// Whether any of these is missing.
    #[must_use]
    pub fn is_missing(&self, any: &[&str]) -> bool {
        let missing = lock(&self.missing);
        missing.iter().any(|(missing, _)| any.contains(missing))
    }

    /// Something cannot be watched now: what it would tell of is noticed later. The reason is for strangers as well.
    pub fn lacks(&self, what: &'static str, why: String, is_forbidden: bool) {
        lock(&self.lacking).insert(what, Lacking { why, is_forbidden });
    }

    /// It is watched again.
    pub fn has(&self, what: &'static str) {
        lock(&self.lacking).remove(what);
    }

    /// What cannot be watched, a line each.
    #[must_use]
    pub fn lacking(&self) -> Vec<String> {
        let line = |(what, it): (&&str, &Lacking)| format!("without {what}: {}", it.why);
        lock(&self.lacking).iter().map(line).collect()
    }

    /// Why the process does without this, if it does.
    #[must_use]
    pub fn why_lacking(&self, what: &str) -> Option<String> {
        lock(&self.lacking).get(what).map(|it| it.why.clone())
    }

    /// True if the process may not watch this. One that fails is no such: what it would tell of may be there.
    #[must_use]
    pub fn may_not_watch(&self, what: &str) -> bool {
        let lacking = lock(&self.lacking);
        lacking.get(what).is_some_and(|it| it.is_forbidden)
    }

    /// What is still missing, a line each.
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

    /// Says what is wrong now though Runnables are served, instead of what was said before.
    pub fn warn(&self, warnings: Vec<String>) {
        *lock(&self.warnings) = warnings;
    }

    /// The answer of somebody who is ready. One kind that cannot be watched is no reason to take the
    /// others away from their controller.
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
pub async fn serve(listener: TcpListener, readiness: Readiness, metrics: Metrics) {
    connections::accept(listener, Answers::new(readiness, metrics)).await;
}

#[cfg(test)]
mod tests;
