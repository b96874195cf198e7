//! What an object says about itself, and what was read in it.

use std::{collections::BTreeMap, sync::Arc};

use cartouche_crds::{
    Cancellation, CurrentRun, HistoryEntry, INPUT_HASH_ANNOTATION, MAX_SEQUENCE,
    PROFILE_ANNOTATION, PROFILE_REFRESH_ANNOTATION, ProfileVersion, RERUN_TOKEN_ANNOTATION,
    RUN_SEQUENCE_LABEL, RUNNABLE_NAME_LABEL, RunResult, short_message,
};
use cartouche_templating::{
    CLOCKS, Health, PodsTell, Said, Sensitive, Verdict, controlling_runnable, kinds::Standing,
    name_suffix, weight::weight,
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};
use serde_json::Value;

use super::Asked;
use crate::{
    diagnosis::{Fault, Holder},
    managed_fields::Writers,
    rerun,
};

/// A create lands at most this long after it was decided to supersede the ledger that it is sent for: that is written within 10
/// seconds, or the API server gives it up; a create is sent within 10 after its ledger was read, and given up after 10 too.
const LANDS_WITHIN: SignedDuration = SignedDuration::from_secs(30);
/// So long after a ledger said that the run is there, no create for it can land any more, by any clock.
pub(crate) const LANDED_BY: SignedDuration =
    SignedDuration::from_secs(LANDS_WITHIN.as_secs() + CLOCKS.as_secs());

/// Whether a time lies before another one, whatever the clocks.
fn is_before(at: Timestamp, other: Timestamp) -> bool {
    at < other.checked_sub(CLOCKS).unwrap_or(Timestamp::MIN)
}

/// The profile that an object says it was made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunProfile {
    /// Its name and generation.
    pub version: ProfileVersion,
    /// The request to choose anew that its choice answered.
    pub refresh_token: Option<String>,
}

/// What an object says about itself. Anybody who may create its kind can write all of it, so
/// nothing here is believed unless the ledger, or a rebuild of it, agrees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunIdentity {
    /// The `apiVersion` it was read with.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The uid of the Runnable that controls it, by its owner reference.
    pub owner_uid: Option<String>,
    /// The sequence on its label.
    pub sequence: Option<i64>,
    /// The hash in its annotation.
    pub input_hash: Option<String>,
    /// The re-run request in its annotation.
    pub rerun_token: Option<String>,
    /// The profile that it says it was made with; boxed, since most have none.
    pub profile: Option<Box<RunProfile>>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// Whoever created it wrote a status into it, which no controller of runs does.
    pub made_with_status: bool,
}

impl RunIdentity {
    /// Reads the identity out of an object's JSON. `None` without a name and a uid.
    #[must_use]
    pub fn of(object: &Value) -> Option<Self> {
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
            // A run of ours has both labels, so that what its watch does not show is none.
            sequence: tagged("labels", RUNNABLE_NAME_LABEL)
                .and_then(|_| tagged("labels", RUN_SEQUENCE_LABEL))
                .and_then(|sequence| sequence.parse().ok())
                .filter(|sequence| (1..=MAX_SEQUENCE).contains(sequence)),
            // Anybody can write any text there, and it may come into a status. Those of runs are as they are.
            input_hash: tagged("annotations", INPUT_HASH_ANNOTATION)
                .map(|hash| short_message(&hash)),
            rerun_token: tagged("annotations", RERUN_TOKEN_ANNOTATION)
                .map(|token| rerun::bounded(&token)),
            profile: tagged("annotations", PROFILE_ANNOTATION)
                .and_then(|text| ProfileVersion::of(&text))
                .map(|version| {
                    let refresh_token = tagged("annotations", PROFILE_REFRESH_ANNOTATION)
                        .map(|token| rerun::bounded(&token));
                    Box::new(RunProfile {
                        version,
                        refresh_token,
                    })
                }),
            created: text("/metadata/creationTimestamp").and_then(|at| at.parse().ok()),
            made_with_status: metadata
                .get("managedFields")
                .is_some_and(|writers| !Writers::of(writers).is_plain()),
        })
    }

    /// Whether the Runnable with this uid controls it.
    #[must_use]
    pub fn is_owned_by(&self, runnable_uid: &str) -> bool {
        self.owner_uid.as_deref() == Some(runnable_uid)
    }

    /// Whether this is what a create for the entry makes: its sequence and its hash.
    #[must_use]
    pub fn answers(&self, entry: &CurrentRun) -> bool {
        self.sequence == Some(entry.sequence) && self.input_hash.as_ref() == Some(&entry.input_hash)
    }

    /// Whether a create for the entry can have made this object, which was met under its name or
    /// shown by a watch. Number, hash, owner and so the name are public, and anybody may have put an
    /// object there: a run of ours is also younger than its intent, and was made without a status.
    #[must_use]
    pub fn is_made_for(&self, entry: &CurrentRun) -> bool {
        self.answers(entry) && !self.is_older_than(entry) && !self.made_with_status
    }

    /// Whether this was there before the entry was intended, so that no create for it made it.
    #[must_use]
    pub fn is_older_than(&self, entry: &CurrentRun) -> bool {
        let intended = entry.intent_at.as_ref().map(|at| at.0);
        self.created
            .zip(intended)
            .is_some_and(|(created, intended)| is_before(created, intended))
    }

    /// Whether this is what a create for the entry made that landed after its confirmed run had gone.
    #[must_use]
    pub fn is_late_for(&self, entry: &CurrentRun) -> bool {
        let gone = entry.started_at.as_ref();
        self.is_made_for(entry) && self.has_landed_between(gone, gone)
    }

    /// Whether this is the run of an earlier entry that was not seen yet: when it was superseded a read
    /// did not find it, or could not be had, and no create for it was sent any more.
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

    /// Whether a create that was sent between these times can have made it. Where a time is not known, it
    /// may have.
    fn has_landed_between(&self, first: Option<&Time>, last: Option<&Time>) -> bool {
        let is_early = |(created, first): (Timestamp, &Time)| is_before(created, first.0);
        // Who has edited a status may have written any time.
        let is_late = |(created, last): (Timestamp, &Time)| {
            let by = last.0.checked_add(LANDED_BY);
            created > by.unwrap_or(Timestamp::MAX)
        };
        !self.created.zip(first).is_some_and(is_early)
            && !self.created.zip(last).is_some_and(is_late)
    }

    /// The sequence, if owner and name bear it out: the name of sequence n ends in a suffix that
    /// only this Runnable's n-th run has.
    #[must_use]
    pub fn genuine_sequence(&self, runnable_uid: &str) -> Option<i64> {
        let sequence = self.sequence.filter(|_| self.is_owned_by(runnable_uid))?;
        self.name
            .ends_with(&name_suffix(runnable_uid, sequence))
            .then_some(sequence)
    }
}

/// The outputs in a run, by the rules of its template.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputsRead {
    /// The run has not succeeded, or the template declares no outputs.
    None,
    /// All outputs.
    Values(BTreeMap<String, Value>),
    /// They could not be taken.
    Unsatisfied {
        /// Why, in Cartographer's words.
        why: String,
        /// The same for people.
        faults: Vec<Fault>,
    },
    /// They are in the words of the run's pod, which was not read with it.
    Elsewhere,
}

/// What the pods of a failed run told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PodsSaid {
    /// Nothing, or nobody asked them.
    #[default]
    Nothing,
    /// Why it failed.
    Words(Said),
    /// They could not be asked: why. That is no reason for anything, and gives way to what was known before.
    Unasked(String),
}

/// What was read in a run's object, as the Runnable's `ServiceAccount`.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchedRun {
    /// What the object says about itself.
    pub run: RunIdentity,
    /// How it fares.
    pub health: Health,
    /// Its outputs, if it succeeded.
    pub outputs: OutputsRead,
    /// Its outputs that are for Secrets only, beside all others.
    pub sensitive: Sensitive,
    /// What the template reads in a run that failed, if it does and this one has.
    pub failure: Option<BTreeMap<String, Value>>,
    /// The rules that `health` and `outputs` were read by.
    pub rules_hash: Arc<str>,
    /// Whether it contains what the template renders now, where that was asked.
    pub matches: bool,
    /// What its pods can tell that it does not.
    pub pods_tell: PodsTell,
    /// What they told.
    pub pods_said: PodsSaid,
    /// Kind and name of its controller, by its owner reference.
    pub controller: Option<String>,
    /// Who had it stopped, and why, by what stands on it.
    pub stopped: Option<Cancellation>,
    /// By what it shows that it was asked to stop.
    pub asked: Asked,
    /// Its standing between its creation and its end.
    pub standing: Standing,
    /// The resourceVersion that it was read in.
    pub version: Option<u64>,
}

impl FetchedRun {
    /// Success or failure, once it has ended.
    #[must_use]
    pub fn result(&self) -> Option<RunResult> {
        result_of(self.health.verdict)
    }

    /// The weight of the values that it gives, and of what its engine says.
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
    /// Whose this object is, which is not the run that was to be made. Only a name that all runs share can be that of
    /// an earlier one.
    #[must_use]
    pub fn of(found: &FetchedRun, runnable_uid: &str, is_fixed: bool) -> Self {
        let created = found.run.created;
        match &found.controller {
            _ if is_fixed && found.run.is_owned_by(runnable_uid) => Self::EarlierRun,
            Some(by) => Self::Controlled {
                by: by.clone(),
                created,
            },
            None => Self::Somebody { created },
        }
    }
}

/// Success or failure, once a run has ended.
#[must_use]
pub fn result_of(verdict: Verdict) -> Option<RunResult> {
    match verdict {
        Verdict::Succeeded => Some(RunResult::Succeeded),
        Verdict::Failed => Some(RunResult::Failed),
        Verdict::Unknown => None,
    }
}
