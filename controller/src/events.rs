//! Kubernetes Events about Runnables: best effort, bounded, and never in the way of a run. No namespace takes the share
//! of another.

mod reason;
mod waiting;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_crds::{API_VERSION, Runnable};
use cartouche_protocol::messages::format::truncate;
use kube::ResourceExt;
pub use reason::{NormalReason, WarningReason};
use serde_json::json;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};
use waiting::{PendingEvent, PendingEvents};

use crate::{
    api::{CreateMode, Requests, ResourcePath},
    lock::lock,
    metrics::Metrics,
};

/// Length of a burst of events, in seconds of the usual rate.
const BURST_SECONDS: f64 = 5.0;
/// Time that the API server may take for one event.
const PATIENCE: Duration = Duration::from_secs(5);

/// Occasion of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A run was created: `resource.group/name`.
    Applied(String),
    /// Retention deleted a run: `resource.group/name`.
    Removed(String),
    /// A run has new outputs: `resource.group/name`.
    OutputChanged(String),
    /// A run failed, and will be retried: the message.
    RetryScheduled(String),
    /// The next run needs approval: the message.
    ApprovalRequested(String),
    /// A run took too long, and is asked to stop: the message.
    Stopped(String),
    /// A condition turned False, or its message changed.
    Warning {
        /// The condition's reason.
        reason: String,
        /// The condition's message.
        message: String,
    },
}

/// Queue of events to send.
#[derive(Clone)]
pub struct Events {
    waiting: Arc<Mutex<PendingEvents>>,
    /// Wakes the sender.
    news: mpsc::Sender<()>,
    metrics: Metrics,
}

impl Events {
    /// Starts the task that sends events, at a rate per second.
    #[must_use]
    pub fn start(requests: Requests, metrics: Metrics, rate: u32) -> Self {
        let (news, received) = mpsc::channel(1);
        let waiting = Arc::<Mutex<PendingEvents>>::default();
        let sender = Sender {
            requests,
            waiting: waiting.clone(),
            metrics: metrics.clone(),
            pace: RateLimit::new(f64::from(rate)),
        };
        tokio::spawn(sender.send_all(received));
        Self {
            waiting,
            news,
            metrics,
        }
    }

    /// Enqueues an event. If too many wait, one is dropped, and counted.
    pub fn publish(
        &self,
        runnable: &Runnable,
        occasion: &Occasion,
        at: Option<k8s_openapi::jiff::Timestamp>,
    ) {
        let (kind, reason, message) = wording(runnable, occasion);
        let namespace = runnable.namespace().unwrap_or_default();
        let at = at.map(|at| at.to_string());
        let body = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": { "namespace": namespace, "generateName": format!("{}.", prefix(&runnable.name_any())) },
            "involvedObject": {
                "apiVersion": API_VERSION,
                "kind": "Runnable",
                "namespace": namespace,
                "name": runnable.name_any(),
                "uid": runnable.uid(),
                "resourceVersion": runnable.resource_version(),
            },
            "type": kind,
            "reason": reason,
            "message": truncate(message),
            "source": { "component": "Runnable" },
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
        });
        let given_up = lock(&self.waiting).push(PendingEvent {
            namespace,
            object: runnable.uid().unwrap_or_default(),
            reason,
            is_warning: kind == "Warning",
            body,
        });
        self.metrics.events_dropped(given_up);
        // A full channel is fine: the sender then looks for all that wait anyway.
        let _ = self.news.try_send(());
    }
}

/// Leaves room for the suffix of `generateName`.
fn prefix(name: &str) -> &str {
    &name[..name.len().min(240)]
}

fn wording(runnable: &Runnable, occasion: &Occasion) -> (&'static str, String, String) {
    let (reason, message) = match occasion {
        Occasion::Applied(object) => (
            NormalReason::StampedObjectApplied,
            format!("Created object [{object}]"),
        ),
        Occasion::Removed(object) => (
            NormalReason::StampedObjectRemoved,
            format!("Deleted object [{object}]"),
        ),
        Occasion::OutputChanged(object) => (
            NormalReason::ResourceOutputChanged,
            format!(
                "Runnable [{}] found a new output in [{object}]",
                runnable.name_any()
            ),
        ),
        Occasion::RetryScheduled(message) => (NormalReason::RetryScheduled, message.clone()),
        Occasion::ApprovalRequested(message) => (NormalReason::ApprovalRequested, message.clone()),
        Occasion::Stopped(message) => (NormalReason::RunStopped, message.clone()),
        Occasion::Warning { reason, message } => {
            return ("Warning", reason.clone(), message.clone());
        }
    };
    ("Normal", reason.as_str().to_owned(), message)
}

/// Sends events, one after the other.
struct Sender {
    requests: Requests,
    waiting: Arc<Mutex<PendingEvents>>,
    metrics: Metrics,
    pace: RateLimit,
}

impl Sender {
    /// Runs until all [`Events`] are dropped.
    async fn send_all(mut self, mut news: mpsc::Receiver<()>) {
        while news.recv().await.is_some() {
            while !lock(&self.waiting).is_empty() {
                // The event is chosen after the pause: something more urgent may have come in between.
                self.pace.turn().await;
                let next = lock(&self.waiting).pop();
                if let Some(event) = next {
                    self.send(&event).await;
                }
            }
        }
    }

    async fn send(&self, event: &PendingEvent) {
        let path = ResourcePath::new("v1", "events", Some(&event.namespace));
        let body = &event.body;
        let create = self
            .requests
            .create::<serde::de::IgnoredAny>(&path, body, CreateMode::Real);
        match timeout(PATIENCE, create).await {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => tracing::debug!(%error, "an event was not accepted"),
            Err(_) => tracing::debug!("an event was not accepted in time"),
        }
        self.metrics.events_dropped(1);
    }
}

/// Rate per second, with a burst.
struct RateLimit {
    rate: f64,
    budget: f64,
    last: Instant,
}

impl RateLimit {
    fn new(rate: f64) -> Self {
        Self {
            rate,
            budget: rate * BURST_SECONDS,
            last: Instant::now(),
        }
    }

    /// Waits until the next event may be sent.
    async fn turn(&mut self) {
        self.fill();
        if self.budget < 1.0 {
            sleep(Duration::from_secs_f64((1.0 - self.budget) / self.rate)).await;
            self.fill();
        }
        self.budget -= 1.0;
    }

    fn fill(&mut self) {
        let most = self.rate * BURST_SECONDS;
        self.budget = (self.budget + self.last.elapsed().as_secs_f64() * self.rate).min(most);
        self.last = Instant::now();
    }
}

#[cfg(test)]
mod tests;
