//! What is shown of an object: its name and, of a Runnable, how it stands. No value of any.

use cartouche_crds::Runnable;
use cartouche_protocol::{
    conditions::{READY, RUN_TEMPLATE_READY, TRUE, find},
    sources::Seen,
    status::blocking,
    told::Told,
};
use serde_json::{Value, json};

use super::Id;

/// An object of a graph.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) id: Id,
    pub(crate) known: Known,
}

/// What is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It is a Runnable that was read.
    Seen(Box<State>),
    /// Only its name: what is no Runnable is not read.
    Named,
    /// It is not there, or not among the files.
    Absent,
    /// It may not be read.
    NotVisible,
    /// There are too many to look at all.
    NotLookedAt,
}

/// How a Runnable stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Status and reason of the condition Ready; nothing where no controller has looked at it.
    pub(crate) ready: Option<(String, String)>,
    /// Why a run that is due waits, in one word.
    pub(crate) pending: Option<String>,
    /// What keeps a run from being made, as its status says it.
    pub(crate) held_by: Option<String>,
    pub(crate) suspended: bool,
    /// Whether it is on a cluster.
    pub(crate) live: bool,
    /// The revision of its outputs.
    pub(crate) revision: Option<String>,
}

impl Node {
    pub(super) fn of(runnable: &Runnable) -> Self {
        Self {
            id: Id::of(runnable),
            known: Known::Seen(Box::new(State::of(runnable))),
        }
    }

    pub(super) fn without(id: Id, known: Known) -> Self {
        Self { id, known }
    }

    /// How it stands, if it was read.
    pub(super) fn state(&self) -> Option<&State> {
        match &self.known {
            Known::Seen(state) => Some(state),
            _ => None,
        }
    }

    /// How it stands, in a few words.
    pub(super) fn shown(&self) -> String {
        match &self.known {
            Known::Seen(state) => state.shown(),
            Known::Named => String::new(),
            Known::Absent => "not there".to_owned(),
            Known::NotVisible => "not visible to you".to_owned(),
            Known::NotLookedAt => "not looked at".to_owned(),
        }
    }

    pub(super) fn written(&self) -> Value {
        let Id {
            namespace,
            name,
            kind,
        } = &self.id;
        let mut node = json!({
            "id": self.id.key(), "kind": kind, "namespace": namespace, "name": name,
            "known": match &self.known {
                Known::Seen(_) => "Seen",
                Known::Named => "Named",
                Known::Absent => "Absent",
                Known::NotVisible => "NotVisible",
                Known::NotLookedAt => "NotLookedAt",
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

impl State {
    fn of(runnable: &Runnable) -> Self {
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
            revision: Seen::of(runnable).revision.map(|it| it.to_string()),
        }
    }

    fn shown(&self) -> String {
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
        let told = self.ready.as_ref().map(|(_, reason)| reason);
        if let Some(pending) = self.pending.as_ref().filter(|it| Some(*it) != told) {
            words.push_str(", a run waits: ");
            words.push_str(pending);
        }
        words
    }
}

/// Of what an engine says, nothing: it may be anything.
fn blocking_of_ours(status: &cartouche_crds::RunnableStatus) -> Option<String> {
    let blocking = blocking(status).filter(|it| it.type_ == RUN_TEMPLATE_READY)?;
    let what = Told::of(&blocking.message).what;
    (!what.is_empty()).then(|| what.to_owned())
}
