//! Metrics for operators. Label values come from closed sets: no names of users' objects.

mod classic;
mod description;
mod labels;
mod process;

use std::{
    sync::{Arc, Mutex, OnceLock, atomic::AtomicU64},
    time::Duration,
};

use cartouche_crds::{RunResult, StopReason};
use cartouche_protocol::category::Category;
pub use description::{Description, MetricKind};
use http::{Method, StatusCode};
use k8s_openapi::jiff::Timestamp;
use labels::{
    BuildLabels, MethodLabels, OutcomeLabels, ReadyLabels, ReasonLabels, RequestLabels,
    ResourceLabels, ResultLabels, SecretLabels, VerbLabels, WatchLabels,
};
pub use labels::{ObjectWatch, StatusVerb, WatchLabel};
use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use crate::{lock::lock, survey::Survey};

/// Function that returns the state of all Runnables, and the time of the API server.
type Surveyor = Box<dyn Fn() -> (Survey, Option<Timestamp>) + Send + Sync>;

/// Durations for each method.
type ByMethod = Family<MethodLabels, Histogram, fn() -> Histogram>;

/// A number with decimal places.
type Seconds = Gauge<f64, AtomicU64>;

/// Creates a histogram from 5 ms, which a change takes on an idle machine, to the time after which a request has been
/// given up.
fn durations() -> Histogram {
    Histogram::new([
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    ])
}

/// Defines all metrics by a table of field, name (that of a counter ends in `_total` in the output), and help, for each
/// subject. The first sentence of a help states what is counted or measured.
macro_rules! metrics {
    ($($subject:literal { $($field:ident: $type:ty = $new:expr, $name:literal, $help:literal;)+ })+) => {
        /// All metrics of the process.
        #[derive(Clone)]
        pub struct Metrics {
            registry: Arc<Registry>,
            surveyor: Arc<OnceLock<Surveyor>>,
            /// Lock for one answer at a time: each counts all Runnables again.
            answering: Arc<Mutex<()>>,
            $($($field: $type,)+)+
        }

        impl Metrics {
            fn registered() -> Self {
                let mut registry = Registry::default();
                $($(let $field: $type = $new;
                registry.register($name, $help, $field.clone());)+)+
                Self { registry: Arc::new(registry), surveyor: Arc::default(), answering: Arc::default(), $($($field,)+)+ }
            }
        }

        /// Returns the descriptions of all metrics, for `docs/reference/metrics.md`.
        #[must_use]
        pub fn descriptions() -> Vec<Description> {
            vec![$($(Description::new::<$type>($subject, $name, $help)),+),+]
        }
    };
}

metrics! {
    "Runs" {
        runs_created: Counter = Counter::default(), "cartouche_runs_created",
            "Runs created";
        runs_finished: Family<ResultLabels, Counter> = Family::default(), "cartouche_runs_finished",
            "Results of current runs. Superseded runs are not counted";
        runs_deleted: Counter = Counter::default(), "cartouche_runs_deleted",
            "Finished runs that retention deleted";
        run_retries: Counter = Counter::default(), "cartouche_run_retries",
            "Retries of failed runs";
        run_stops: Family<ReasonLabels, Counter> = Family::default(), "cartouche_run_stops",
            "Runs asked to stop";
        oldest_unfinished: Gauge = Gauge::default(), "cartouche_oldest_unfinished_run_seconds",
            "Age of the oldest unfinished run, superseded runs included; 0 without one";
    }
    "Runnables" {
        runnables: Family<ReadyLabels, Gauge> = Family::default(), "cartouche_runnables",
            "Runnables by status and reason of Ready";
        oldest_waiting: Seconds = Gauge::default(), "cartouche_oldest_waiting_change_age_seconds",
            "Age of the oldest change that this process has not acted on; 0 without one. Above a minute something is wrong";
        change_to_run: Histogram = durations(), "cartouche_change_to_run_seconds",
            "Time from the arrival of a changed spec to the creation of its run. Changes that wait for something else, or whose create fails, are left out";
        queue_length: Gauge = Gauge::default(), "cartouche_queue_length",
            "Runnables that wait for their reconcile";
        reconciles: Family<OutcomeLabels, Counter> = Family::default(), "cartouche_reconciles",
            "Reconciles of Runnables, by outcome";
        reconcile_seconds: Histogram = durations(), "cartouche_reconcile_duration_seconds",
            "Duration of a reconcile, requests included";
        problems: Family<ReasonLabels, Counter> = Family::default(), "cartouche_reconcile_problems",
            "Problems, by the reason in the condition";
    }
    "API server" {
        requests: Family<RequestLabels, Counter> = Family::default(), "cartouche_api_requests",
            "Requests, by class of answer. 429: the API server throttles this controller; none: no answer";
        request_seconds: ByMethod = Family::new_with_constructor(durations), "cartouche_api_request_duration_seconds",
            "Time until the API server began its answer. Requests without an answer are left out";
        status_errors: Family<VerbLabels, Counter> = Family::default(), "cartouche_status_errors",
            "Failed reads (get) and writes (update) of a Runnable's status, without conflicts. Nothing runs for a Runnable whose status cannot be written";
        status_conflicts: Counter = Counter::default(), "cartouche_status_conflicts",
            "Writes of a status that conflicted with another write. A few are normal. Many mean a second controller, or a tool that writes all the time";
        events_dropped: Counter = Counter::default(), "cartouche_events_dropped",
            "Events not sent: too many waited in a namespace, a newer one of the same reason replaced it, or the API server refused it";
    }
    "Watches" {
        watch_up: Family<ResourceLabels, Gauge> = Family::default(), "cartouche_watch_up",
            "1 while a watch that the controller itself needs works; 0 while it fails, is forbidden or has not begun";
        watched_kinds: Family<WatchLabels, Gauge> = Family::default(), "cartouche_watched_kinds",
            "Kinds of runs and of selected objects, by the state of their watch";
        watched_secrets: Family<SecretLabels, Gauge> = Family::default(), "cartouche_watched_secrets",
            "Secrets that inputs come from, for each account that reads them, by the state of their watch";
    }
    "Unusual objects" {
        unknown_runs: Counter = Counter::default(), "cartouche_unknown_runs",
            "Objects that claim to be runs and cannot be: forged, or from a restored backup";
        cached_runs_dropped: Counter = Counter::default(), "cartouche_cached_runs_dropped",
            "Objects that claim to be runs and are dropped from memory, because one Runnable has more than 1,000 existing or 1,000 deleted ones: probably forged";
        undecodable: Counter = Counter::default(), "cartouche_undecodable_objects",
            "Runnables, templates, profiles and objects with labels of runs that could not be read, on each arrival";
        unlistable_kinds: Counter = Counter::default(), "cartouche_unlistable_kinds",
            "Kinds that a ServiceAccount may not list, left out when a lost ledger was rebuilt. A permission that is removed too early hides runs";
    }
    "Process" {
        build: Family<BuildLabels, Gauge> = Family::default(), "cartouche_build_info",
            "Always 1; the label is the version of the controller";
        panics: Counter = Counter::default(), "cartouche_panics",
            "Reconciles that ended in a bug of the controller: report it";
        task_restarts: Counter = Counter::default(), "cartouche_task_restarts",
            "Watches restarted after a bug of the controller: report what the log says";
        process_cpu: Counter<f64, AtomicU64> = Counter::default(), "process_cpu_seconds",
            "CPU time";
        process_memory: Gauge = Gauge::default(), "process_resident_memory_bytes",
            "Resident memory (Linux)";
        process_start: Seconds = Gauge::default(), "process_start_time_seconds",
            "Start time, in seconds since 1970";
        process_files: Gauge = Gauge::default(), "process_open_fds",
            "Open files and connections (Linux)";
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Self::registered();
        for category in Category::ALL {
            let reason = category.as_str();
            drop(metrics.problems.get_or_create(&ReasonLabels { reason }));
        }
        let version = env!("CARGO_PKG_VERSION");
        metrics.build.get_or_create(&BuildLabels { version }).set(1);
        metrics.process_start.set(process::seconds_since_1970());
        metrics
    }
}

impl Metrics {
    /// Sets the function that counts all Runnables for each answer.
    pub fn surveyed_by(
        &self,
        surveyor: impl Fn() -> (Survey, Option<Timestamp>) + Send + Sync + 'static,
    ) {
        // Only the first one of a process counts: it serves once.
        drop(self.surveyor.set(Box::new(surveyor)));
    }

    fn survey(&self) {
        let Some((survey, now)) = self.surveyor.get().map(|survey| survey()) else {
            return;
        };
        self.runnables.clear();
        // A sum is then 0, instead of missing, if there are none.
        drop(self.runnables.get_or_create(&ReadyLabels::BEST));
        for ((ready, reason), count) in survey.ready {
            let labels = ReadyLabels { ready, reason };
            self.runnables.get_or_create(&labels).set(count);
        }
        let age = now
            .zip(survey.oldest_unfinished)
            .map(|(now, begun)| now.duration_since(begun).as_secs().max(0));
        self.oldest_unfinished.set(age.unwrap_or(0));
        let waiting = survey.oldest_waiting.unwrap_or_default();
        self.oldest_waiting.set(waiting.as_secs_f64());
    }

    fn look_at_the_process(&self) {
        if let Some(cpu) = process::cpu_seconds() {
            self.process_cpu
                .inc_by((cpu - self.process_cpu.get()).max(0.0));
        }
        if let Some(bytes) = process::resident_bytes() {
            self.process_memory.set(bytes);
        }
        if let Some(files) = process::open_files() {
            self.process_files.set(files);
        }
    }

    /// Returns all metrics as text, in the OpenMetrics format.
    #[must_use]
    pub fn text(&self) -> String {
        let _one = lock(&self.answering);
        self.survey();
        self.look_at_the_process();
        let mut text = String::new();
        // Writing into a `String` cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// Converts the text to the older text format, for clients that ask for `text/plain`.
    #[must_use]
    pub fn classic(text: &str) -> String {
        classic::from_open_metrics(text)
    }

    pub(crate) fn request(
        &self,
        method: &Method,
        controller: bool,
        status: Option<StatusCode>,
        took: Duration,
    ) {
        let method = match *method {
            Method::GET => "GET",
            Method::POST => "POST",
            Method::PUT => "PUT",
            Method::PATCH => "PATCH",
            Method::DELETE => "DELETE",
            _ => "other",
        };
        let code = match status.map(|status| status.as_u16()) {
            None => "none",
            Some(200..300) => "2xx",
            Some(404) => "404",
            Some(409) => "409",
            Some(403) => "403",
            Some(429) => "429",
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
        if status.is_some() {
            self.request_seconds
                .get_or_create(&MethodLabels { method })
                .observe(took.as_secs_f64());
        }
    }

    pub(crate) fn reconcile(&self, outcome: &'static str, seconds: f64) {
        self.reconciles
            .get_or_create(&OutcomeLabels { outcome })
            .inc();
        self.reconcile_seconds.observe(seconds);
    }

    pub(crate) fn problem(&self, category: Category) {
        let reason = category.as_str();
        self.problems.get_or_create(&ReasonLabels { reason }).inc();
    }

    pub(crate) fn run_created(&self) {
        self.runs_created.inc();
    }

    pub(crate) fn run_finished(&self, result: RunResult) {
        let result = result.as_str();
        self.runs_finished
            .get_or_create(&ResultLabels { result })
            .inc();
    }

    pub(crate) fn run_deleted(&self) {
        self.runs_deleted.inc();
    }

    pub(crate) fn run_retried(&self) {
        self.run_retries.inc();
    }

    pub(crate) fn run_stopped(&self, reason: Option<&StopReason>) {
        let reason = labels::of_stop(reason);
        self.run_stops.get_or_create(&ReasonLabels { reason }).inc();
    }

    pub(crate) fn change_to_run(&self, took: Duration) {
        self.change_to_run.observe(took.as_secs_f64());
    }

    pub(crate) fn queue_length(&self, length: usize) {
        self.queue_length
            .set(i64::try_from(length).unwrap_or(i64::MAX));
    }

    pub(crate) fn events_dropped(&self, count: usize) {
        self.events_dropped.inc_by(count as u64);
    }

    pub(crate) fn watches(&self, state: WatchLabel, count: i64) {
        self.watched_kinds
            .get_or_create(&WatchLabels { state })
            .set(count);
    }

    /// Counts an object in the state `now`, and no longer in the state `before`.
    pub(crate) fn object_watch(&self, now: Option<ObjectWatch>, before: Option<ObjectWatch>) {
        let gauge = |state| {
            self.watched_secrets
                .get_or_create_owned(&SecretLabels { state })
        };
        if let Some(state) = now {
            gauge(state).inc();
        }
        if let Some(state) = before {
            gauge(state).dec();
        }
    }

    /// Records if the watch of something that the controller itself needs works.
    pub(crate) fn own_watch(&self, resource: &'static str, works: bool) {
        self.watch_up
            .get_or_create(&ResourceLabels { resource })
            .set(i64::from(works));
    }

    /// Removes a watch that nothing needs any more.
    pub(crate) fn own_watch_unneeded(&self, resource: &'static str) {
        self.watch_up.remove(&ResourceLabels { resource });
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

    pub(crate) fn status_refused(&self, verb: StatusVerb) {
        self.status_errors.get_or_create(&VerbLabels { verb }).inc();
    }

    pub(crate) fn status_conflict(&self) {
        self.status_conflicts.inc();
    }

    pub(crate) fn count_panic(&self) {
        self.panics.inc();
    }

    pub(crate) fn task_restarted(&self) {
        self.task_restarts.inc();
    }

    pub(crate) fn undecodable(&self) {
        self.undecodable.inc();
    }
}

#[cfg(test)]
mod tests;
