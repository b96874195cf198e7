//! Labels of metrics, and their closed sets of values.

use cartouche_crds::StopReason;
use cartouche_protocol::conditions::READY;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RequestLabels {
    pub(super) method: &'static str,
    pub(super) identity: &'static str,
    pub(super) code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct MethodLabels {
    pub(super) method: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OutcomeLabels {
    pub(super) outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ReasonLabels {
    pub(super) reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ResultLabels {
    pub(super) result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct WatchLabels {
    pub(super) state: WatchLabel,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct SecretLabels {
    pub(super) state: ObjectWatch,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ReadyLabels {
    pub(super) ready: &'static str,
    pub(super) reason: &'static str,
}

impl ReadyLabels {
    /// Labels of a healthy Runnable.
    pub(super) const BEST: Self = Self {
        ready: "True",
        reason: READY,
    };
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct BuildLabels {
    pub(super) version: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ResourceLabels {
    pub(super) resource: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct VerbLabels {
    pub(super) verb: StatusVerb,
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
