//! The shown part of an object: its name and the state of a Runnable. No values.

use cartouche_crds::{
    Runnable,
    conditions::{READY, RUN_TEMPLATE_READY, TRUE, find},
};
use cartouche_protocol::{messages::format::MessageParts, sources::Seen, status::blocking};
use serde_json::{Value, json};

use super::Id;

/// An object of a graph.
#[derive(Clone, Debug)]
pub struct GraphNode {
    /// Identity of the object.
    pub id: Id,
    /// Knowledge of the object.
    pub known: NodeKnowledge,
}

/// Knowledge of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKnowledge {
    /// A Runnable that was read.
    Seen(Box<RunnableState>),
    /// Only the name: objects that are no Runnables are not read.
    Named,
    /// The object does not exist, or is not among the files.
    Absent,
    /// The user may not read it.
    NotVisible,
    /// Not read, since there are too many.
    NotLookedAt,
}

/// State of a Runnable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnableState {
    /// Status and reason of the condition Ready; `None` before a controller has reconciled it.
    pub ready: Option<(String, String)>,
    /// Reason why the pending run waits, in one word.
    pub pending: Option<String>,
    /// Obstacle to the next run, from the status.
    pub held_by: Option<String>,
    /// True if `spec.suspend` is set.
    pub suspended: bool,
    /// True if it is on a cluster.
    pub live: bool,
    /// The revision of its outputs.
    pub revision: Option<String>,
}

impl GraphNode {
    pub(super) fn from_runnable(runnable: &Runnable) -> Self {
        Self {
            id: Id::from_runnable(runnable),
            known: NodeKnowledge::Seen(Box::new(RunnableState::from_runnable(runnable))),
        }
    }

    pub(super) fn without(id: Id, known: NodeKnowledge) -> Self {
        Self { id, known }
    }

    /// Returns the state, or `None` if the object was not read.
    pub(super) fn state(&self) -> Option<&RunnableState> {
        match &self.known {
            NodeKnowledge::Seen(state) => Some(state),
            _ => None,
        }
    }

    /// Returns the state in a few words.
    pub(super) fn describe(&self) -> String {
        match &self.known {
            NodeKnowledge::Seen(state) => state.describe(),
            NodeKnowledge::Named => String::new(),
            NodeKnowledge::Absent => "not there".to_owned(),
            NodeKnowledge::NotVisible => "not visible to you".to_owned(),
            NodeKnowledge::NotLookedAt => "not read".to_owned(),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let Id {
            namespace,
            name,
            kind,
        } = &self.id;
        let mut node = json!({
            "id": self.id.key(), "kind": kind, "namespace": namespace, "name": name,
            "known": match &self.known {
                NodeKnowledge::Seen(_) => "Seen",
                NodeKnowledge::Named => "Named",
                NodeKnowledge::Absent => "Absent",
                NodeKnowledge::NotVisible => "NotVisible",
                NodeKnowledge::NotLookedAt => "NotLookedAt",
            },
        });
        if let Some(state) = self.state() {
            let ready = state.ready.as_ref();
            node["ready"] = json!(ready.map(|(status, _)| status));
            node["reason"] = json!(ready.map(|(_, reason)| reason));
            node["suspended"] = json!(state.suspended);
            node["pending"] = json!(state.pending);
            node["heldBy"] = json!(state.held_by);
            node["revision"] = json!(state.revision);
        }
        node
    }
}

impl RunnableState {
    fn from_runnable(runnable: &Runnable) -> Self {
        let status = runnable.status.as_ref();
        let ready = status.and_then(|it| find(it, READY));
        let blocking = status.filter(|_| ready.is_none_or(|ready| ready.status != TRUE));
        let blocking = blocking.and_then(blocking_of_ours);
        let pending = status.and_then(|it| it.pending.as_ref());
        Self {
            ready: ready.map(|ready| (ready.status.clone(), ready.reason.clone())),
            pending: pending.map(|it| it.reason.clone()),
            held_by: blocking,
            suspended: runnable.spec.suspend == Some(true),
            live: runnable.metadata.uid.is_some(),
            revision: Seen::from_runnable(runnable)
                .revision
                .map(|it| it.to_string()),
        }
    }

    fn describe(&self) -> String {
        let mut words = match &self.ready {
            Some((status, reason)) if reason.is_empty() => status.clone(),
            Some((status, reason)) => format!("{status} ({reason})"),
            None if self.live => "no status".to_owned(),
            None => String::new(),
        };
        if self.suspended {
            words.push_str(if words.is_empty() {
                "suspended"
            } else {
                ", suspended"
            });
        }
        let ready_reason = self.ready.as_ref().map(|(_, reason)| reason);
        if let Some(pending) = self.pending.as_ref().filter(|it| Some(*it) != ready_reason) {
            words.push_str(", a run waits: ");
            words.push_str(pending);
        }
        words
    }
}

/// Returns the message about an unusable template, without the words of an engine: these may be anything.
fn blocking_of_ours(status: &cartouche_crds::RunnableStatus) -> Option<String> {
    let blocking = blocking(status).filter(|it| it.type_ == RUN_TEMPLATE_READY)?;
    let what = MessageParts::parse(&blocking.message).what;
    (!what.is_empty()).then(|| what.to_owned())
}
