//! Kubernetes Events about Runnables: best effort, bounded, and never in the way of a run.

use std::time::Duration;

use cartouche_crds::{API_VERSION, Runnable};
use cartouche_protocol::{reconcile_error::bounded, status::RETRY_SCHEDULED};
use kube::ResourceExt;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::Instant};

use crate::{
    api::{CreateMode, Requests, ResourcePath},
    metrics::Metrics,
};

/// Events that may go out at once, in seconds of the usual rate.
const BURST_SECONDS: f64 = 5.0;
/// Events that may wait to be sent.
const QUEUE: usize = 200;

/// The reason of the event that a run waits for a person.
const APPROVAL_REQUESTED: &str = "ApprovalRequested";
/// The reason of the event that a run is told to stop.
const RUN_STOPPED: &str = "RunStopped";

/// What an event says. The reasons of Normal events are Cartographer's, where it has such events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A run was created: `resource.group/name`.
    Applied(String),
    /// Retention deleted a run.
    Removed(String),
    /// A run gave new outputs.
    OutputChanged(String),
    /// A run failed, and is going to be tried again: what is said of that.
    RetryScheduled(String),
    /// A run is due, and waits for a person to approve it: what is said of that.
    ApprovalRequested(String),
    /// A run has worked for too long, and is told to stop: what is said of that.
    Stopped(String),
    /// A condition turned False, or says something else than before.
    Warning {
        /// The condition's reason.
        reason: String,
        /// The condition's message.
        message: String,
    },
}

/// Where events are handed in.
#[derive(Clone)]
pub struct Events {
    queue: mpsc::Sender<Value>,
    metrics: Metrics,
}

impl Events {
    /// Starts the task that sends events, so many a second.
    #[must_use]
    pub fn start(requests: Requests, metrics: Metrics, rate: u32) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        tokio::spawn(send_all(
            requests,
            waiting,
            metrics.clone(),
            f64::from(rate),
        ));
        Self { queue, metrics }
    }

    /// Hands in an event. It is dropped, and counted, when too many wait.
    pub fn publish(
        &self,
        runnable: &Runnable,
        occasion: &Occasion,
        at: Option<k8s_openapi::jiff::Timestamp>,
    ) {
        let (kind, reason, message) = wording(runnable, occasion);
        let namespace = runnable.namespace().unwrap_or_default();
        let at = at.map(|at| at.to_string());
        let event = json!({
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
            "message": bounded(message),
            "source": { "component": "Runnable" },
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
        });
        if self.queue.try_send(event).is_err() {
            self.metrics.event_dropped();
        }
    }
}

/// Leaves room for what generateName adds.
fn prefix(name: &str) -> &str {
    &name[..name.len().min(240)]
}

fn wording(runnable: &Runnable, occasion: &Occasion) -> (&'static str, String, String) {
    match occasion {
        Occasion::Applied(object) => (
            "Normal",
            "StampedObjectApplied".to_owned(),
            format!("Created object [{object}]"),
        ),
        Occasion::Removed(object) => (
            "Normal",
            "StampedObjectRemoved".to_owned(),
            format!("Deleted object [{object}]"),
        ),
        Occasion::OutputChanged(object) => (
            "Normal",
            "ResourceOutputChanged".to_owned(),
            format!(
                "Runnable [{}] found a new output in [{object}]",
                runnable.name_any()
            ),
        ),
        Occasion::RetryScheduled(message) => {
            ("Normal", RETRY_SCHEDULED.to_owned(), message.clone())
        }
        Occasion::ApprovalRequested(message) => {
            ("Normal", APPROVAL_REQUESTED.to_owned(), message.clone())
        }
        Occasion::Stopped(message) => ("Normal", RUN_STOPPED.to_owned(), message.clone()),
        Occasion::Warning { reason, message } => ("Warning", reason.clone(), message.clone()),
    }
}

async fn send_all(
    requests: Requests,
    mut waiting: mpsc::Receiver<Value>,
    metrics: Metrics,
    rate: f64,
) {
    let burst = rate * BURST_SECONDS;
    let mut budget = burst;
    let mut last = Instant::now();
    while let Some(event) = waiting.recv().await {
        budget = (budget + last.elapsed().as_secs_f64() * rate).min(burst);
        last = Instant::now();
        if budget < 1.0 {
            metrics.event_dropped();
            continue;
        }
        budget -= 1.0;
        let namespace = event
            .pointer("/metadata/namespace")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let path = ResourcePath::new("v1", "events", Some(namespace));
        let sent = tokio::time::timeout(
            Duration::from_secs(5),
            requests.create::<serde::de::IgnoredAny>(&path, &event, CreateMode::Real),
        )
        .await;
        if let Ok(Err(error)) = sent {
            metrics.event_dropped();
            tracing::debug!(%error, "an event was not accepted");
        }
    }
}
