//! Descriptions of metrics, for the reference.

use prometheus_client::metrics::{
    counter::Counter, family::Family, gauge::Gauge, histogram::Histogram,
};

/// A metric as a scrape shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Subject that it belongs to, such as `Runs`.
    pub subject: &'static str,
    /// Name, with the `_total` of a counter.
    pub name: String,
    /// Type.
    pub kind: MetricKind,
    /// Names of its labels, without the `le` of a histogram.
    pub labels: &'static [&'static str],
    /// Help text.
    pub help: &'static str,
}

impl Description {
    /// Describes a metric by its type.
    pub(super) fn new<M: Described>(
        subject: &'static str,
        name: &'static str,
        help: &'static str,
    ) -> Self {
        let suffix = match M::KIND {
            MetricKind::Counter => "_total",
            MetricKind::Gauge | MetricKind::Histogram => "",
        };
        Self {
            subject,
            name: format!("{name}{suffix}"),
            kind: M::KIND,
            labels: M::LABELS,
            help,
        }
    }
}

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only rises, until a restart.
    Counter,
    /// It rises and falls.
    Gauge,
    /// It counts values by size.
    Histogram,
}

impl MetricKind {
    /// Returns the word after `# TYPE` in a scrape.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Type and labels of a metric, from its Rust type.
pub(super) trait Described {
    /// Its type.
    const KIND: MetricKind;
    /// Names of its labels.
    const LABELS: &'static [&'static str] = &[];
}

/// Names of a set of labels.
pub(super) trait LabelNames {
    /// The names, in the order of a scrape.
    const NAMES: &'static [&'static str];
}

impl<N, A> Described for Counter<N, A> {
    const KIND: MetricKind = MetricKind::Counter;
}

impl<N, A> Described for Gauge<N, A> {
    const KIND: MetricKind = MetricKind::Gauge;
}

impl Described for Histogram {
    const KIND: MetricKind = MetricKind::Histogram;
}

impl<S: LabelNames, M: Described, C> Described for Family<S, M, C> {
    const KIND: MetricKind = M::KIND;
    const LABELS: &'static [&'static str] = S::NAMES;
}
