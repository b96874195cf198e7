//! The events for the judge: who did what to which object, and when.

use std::sync::Arc;

use cartouche_crds::{
    CANCEL_REQUEST_ANNOTATION, INPUT_HASH_ANNOTATION, PROFILE_ANNOTATION, ProfileVersion,
    RERUN_TOKEN_ANNOTATION, RUN_SEQUENCE_LABEL, RunnableStatus,
};
use cartouche_engines::kinds::asked_to_stop;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

/// Order of events: a resourceVersion.
pub type Time = u64;

/// An actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A controller of ours, as itself or as a Runnable's account.
    Controller,
    /// A user with rights, or the API server's garbage collector: no controller is to blame.
    Person,
    /// The original controller.
    Original,
    /// An account that may create the kind of the runs, and nothing else.
    Stranger,
}

/// An action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// The object was created.
    Created,
    /// A create or a write whose sender did not wait for an answer: it took effect, or not.
    GivenUp,
    /// The object was changed, or is seen to exist.
    Changed,
    /// The object was deleted.
    Deleted,
}

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its time.
    pub at: Time,
    /// Its time in seconds, by a clock that is never set. For a run of the original, the time of its
    /// creation. For a write to a status, the API server's clock, as in the times of the status.
    pub second: Option<i64>,
    /// Its actor.
    pub actor: Actor,
    /// Its action.
    pub verb: Verb,
    /// Its object.
    pub object: Object,
}

/// An object of an event.
#[derive(Clone, Debug)]
pub enum Object {
    /// An object of a kind that runs have.
    Run(Run),
    /// A Runnable.
    Runnable(Runnable),
    /// A template, of which only these fields count.
    Template {
        /// Its name.
        name: String,
        /// The kind that it renders.
        kind: String,
    },
}

/// A Runnable, of which only the status counts, and the user's approvals and requests.
#[derive(Clone, Debug, Default)]
pub struct Runnable {
    /// Its uid.
    pub uid: String,
    /// The run that its annotation approves.
    pub approved: Option<String>,
    /// The request on it to choose its profile anew.
    pub refresh: Option<String>,
    /// Its status.
    pub status: Arc<RunnableStatus>,
}

/// A run, or an object that claims to be one. A field that a world cannot see is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Its uid.
    pub uid: String,
    /// The uid of the Runnable that controls it.
    pub runnable: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its number. Runs of the original controller have none.
    pub number: Option<i64>,
    /// The hash of its rendering.
    pub hash: String,
    /// The re-run request that it answers.
    pub token: Option<String>,
    /// The name of the profile that it records.
    pub profile: Option<String>,
    /// Its content.
    pub content: Option<String>,
    /// Its creation time, in seconds, by the API server's clock.
    pub created: Option<i64>,
    /// True if it succeeded; `None` if it has not ended.
    pub result: Option<bool>,
    /// True if a user has asked it to stop.
    pub cancelled: bool,
    /// Its output `answer`.
    pub answer: Option<Value>,
}

impl Run {
    /// Reads the run from an object: its metadata, and its `Succeeded` condition.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| {
            let text = object.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let tag = |group: &str, key: &str| object["metadata"][group].get(key)?.as_str();
        let created = text("/metadata/creationTimestamp").parse::<Timestamp>();
        let conditions = object
            .pointer("/status/conditions")
            .and_then(Value::as_array);
        let succeeded = conditions
            .into_iter()
            .flatten()
            .find(|it| it["type"] == "Succeeded");
        Self {
            uid: text("/metadata/uid"),
            runnable: text("/metadata/ownerReferences/0/uid"),
            kind: text("/kind"),
            name: text("/metadata/name"),
            number: tag("labels", RUN_SEQUENCE_LABEL).and_then(|number| number.parse().ok()),
            hash: tag("annotations", INPUT_HASH_ANNOTATION)
                .unwrap_or_default()
                .to_owned(),
            token: tag("annotations", RERUN_TOKEN_ANNOTATION).map(str::to_owned),
            profile: tag("annotations", PROFILE_ANNOTATION)
                .and_then(ProfileVersion::parse)
                .map(|version| version.name),
            created: created.ok().map(Timestamp::as_second),
            result: succeeded.and_then(|condition| match condition["status"].as_str()? {
                "True" => Some(true),
                "False" => Some(false),
                _ => None,
            }),
            cancelled: tag("annotations", CANCEL_REQUEST_ANNOTATION).is_some()
                || asked_to_stop(object),
            content: None,
            answer: None,
        }
    }
}
