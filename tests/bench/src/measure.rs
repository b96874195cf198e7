//! Measurements, as they are computed, printed and written to JSON.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Measured durations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    micros: Vec<u32>,
}

/// Some points of a distribution, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Quantiles {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Latencies {
    pub(crate) fn record(&mut self, from: Instant, to: Instant) {
        let micros = to.saturating_duration_since(from).as_micros();
        self.micros.push(u32::try_from(micros).unwrap_or(u32::MAX));
    }

    pub(crate) fn len(&self) -> usize {
        self.micros.len()
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.micros.extend_from_slice(&other.micros);
    }

    /// Returns the quantiles: each is the smallest duration that this share of all does not exceed.
    pub(crate) fn quantiles(&self) -> Quantiles {
        let mut sorted = self.micros.clone();
        sorted.sort_unstable();
        let at = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).max(1);
            let micros = sorted.get(rank - 1).copied().unwrap_or_default();
            f64::from(micros) / 1000.0
        };
        Quantiles {
            p50: at(50),
            p95: at(95),
            p99: at(99),
            max: at(100),
        }
    }
}

/// A subject of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Subject {
    /// The controller under test.
    Controller,
    /// The unsafe reference that makes one create and one status patch a run.
    TwoWrites,
    /// The unsafe reference that makes one create and one write of a status a run, with conditions and a
    /// record of runs.
    WithConditions,
    /// The unsafe reference that makes the requests of the protocol blindly.
    Blind,
}

impl Subject {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::TwoWrites => "two writes (unsafe)",
            Self::WithConditions => "two writes with conditions (unsafe)",
            Self::Blind => "blind protocol (unsafe)",
        }
    }
}

/// Resident memory in MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MemoryUse {
    pub(crate) before: f64,
    pub(crate) peak: f64,
    pub(crate) settled: f64,
}

/// CPU time for one finished run, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CpuPerRun {
    /// Of the subject.
    pub(crate) own: f64,
    /// Of the API server: for all requests, including those of the load generator.
    pub(crate) api_server: Option<f64>,
    /// Of the store.
    pub(crate) etcd: Option<f64>,
    /// Of this benchmark: load, engine and watches.
    pub(crate) generator: f64,
    /// KiB that the API server has allocated, for all requests as well.
    #[serde(default)]
    pub(crate) allocated: Option<f64>,
}

/// Requests of one sort for one finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestCount {
    pub(crate) verb: String,
    pub(crate) resource: String,
    /// Identity of the request: `itself` or `ServiceAccount`.
    pub(crate) acting_as: String,
    pub(crate) total: u64,
    pub(crate) refused: u64,
    pub(crate) per_run: f64,
}

/// One row: a subject under one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    pub(crate) scenario: String,
    pub(crate) subject: Subject,
    pub(crate) runnables: usize,
    pub(crate) runs_each: usize,
    pub(crate) kinds: usize,
    /// Runs whose outputs arrived during the measurement.
    pub(crate) runs: usize,
    /// Time that changes were under way.
    pub(crate) seconds: f64,
    pub(crate) runs_per_second: f64,
    pub(crate) change_to_run: Quantiles,
    pub(crate) success_to_output: Quantiles,
    pub(crate) change_to_output: Quantiles,
    pub(crate) duplicates: u64,
    pub(crate) losses: u64,
    pub(crate) cpu: CpuPerRun,
    pub(crate) memory: MemoryUse,
    /// Empty without a readable audit log.
    pub(crate) requests: Vec<RequestCount>,
}

/// A start of a controller on a cluster that has everything already.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Start {
    pub(crate) runnables: usize,
    pub(crate) runs_each: usize,
    /// Seconds from its start until it had nothing left to do.
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    pub(crate) memory: MemoryUse,
    pub(crate) writes: u64,
    pub(crate) creates: u64,
    pub(crate) lists: u64,
    pub(crate) reads: u64,
    pub(crate) requests: Vec<RequestCount>,
}

/// An edit of one template under many Runnables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_field_names)] // from where to where
pub(crate) struct Edit {
    pub(crate) runnables: usize,
    pub(crate) seconds: f64,
    /// Of the edited template.
    pub(crate) runs_per_second: f64,
    /// With those of the other template.
    pub(crate) all_runs_per_second: f64,
    pub(crate) edit_to_output: Quantiles,
    pub(crate) others_change_to_run: Quantiles,
    pub(crate) others_change_to_output: Quantiles,
    pub(crate) duplicates: u64,
    pub(crate) losses: u64,
    pub(crate) cpu_ms_per_run: f64,
    pub(crate) memory_before: f64,
    pub(crate) memory_peak: f64,
    pub(crate) requests: Vec<RequestCount>,
}

/// Chains of Runnables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Chained {
    /// Way in which a link takes the output of the previous one.
    pub(crate) way: String,
    pub(crate) chains: usize,
    pub(crate) links: usize,
    /// Changes of heads.
    pub(crate) changes: u64,
    /// Runs that were made for them.
    pub(crate) runs: usize,
    pub(crate) seconds: f64,
    /// From the changes of all heads to the output of the last of their last links.
    pub(crate) change_to_last_output: Quantiles,
    pub(crate) cpu_ms_per_run: f64,
    /// From the start of the controller on.
    pub(crate) requests: Vec<RequestCount>,
}

/// Many Runnables whose runs wait, or are retried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Held {
    pub(crate) what: String,
    pub(crate) runnables: usize,
    /// Changes that were sent, of all of them.
    pub(crate) changes: u64,
    /// Runs that were made for them.
    pub(crate) runs: usize,
    /// With those of the other Runnables.
    pub(crate) all_runs: usize,
    /// Maximum number of runs of one Runnable that were at work at the same time.
    pub(crate) at_once: usize,
    /// Runnables that lack the outputs of their last change at the end.
    pub(crate) losses: u64,
    /// Seconds from the first change until all had the outputs of their last one.
    pub(crate) seconds: f64,
    pub(crate) others_change_to_run: Quantiles,
    pub(crate) others_change_to_output: Quantiles,
    pub(crate) cpu_ms_per_run: f64,
    pub(crate) memory_before: f64,
    pub(crate) memory_peak: f64,
    pub(crate) requests: Vec<RequestCount>,
}

/// A controller without work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Idle {
    pub(crate) runnables: usize,
    pub(crate) runs_each: usize,
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    /// Including events.
    pub(crate) writes: u64,
    pub(crate) requests: Vec<RequestCount>,
    /// The restart after that.
    pub(crate) restart: Start,
}

/// One sort of request, sent again and again while nothing else happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shape {
    pub(crate) request: String,
    /// Number of requests.
    pub(crate) requests: usize,
    /// KiB that the API server has allocated for each.
    pub(crate) kib: f64,
    /// Its CPU time for each, in milliseconds.
    pub(crate) cpu: f64,
    /// From the request to the answer, in milliseconds.
    pub(crate) latency: Quantiles,
}

/// An attack on a controller that serves others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attacked {
    pub(crate) attack: String,
    /// In MiB, as all memory here.
    pub(crate) memory_before: f64,
    pub(crate) memory_peak: f64,
    /// Seconds that the attack took to begin, and seconds of the measurement after that.
    pub(crate) began_in: f64,
    pub(crate) seconds: f64,
    /// Requests of the controller per second after the beginning, without those for others.
    pub(crate) requests: f64,
    pub(crate) status_writes: f64,
    /// CPU time of the controller after the beginning, in seconds per second.
    pub(crate) cpu: f64,
    /// From a change to its run, for Runnables in another namespace: before the attack, during its beginning,
    /// and after that.
    pub(crate) before: Quantiles,
    pub(crate) beginning: Quantiles,
    pub(crate) at_rest: Quantiles,
    /// The same during the beginning of the attack beside a controller that does not serve the attacker: the
    /// share of the API server and the machine. It is measured only where others waited more than twice as
    /// long as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unserved: Option<Quantiles>,
}

/// All measurements of one call of the benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Measured {
    pub(crate) machine: String,
    /// Memory of the controller before any Runnable, in MiB.
    #[serde(rename = "idleMiB")]
    pub(crate) idle_mib: Option<f64>,
    pub(crate) rows: Vec<Row>,
    pub(crate) starts: Vec<Start>,
    pub(crate) edits: Vec<Edit>,
    pub(crate) held: Vec<Held>,
    pub(crate) chains: Vec<Chained>,
    pub(crate) idle: Vec<Idle>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) attacks: Vec<Attacked>,
}

impl Row {
    /// Returns the writes for one finished run, without events and deletions of old runs.
    pub(crate) fn writes(&self) -> f64 {
        self.sum(|request| {
            matches!(request.verb.as_str(), "create" | "update" | "patch")
                && !request.resource.starts_with("events")
        })
    }

    /// Returns the reads for one finished run.
    pub(crate) fn reads(&self) -> f64 {
        self.sum(|request| matches!(request.verb.as_str(), "get" | "list"))
    }

    fn sum(&self, wanted: impl Fn(&RequestCount) -> bool) -> f64 {
        let counted = self.requests.iter().filter(|request| wanted(request));
        counted.map(|request| request.per_run).sum()
    }
}

pub(crate) fn mib(bytes: u64) -> f64 {
    float(bytes) / (1024.0 * 1024.0)
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Converts a count. Counts here are far below 2^52, where this loses nothing.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let begin = Instant::now();
        let mut latencies = Latencies::default();
        for millis in 1..=100 {
            latencies.record(begin, begin + Duration::from_millis(millis));
        }
        let quantiles = latencies.quantiles();
        assert!((quantiles.p50 - 50.0).abs() < 0.001, "{quantiles:?}");
        assert!((quantiles.p99 - 99.0).abs() < 0.001, "{quantiles:?}");
        assert!((quantiles.max - 100.0).abs() < 0.001, "{quantiles:?}");
    }

    #[test]
    fn nothing_measured_is_zero() {
        assert!(Latencies::default().quantiles().max.abs() < 0.001);
    }
}
