//! What operators watch. Label values come from closed sets: no names of users' objects.

use std::sync::{Arc, Mutex, OnceLock};

use cartouche_protocol::reconcile_error::Category;
use http::{Method, StatusCode};
use k8s_openapi::jiff::Timestamp;
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

use crate::{lock::lock, survey::Survey};

/// Says how all Runnables fare, and what time it is for the API server.
type Surveyor = Box<dyn Fn() -> (Survey, Option<Timestamp>) + Send + Sync>;

/// Every metric in one place: its field, its name behind `cartouche_`, and what it says to operators.
macro_rules! metrics {
    ($($field:ident: $type:ty = $new:expr, $name:literal, $help:literal;)*) => {
        /// All metrics of the process.
        #[derive(Clone)]
        pub struct Metrics {
            registry: Arc<Registry>,
            surveyor: Arc<OnceLock<Surveyor>>,
            /// One answer at a time: each counts all Runnables anew.
            answering: Arc<Mutex<()>>,
            $($field: $type,)*
        }

        impl Metrics {
            fn registered() -> Self {
                let mut registry = Registry::with_prefix("cartouche");
                $(let $field: $type = $new;
                registry.register($name, $help, $field.clone());)*
                Self { registry: Arc::new(registry), surveyor: Arc::default(), answering: Arc::default(), $($field,)* }
            }
        }
    };
}

metrics! {
    requests: Family<RequestLabels, Counter> = Family::default(), "api_requests",
        "Requests to the API server by method, identity (controller or account) and class of answer; a rising share of none or 5xx means that the API server is in trouble";
    reconciles: Family<ReconcileLabels, Counter> = Family::default(), "reconciles",
        "Reconciliations of a Runnable by outcome; many that wait or have a problem deserve a look at conditions";
    reconcile_seconds: Histogram = Histogram::new(exponential_buckets(0.000_1, 4.0, 9)), "reconcile_seconds",
        "How long a reconciliation took, requests included";
    problems: Family<ProblemLabels, Counter> = Family::default(), "problems",
        "Problems met, by the reason that the Runnable's condition shows";
    runs: Family<RunLabels, Counter> = Family::default(), "runs",
        "Runs created, succeeded, failed, lost, removed and retried";
    events_dropped: Counter = Counter::default(), "events_dropped",
        "Kubernetes Events not sent because there were too many of a namespace, a newer one of the same reason among them, or because they were not accepted";
    watches: Family<WatchLabels, Gauge> = Family::default(), "watches",
        "Kinds that are watched, polled for want of permissions, or polled because their watch fails";
    object_watches: Family<ObjectWatchLabels, Gauge> = Family::default(), "object_watches",
        "Secrets that inputs come from, by how they are watched: Watched, Starting, Refused (the account may not), Full (beyond --max-watched-objects) or Failing; all but those that are Watched are polled";
    own_watches: Family<OwnWatchLabels, Gauge> = Family::default(), "own_watches_failing",
        "Whether the watch of something that the controller itself needs fails or may not be had, by resource: what it would tell of is noticed late";
    runnables: Gauge = Gauge::default(), "runnables",
        "Runnables known";
    ready: Family<ReadyLabels, Gauge> = Family::default(), "runnables_ready",
        "Runnables by status and reason of Ready; Run is the reason where that is a word of the run itself";
    oldest_unfinished: Gauge = Gauge::default(), "oldest_unfinished_run_seconds",
        "How long ago the oldest run began that has not ended; 0 without one";
    build: Family<BuildLabels, Gauge> = Family::default(), "build_info",
        "Always 1; its label is the version of the controller";
    unknown_runs: Counter = Counter::default(), "unknown_runs",
        "Objects that claim to be runs of a Runnable whose ledger cannot know them: forged, or left by a restored backup";
    unlistable_kinds: Counter = Counter::default(), "unlistable_kinds",
        "Kinds that were left out when the runs of a Runnable without a ledger were listed, because its ServiceAccount may not list them: a permission that was taken away too early hides runs";
    cached_runs_dropped: Counter = Counter::default(), "cached_runs_dropped",
        "Objects that claim to be runs of one Runnable and are not kept in mind, because there are more than 1,000, or as many that went: probably forged";
    undecodable: Counter = Counter::default(), "undecodable_objects",
        "Objects that could not be read and are ignored";
    refused: Counter = Counter::default(), "status_refusals",
        "Reads and writes of a Runnable's status that failed for another reason than a conflict; nothing is run for a Runnable whose status cannot be written";
    panics: Counter = Counter::default(), "panics",
        "Reconciliations of a Runnable that a mistake in the controller ended; report it";
    task_restarts: Counter = Counter::default(), "task_restarts",
        "Watches that ended by a mistake of the controller and were begun anew: please report what the log says";
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    identity: &'static str,
    code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReconcileLabels {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProblemLabels {
    category: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    event: RunEvent,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchLabels {
    state: WatchLabel,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ObjectWatchLabels {
    state: ObjectWatch,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReadyLabels {
    status: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OwnWatchLabels {
    resource: &'static str,
}

/// What happened to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum RunEvent {
    /// Its object was created.
    Created,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// It vanished unseen.
    Lost,
    /// Retention deleted it.
    Removed,
    /// It failed, and the next attempt at it was begun.
    Retried,
    /// It worked for too long, and was told to stop.
    Stopped,
}

/// How a kind is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum WatchLabel {
    /// By a watch.
    Watched,
    /// By lists now and then, for want of permissions.
    Polled,
    /// By lists now and then, because the watch fails.
    Failing,
}

/// How one object is watched that inputs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum ObjectWatch {
    /// It is not known yet.
    Starting,
    /// Changes are told.
    Watched,
    /// The account may not.
    Refused,
    /// There are too many.
    Full,
    /// The watch fails.
    Failing,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Self::registered();
        for category in Category::ALL {
            drop(metrics.problems.get_or_create(&ProblemLabels {
                category: category.as_str(),
            }));
        }
        let version = env!("CARGO_PKG_VERSION");
        metrics.build.get_or_create(&BuildLabels { version }).set(1);
        metrics
    }
}

impl Metrics {
    /// Has all Runnables counted in this way whenever somebody asks.
    pub fn surveyed_by(
        &self,
        surveyor: impl Fn() -> (Survey, Option<Timestamp>) + Send + Sync + 'static,
    ) {
        // Only the first of a process counts: it serves once.
        drop(self.surveyor.set(Box::new(surveyor)));
    }

    fn survey(&self) {
        let Some((survey, now)) = self.surveyor.get().map(|survey| survey()) else {
            return;
        };
        self.ready.clear();
        for ((status, reason), count) in survey.ready {
            let labels = ReadyLabels { status, reason };
            self.ready.get_or_create(&labels).set(count);
        }
        let age = now
            .zip(survey.oldest_unfinished)
            .map(|(now, begun)| now.duration_since(begun).as_secs().max(0));
        self.oldest_unfinished.set(age.unwrap_or(0));
    }

    /// All metrics as text, in the OpenMetrics format.
    #[must_use]
    pub fn text(&self) -> String {
        let _one = lock(&self.answering);
        self.survey();
        let mut text = String::new();
        // Writing into a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    pub(crate) fn request(&self, method: &Method, controller: bool, status: Option<StatusCode>) {
        let method = match *method {
            Method::GET => "GET",
            Method::POST => "POST",
            Method::PUT => "PUT",
            Method::DELETE => "DELETE",
            _ => "other",
        };
        let code = match status.map(|status| status.as_u16()) {
            None => "none",
            Some(200..300) => "2xx",
            Some(404) => "404",
            Some(409) => "409",
            Some(403) => "403",
            Some(400..500) => "4xx",
            Some(_) => "5xx",
        };
        let identity = if controller { "controller" } else { "account" };
        self.requests
            .get_or_create(&RequestLabels {
                method,
                identity,
                code,
            })
            .inc();
    }

    pub(crate) fn reconcile(&self, outcome: &'static str, seconds: f64) {
        self.reconciles
            .get_or_create(&ReconcileLabels { outcome })
            .inc();
        self.reconcile_seconds.observe(seconds);
    }

    pub(crate) fn problem(&self, category: Category) {
        self.problems
            .get_or_create(&ProblemLabels {
                category: category.as_str(),
            })
            .inc();
    }

    pub(crate) fn run(&self, event: RunEvent) {
        self.runs.get_or_create(&RunLabels { event }).inc();
    }

    pub(crate) fn events_dropped(&self, count: usize) {
        self.events_dropped.inc_by(count as u64);
    }

    pub(crate) fn watches(&self, state: WatchLabel, count: i64) {
        self.watches
            .get_or_create(&WatchLabels { state })
            .set(count);
    }

    /// An object is watched in this way from now on, and in the other no more.
    pub(crate) fn object_watch(&self, now: Option<ObjectWatch>, before: Option<ObjectWatch>) {
        let gauge = |state| {
            self.object_watches
                .get_or_create_owned(&ObjectWatchLabels { state })
        };
        if let Some(state) = now {
            gauge(state).inc();
        }
        if let Some(state) = before {
            gauge(state).dec();
        }
    }

    pub(crate) fn own_watch(&self, resource: &'static str, fails: bool) {
        self.own_watches
            .get_or_create(&OwnWatchLabels { resource })
            .set(i64::from(fails));
    }

    pub(crate) fn runnables(&self, count: usize) {
        self.runnables.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(crate) fn unknown_run(&self) {
        self.unknown_runs.inc();
    }

    pub(crate) fn cached_runs_dropped(&self, count: usize) {
        self.cached_runs_dropped.inc_by(count as u64);
    }

    pub(crate) fn unlistable_kind(&self) {
        self.unlistable_kinds.inc();
    }

    pub(crate) fn status_refused(&self) {
        self.refused.inc();
    }

    pub(crate) fn panicked(&self) {
        self.panics.inc();
    }

    pub(crate) fn task_restarted(&self) {
        self.task_restarts.inc();
    }

    pub(crate) fn undecodable(&self) {
        self.undecodable.inc();
    }
}
