//! Identity of an object, and what was read in it.

use std::{collections::BTreeMap, sync::Arc};

use cartouche_crds::{
    Cancellation, CurrentRun, HistoryEntry, INPUT_HASH_ANNOTATION, MAX_SEQUENCE,
    PROFILE_ANNOTATION, PROFILE_REFRESH_ANNOTATION, ProfileVersion, RERUN_TOKEN_ANNOTATION,
    RUN_SEQUENCE_LABEL, RUNNABLE_NAME_LABEL, RunResult, short_message,
};
use cartouche_engines::{Health, PodsTell, Said, Sensitive, Verdict, kinds::Standing};
use cartouche_language::{CLOCKS, controlling_runnable, name_suffix, weight::weight};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};
use serde_json::Value;

use super::Asked;
use crate::{
    managed_fields::Writers,
    messages::diagnosis::{Fault, Holder},
    rerun,
};

/// Longest time after which a create lands, counted from the decision to supersede the ledger that it is sent for.
/// That ledger is written within 10 seconds, or the API server gives it up. A create is sent within 10 seconds
/// after its ledger was read, and is given up after 10 more.
const LANDS_WITHIN: SignedDuration = SignedDuration::from_secs(30);
/// Time after a ledger recorded the run, after which no create for it can land any more, by any clock.
pub(crate) const LANDED_BY: SignedDuration =
    SignedDuration::from_secs(LANDS_WITHIN.as_secs() + CLOCKS.as_secs());

/// Returns true if a time lies before another one, whatever the clocks.
fn is_before(at: Timestamp, other: Timestamp) -> bool {
    at < other.checked_sub(CLOCKS).unwrap_or(Timestamp::MIN)
}

/// Profile that an object claims to be made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunProfile {
    /// Its name and generation.
    pub version: ProfileVersion,
    /// Refresh request that its choice answered.
    pub refresh_token: Option<String>,
}

/// Identity that an object claims. Any client that may create its kind can write all of it, so nothing here is
/// believed unless the ledger, or a rebuild of it, agrees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunIdentity {
    /// `apiVersion` that it was read with.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Uid of the Runnable that controls it, by its owner reference.
    pub owner_uid: Option<String>,
    /// Sequence on its label.
    pub sequence: Option<i64>,
    /// Hash in its annotation.
    pub input_hash: Option<String>,
    /// Re-run request in its annotation.
    pub rerun_token: Option<String>,
    /// Profile that it claims to be made with; boxed, since most have none.
    pub profile: Option<Box<RunProfile>>,
    /// Creation time.
    pub created: Option<Timestamp>,
    /// True if its creator wrote a status into it, which no controller of runs does.
    pub made_with_status: bool,
}

impl RunIdentity {
    /// Reads the identity out of an object's JSON. `None` without a name and a uid.
    #[must_use]
    pub fn from_object(object: &Value) -> Option<Self> {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let metadata = object.get("metadata")?;
        let tagged =
            |group: &str, key: &str| metadata.get(group)?.get(key)?.as_str().map(str::to_owned);
        let owner_uid = controlling_runnable(metadata).and_then(|owner| owner.get("uid"));
        let owner_uid = owner_uid.and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            api_version: text("/apiVersion").unwrap_or_default(),
            kind: text("/kind").unwrap_or_default(),
            name: text("/metadata/name")?,
            uid: text("/metadata/uid")?,
            owner_uid,
            // A run of ours has both labels, so an object that its watch does not show is none.
            sequence: tagged("labels", RUNNABLE_NAME_LABEL)
                .and_then(|_| tagged("labels", RUN_SEQUENCE_LABEL))
                .and_then(|sequence| sequence.parse().ok())
                .filter(|sequence| (1..=MAX_SEQUENCE).contains(sequence)),
            // Any client can write any text here, and it may get into a status. The values of runs are short and
            // stay as they are.
            input_hash: tagged("annotations", INPUT_HASH_ANNOTATION)
                .map(|hash| short_message(&hash)),
            rerun_token: tagged("annotations", RERUN_TOKEN_ANNOTATION)
                .map(|token| rerun::bound_token(&token)),
            profile: tagged("annotations", PROFILE_ANNOTATION)
                .and_then(|text| ProfileVersion::parse(&text))
                .map(|version| {
                    let refresh_token = tagged("annotations", PROFILE_REFRESH_ANNOTATION)
                        .map(|token| rerun::bound_token(&token));
                    Box::new(RunProfile {
                        version,
                        refresh_token,
                    })
                }),
            created: text("/metadata/creationTimestamp").and_then(|at| at.parse().ok()),
            made_with_status: metadata
                .get("managedFields")
                .is_some_and(|writers| !Writers::from_managed_fields(writers).is_plain()),
        })
    }

    /// Returns true if the Runnable with this uid controls it.
    #[must_use]
    pub fn is_owned_by(&self, runnable_uid: &str) -> bool {
        self.owner_uid.as_deref() == Some(runnable_uid)
    }

    /// Returns true if this is what a create for the entry makes: its sequence and its hash.
    #[must_use]
    pub fn answers(&self, entry: &CurrentRun) -> bool {
        self.sequence == Some(entry.sequence) && self.input_hash.as_ref() == Some(&entry.input_hash)
    }

    /// Returns true if a create for the entry can have made this object, which was met under its name or shown by a
    /// watch. Number, hash, owner and thus the name are public, and any client may have put an object there. A run
    /// of ours is also younger than its intent, and was made without a status.
    #[must_use]
    pub fn is_made_for(&self, entry: &CurrentRun) -> bool {
        self.answers(entry) && !self.is_older_than(entry) && !self.made_with_status
    }

    /// Returns true if the object existed before the entry was intended, so that no create for it made it.
    #[must_use]
    pub fn is_older_than(&self, entry: &CurrentRun) -> bool {
        let intended = entry.intent_at.as_ref().map(|at| at.0);
        self.created
            .zip(intended)
            .is_some_and(|(created, intended)| is_before(created, intended))
    }

    /// Returns true if this was made by a create for the entry that landed after its confirmed run had gone.
    #[must_use]
    pub fn is_late_for(&self, entry: &CurrentRun) -> bool {
        let gone = entry.started_at.as_ref();
        self.is_made_for(entry) && self.has_landed_between(gone, gone)
    }

    /// Returns true if this is the run of an earlier entry that was not seen yet. When the entry was superseded, a
    /// read did not find the run, or was not possible, and no create for it was sent afterwards.
    #[must_use]
    pub fn is_of(&self, entry: &HistoryEntry) -> bool {
        entry.uid.is_none()
            && entry.taken_by.as_ref() != Some(&self.uid)
            && self.sequence == Some(entry.sequence)
            && self.name == entry.name
            && self.kind == entry.kind
            && self.input_hash.as_ref() == Some(&entry.input_hash)
            && self.has_landed_between(
                entry.intent_at.as_ref().or(entry.started_at.as_ref()),
                entry.started_at.as_ref(),
            )
            && !self.made_with_status
    }

    /// Returns true if a create that was sent between these times can have made it. An unknown time rules nothing
    /// out.
    fn has_landed_between(&self, first: Option<&Time>, last: Option<&Time>) -> bool {
        let is_early = |(created, first): (Timestamp, &Time)| is_before(created, first.0);
        // A client that has edited a status may have written any time.
        let is_late = |(created, last): (Timestamp, &Time)| {
            let by = last.0.checked_add(LANDED_BY);
            created > by.unwrap_or(Timestamp::MAX)
        };
        !self.created.zip(first).is_some_and(is_early)
            && !self.created.zip(last).is_some_and(is_late)
    }

    /// Returns the sequence if owner and name confirm it: the name of sequence n ends in a suffix that only this
    /// Runnable's n-th run has.
    #[must_use]
    pub fn genuine_sequence(&self, runnable_uid: &str) -> Option<i64> {
        let sequence = self.sequence.filter(|_| self.is_owned_by(runnable_uid))?;
        self.name
            .ends_with(&name_suffix(runnable_uid, sequence))
            .then_some(sequence)
    }
}

/// Outputs in a run, by the rules of its template.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputsRead {
    /// The run has not succeeded, or the template declares no outputs.
    None,
    /// All outputs.
    Values(BTreeMap<String, Value>),
    /// The outputs could not be taken.
    Unsatisfied {
        /// Reason in Cartographer's words.
        why: String,
        /// Reason for people.
        faults: Vec<Fault>,
    },
    /// The outputs are in the termination message of the run's pod, which was not read with it.
    Elsewhere,
}

/// Report of the pods of a failed run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PodsSaid {
    /// No report, or the pods were not asked.
    #[default]
    Nothing,
    /// Reason why the run failed.
    Words(Said),
    /// Reason why the pods could not be asked. It does not explain the failure, and gives way to an earlier report.
    Unasked(String),
}

/// Run as read by the Runnable's `ServiceAccount`.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchedRun {
    /// Identity that the object claims.
    pub run: RunIdentity,
    /// Health of the run.
    pub health: Health,
    /// Outputs, if it succeeded.
    pub outputs: OutputsRead,
    /// Outputs for Secrets only, beside all others.
    pub sensitive: Sensitive,
    /// Failure outputs, if the template declares any and the run has failed.
    pub failure: Option<BTreeMap<String, Value>>,
    /// Hash of the rules that `health` and `outputs` were read by.
    pub rules_hash: Arc<str>,
    /// True if it was found to contain what the template renders now.
    pub matches: bool,
    /// Facts that its pods can give and it does not.
    pub pods_tell: PodsTell,
    /// Report of its pods.
    pub pods_said: PodsSaid,
    /// Kind and name of its controller, by its owner reference.
    pub controller: Option<String>,
    /// Cancellation in its annotation: who stopped it, and why.
    pub stopped: Option<Cancellation>,
    /// Sign on the object that it was asked to stop.
    pub asked: Asked,
    /// Standing between its creation and its end.
    pub standing: Standing,
    /// `resourceVersion` that it was read in.
    pub version: Option<u64>,
}

impl FetchedRun {
    /// Returns success or failure, or `None` if it has not ended.
    #[must_use]
    pub fn result(&self) -> Option<RunResult> {
        result_of(self.health.verdict)
    }

    /// Returns the weight of the values that it gives and of its engine's message.
    #[must_use]
    pub fn weight(&self) -> usize {
        let given = match &self.outputs {
            OutputsRead::Values(values) => Some(values),
            _ => None,
        };
        let shown = given.into_iter().chain(&self.failure).flatten();
        let sensitive = self.sensitive.names();
        let sensitive = sensitive.filter_map(|name| self.sensitive.reveal(name));
        let values = shown.map(|(_, value)| value).chain(sensitive);
        values.map(weight).sum::<usize>() + self.health.message.len()
    }
}

impl Holder {
    /// Returns the holder of a name that the run to be made needs. It is an earlier run only if all runs share that
    /// name.
    #[must_use]
    pub fn from_found(found: &FetchedRun, runnable_uid: &str, is_fixed: bool) -> Self {
        let created = found.run.created;
        match &found.controller {
            _ if is_fixed && found.run.is_owned_by(runnable_uid) => Self::EarlierRun,
            Some(by) => Self::Controlled {
                by: by.clone(),
                created,
            },
            None => Self::Uncontrolled { created },
        }
    }
}

/// Returns success or failure, or `None` while a run has not ended.
#[must_use]
pub fn result_of(verdict: Verdict) -> Option<RunResult> {
    match verdict {
        Verdict::Succeeded => Some(RunResult::Succeeded),
        Verdict::Failed => Some(RunResult::Failed),
        Verdict::Unknown => None,
    }
}
