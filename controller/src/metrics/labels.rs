//! Labels of metrics, and their closed sets of values.

use cartouche_crds::{StopReason, conditions::READY};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};

use super::description::LabelNames;

/// Defines sets of labels by a table of names and types.
macro_rules! label_sets {
    ($($name:ident { $($label:ident: $type:ty),+ })+) => {
        $(
            #[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
            pub(super) struct $name {
                $(pub(super) $label: $type,)+
            }

            impl LabelNames for $name {
                const NAMES: &'static [&'static str] = &[$(stringify!($label)),+];
            }
        )+
    };
}

label_sets! {
    RequestLabels { method: &'static str, identity: &'static str, code: &'static str }
    MethodLabels { method: &'static str }
    OutcomeLabels { outcome: &'static str }
    ReasonLabels { reason: &'static str }
    ResultLabels { result: &'static str }
    WatchLabels { state: WatchLabel }
    SecretLabels { state: ObjectWatch }
    ReadyLabels { ready: &'static str, reason: &'static str }
    BuildLabels { version: &'static str }
    ResourceLabels { resource: &'static str }
    VerbLabels { verb: StatusVerb }
}

impl ReadyLabels {
    /// Labels of a healthy Runnable.
    pub(super) const BEST: Self = Self {
        ready: "True",
        reason: READY,
    };
}

/// Way in which a kind is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum WatchLabel {
    /// By a watch.
    Watched,
    /// By lists now and then, for lack of permissions.
    Polled,
    /// By lists now and then, because the watch fails.
    Failing,
}

/// State of the watch of one object that inputs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum ObjectWatch {
    /// It is not known yet.
    Starting,
    /// The watch shows changes.
    Watched,
    /// The account may not watch it.
    Refused,
    /// There are too many.
    Full,
    /// The watch fails.
    Failing,
}

/// Request for a status, by the verb of roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatusVerb {
    /// A read.
    Get,
    /// A write.
    Update,
}

impl StatusVerb {
    /// Returns the word in a message.
    #[must_use]
    pub fn doing(self) -> &'static str {
        match self {
            Self::Get => "read",
            Self::Update => "write",
        }
    }
}

impl EncodeLabelValue for StatusVerb {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> std::fmt::Result {
        let verb = match self {
            Self::Get => "get",
            Self::Update => "update",
        };
        EncodeLabelValue::encode(&verb, encoder)
    }
}

/// Returns the label of a stop's reason. A word that only another release knows is not in the closed set.
pub(super) fn of_stop(reason: Option<&StopReason>) -> &'static str {
    match reason {
        Some(StopReason::TimedOut) => "TimedOut",
        Some(StopReason::Replaced | StopReason::Withdrawn) => "Replaced",
        Some(StopReason::Cancelled) => "Cancelled",
        Some(StopReason::Other(_)) | None => "Other",
    }
}
