//! Facts that a decision needs, as plain data.

mod before_its_stop;
mod dependencies;
mod dry_run;
mod due;
mod hindrance;
mod made;
pub(crate) mod overlap;
mod permitted;
mod remembered;
mod rendering;
mod run_at_hand;
mod runnable_facts;
mod seen_version;
mod settling;
mod stopping;
mod work;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use cartouche_crds::{CurrentRun, HistoryEntry, RunnableStatus};
use k8s_openapi::jiff::Timestamp;

use crate::{
    category::Category,
    ledger::{
        Asked, BreakerLimits, CachedRun, FetchedRun, Ledger, RunIdentity, RunName, to_history,
    },
    messages::reconcile_error::{ReconcileError, Requeue},
    policy::Policy,
    profiles::Profiles,
    sinks::Sinks,
};
pub use dependencies::Dependencies;
pub use dry_run::DryRun;
pub use hindrance::Hindrance;
pub use made::{Chosen, Unknown, approvable, choose_profile, explain_hold, made_with, subject};
pub use permitted::Permitted;
pub use remembered::Remembered;
pub use rendering::Rendering;
pub use runnable_facts::RunnableFacts;
pub use settling::Settling;
pub(crate) use stopping::{is_deleted_to_stop, way_to_stop};
pub(crate) use work::is_ahead;

/// Facts about one Runnable at one moment. A reconciliation starts with the state of the caches. Each read that a
/// decision asks for is added, and the decision is made again.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that have nothing to do with each other"
)]
pub struct Facts {
    /// Time by the API server's clock.
    pub now: Option<Timestamp>,
    /// The Runnable itself.
    pub runnable: RunnableFacts,
    /// Stored status.
    pub stored: Arc<RunnableStatus>,
    /// Ledger of that status; after a write, the ledger that was written.
    pub ledger: Ledger,
    /// Merged policy of the Runnable and its template, as far as the template is known.
    pub policy: Policy,
    /// Source of the template that the policy comes from.
    pub policy_from: PolicyFrom,
    /// `apiVersion` and kind that the template renders, unless a tag decides them.
    pub literal_kind: Option<(String, String)>,
    /// Outcomes of the last stop requests to runs at work, by uid. A run without an entry is to be asked.
    pub stops: BTreeMap<String, StopOutcome>,
    /// Times at which this process first saw runs at work that give no start time of their own, by uid.
    pub seen_at_work: BTreeMap<String, Timestamp>,
    /// Rendering of the template, or the error that prevents it.
    pub rendering: Result<Rendering, ReconcileError>,
    /// State of the watch on runs of the current kind.
    pub watch: WatchState,
    /// Message about failing watches that the Runnable needs.
    pub unwatched: Option<String>,
    /// Runs shown by the watch.
    pub cached_runs: Vec<CachedRun>,
    /// State of the ledger at the start of this reconciliation.
    pub ledger_state: LedgerState,
    /// Highest current number in the ledgers that this process has read since its last write, or since it last
    /// compared the ledger with the existing runs; the ledger of that write or comparison counts too. 0 if there is
    /// none.
    pub reached_sequence: i64,
    /// Uid of a run that this process made and the watch has not shown yet.
    pub unobserved_run: Option<String>,
    /// True if the current run has been missing for longer than the grace period. Another controller that saw it
    /// go, as there may be one during a handover, has had the time to record that.
    pub grace_over: bool,
    /// True if another client has written a part of the status, so that the ledger may be an older one put back.
    pub other_writer: bool,
    /// Last writer of `currentRun` by a consistent read, if this reconciliation made one.
    pub ledger_writer: Option<LedgerWriter>,
    /// Uids of objects that have claimed to be ahead of a ledger of ours.
    pub unknown_runs: BTreeSet<String>,
    /// Count of numbers given up in this reconciliation because an unknown run held their names.
    pub renumbered: u8,
    /// Random number, drawn for this reconciliation, that cannot be predicted from outside.
    pub chance: u64,
    /// Runs shown by a consistent LIST, if this reconciliation made one.
    pub listed: Option<Vec<FetchedRun>>,
    /// True if that list covers every kind that a template or the ledger names.
    pub listed_every_kind: bool,
    /// Results of the consistent reads by name that this reconciliation made.
    pub reads: HashMap<RunName, NameRead>,
    /// Times by the API server's clock at which those reads began.
    pub read_since: HashMap<RunName, Timestamp>,
    /// Result of a dry-run create of an object like the pending run's, if this reconciliation made one.
    pub probe: Option<Probe>,
    /// Sources of the inputs, and whether they hold back a pending change.
    pub dependencies: Dependencies,
    /// Known profiles and the labels of the namespace.
    pub profiles: Profiles,
    /// Permissions that the template requires and the pods of the next run lack, if they were checked in this
    /// reconciliation.
    pub permissions: Option<Permitted>,
    /// Time for which the pending change has stayed the same, as far as this process knows.
    pub settling: Settling,
    /// Result of a dry-run create of the run that waits for approval, if this reconciliation made one.
    pub dry_run: Option<DryRun>,
    /// `Some(true)` if the newest run is what the API server makes of the rendered document, `None` if it was not
    /// asked.
    pub server_agrees: Option<bool>,
    /// Outcome of the create of this reconciliation, or of an earlier one that left the confirmation to this one.
    pub created: Option<CreateOutcome>,
    /// `resource.group` of the current run, for messages.
    pub resource: Option<String>,
    /// True if this reconciliation wrote the pending entry and nothing was sent for it before.
    pub only_attempt: bool,
    /// Uids of earlier runs that no watch shows. A recent read found them unfinished, or was denied.
    pub looked_for: BTreeSet<String>,
    /// Reason, as its pods give it, why the current unfinished run does not progress.
    pub hindrance: Hindrance,
    /// Facts about the objects that outputs are written to.
    pub sinks: Box<Sinks>,
    /// Error if the installed definitions are older than this release: no number is given and no run is made.
    pub definitions: Option<ReconcileError>,
    /// Limits beyond which runs are slowed.
    pub limits: BreakerLimits,
}

/// Presence of a ledger in the status, or the meaning of its absence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LedgerState {
    /// The status has a ledger.
    #[default]
    Present,
    /// No controller has ever written the status, so no request of one can still be on its way.
    NeverServed,
    /// A controller has written the status, but the ledger is missing.
    Lost {
        /// True if this process wrote a ledger.
        ours: bool,
        /// True if the ledger has been missing for so long that no create of another controller can still be on its
        /// way.
        settled: bool,
    },
}

/// Last writer of `currentRun`, as the API server has noted it. To forge this name, a client needs permission to
/// write statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LedgerWriter {
    /// A controller like this one: no run of ours is ahead of the ledger.
    Ours,
    /// Another client that put the ledger back, for example from a backup.
    Another,
}

/// Object that the API server, with its defaults and admission webhooks, makes of one like that of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Probe {
    /// True if it keeps owner, number and hash.
    pub marked: bool,
    /// True if it has a status at once.
    pub with_status: bool,
}

/// State of the watch on a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchState {
    /// The first list is incomplete.
    Starting,
    /// Events arrive.
    Synced,
    /// The controller may not watch the kind; it lists runs as the `ServiceAccount` from time to time.
    Polled,
}

/// Result of a consistent read of a name.
#[derive(Clone, Debug, PartialEq)]
pub enum NameRead {
    /// The account may not read it.
    Denied,
    /// No object has this name.
    Absent,
    /// This object has the name.
    Found(Box<FetchedRun>),
}

/// Outcome of a create.
#[derive(Clone, Debug, PartialEq)]
pub enum CreateOutcome {
    /// The object exists now.
    Created(Box<FetchedRun>),
    /// An earlier reconciliation of this process made the object and left its confirmation to this one. Whatever
    /// this reconciliation saw or read is newer.
    MadeBefore(Box<FetchedRun>),
    /// An object with this name exists.
    AlreadyExists,
    /// The API server refused and made nothing.
    Refused(ReconcileError),
    /// The outcome is unknown: the object may or may not exist.
    Unknown(ReconcileError),
}

/// Source of the template that a policy comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyFrom {
    /// No template could be read, so the policy proves nothing.
    #[default]
    Nowhere,
    /// The cache, which may hold an earlier template.
    Cache,
    /// A consistent read in this reconciliation.
    Read,
}

/// Outcome of a request to stop a run.
#[derive(Clone, Debug, PartialEq)]
pub enum StopOutcome {
    /// The API server accepted it.
    Sent,
    /// The request failed.
    Failed(ReconcileError),
}

impl Facts {
    /// Returns the facts at the start of a reconciliation: nothing is rendered, seen or read yet.
    #[must_use]
    pub fn first(
        runnable: RunnableFacts,
        stored: Arc<RunnableStatus>,
        remembered: Remembered,
        limits: BreakerLimits,
    ) -> Self {
        let not_rendered =
            ReconcileError::new(Category::UnknownError, Requeue::Backoff, "not rendered yet");
        let sinks = Box::new(Sinks::from_status(&stored));
        Self {
            now: None,
            runnable,
            ledger: Ledger::from_status(&stored),
            stored,
            policy: Policy::default(),
            policy_from: PolicyFrom::Nowhere,
            literal_kind: None,
            stops: BTreeMap::new(),
            seen_at_work: BTreeMap::new(),
            rendering: Err(not_rendered),
            watch: WatchState::Starting,
            unwatched: None,
            cached_runs: Vec::new(),
            ledger_state: remembered.ledger_state,
            reached_sequence: remembered.reached_sequence,
            unobserved_run: None,
            grace_over: false,
            other_writer: remembered.other_writer,
            ledger_writer: None,
            unknown_runs: remembered.unknown_runs,
            renumbered: 0,
            chance: 0,
            listed: None,
            listed_every_kind: false,
            reads: HashMap::new(),
            read_since: HashMap::new(),
            probe: None,
            dependencies: Dependencies::default(),
            profiles: Profiles::default(),
            permissions: None,
            settling: Settling::default(),
            dry_run: None,
            server_agrees: None,
            created: remembered.created,
            resource: None,
            only_attempt: false,
            looked_for: BTreeSet::new(),
            hindrance: Hindrance::NotAsked,
            sinks,
            definitions: None,
            limits,
        }
    }

    /// Returns the runs of other documents than the rendered one, with the rules that they were made under: the
    /// history, plus the current run if the next one waits for it. The template may already be that of the next
    /// run, and its rules do not apply to this one.
    #[must_use]
    pub fn earlier_runs(&self) -> Cow<'_, [HistoryEntry]> {
        let history = &self.ledger.history;
        match self
            .ledger
            .current
            .as_ref()
            .filter(|it| self.is_waited_for(it))
        {
            Some(current) => Cow::Owned(
                history
                    .iter()
                    .cloned()
                    .chain([to_history(current.clone(), None)])
                    .collect(),
            ),
            None => Cow::Borrowed(history),
        }
    }

    /// Returns true if the next run waits for this current one, which is of another document, or would wait if it
    /// could be rendered.
    #[must_use]
    pub fn is_waited_for(&self, current: &CurrentRun) -> bool {
        let rendered = self.rendering.as_ref();
        let is_rendered = rendered.is_ok_and(|it| it.document.has_hash(&current.input_hash));
        self.policy.may_hold() && !is_rendered
    }

    /// Returns the run with this uid as read in this reconciliation, or `None` if it was not read.
    #[must_use]
    pub fn fetched_run(&self, uid: &str) -> Option<&FetchedRun> {
        let named = self.reads.values().filter_map(|read| match read {
            NameRead::Found(found) => Some(&**found),
            NameRead::Absent | NameRead::Denied => None,
        });
        named
            .chain(self.listed.iter().flatten())
            .find(|found| found.run.uid == uid)
    }

    /// Returns the weight of the runs read by name, without the one that gave the outputs of the ledger.
    #[must_use]
    pub fn reads_weigh(&self) -> usize {
        let gave = self.ledger.outputs_from.as_ref().map(|from| &from.uid);
        let found = self.reads.values().filter_map(|read| match read {
            NameRead::Found(found) if gave != Some(&found.run.uid) => Some(found.weight()),
            _ => None,
        });
        found.sum()
    }

    /// Drops superseded runs that were read and whose end is in the ledger. The run that gave the outputs stays:
    /// its sensitive outputs are nowhere else.
    pub fn release_recorded(&mut self) {
        let ledger = &self.ledger;
        let gave = ledger.outputs_from.as_ref().map(|from| &from.uid);
        let is_recorded = |found: &FetchedRun| {
            let mut history = ledger.history.iter();
            let of_it = |entry: &&HistoryEntry| entry.uid.as_ref() == Some(&found.run.uid);
            let entry = history.find(of_it);
            entry.is_some_and(|entry| entry.result.is_some()) && gave != Some(&found.run.uid)
        };
        self.reads
            .retain(|_, read| !matches!(read, NameRead::Found(found) if is_recorded(found)));
    }

    /// Returns the run with this uid as the answer to its create showed it. `None` unless this reconciliation made
    /// it, or an earlier one made it and left the confirmation to this one.
    #[must_use]
    pub fn created_run(&self, uid: &str) -> Option<&FetchedRun> {
        match &self.created {
            Some(CreateOutcome::Created(made) | CreateOutcome::MadeBefore(made))
                if made.run.uid == uid =>
            {
                Some(made)
            }
            _ => None,
        }
    }

    /// Returns the best known state of the current run: as read, or else as the answer to its create showed it.
    /// That answer does not count once the ledger knows more, because the run ended and was deleted before it could
    /// be read.
    #[must_use]
    pub fn shown_run(&self, current: &CurrentRun) -> Option<&FetchedRun> {
        let uid = current.uid.as_deref()?;
        let as_made = self.created_run(uid);
        self.fetched_run(uid)
            .or(as_made.filter(|made| made.result() == current.result))
    }

    /// Returns the cached run with this uid.
    #[must_use]
    pub fn cached_run(&self, uid: &str) -> Option<&CachedRun> {
        self.cached_runs
            .iter()
            .find(|cached_run| cached_run.run.uid == uid)
    }

    /// Returns true if a read or the watch shows that a person has cancelled the run with this uid.
    #[must_use]
    pub fn is_cancelled(&self, uid: &str) -> bool {
        self.asked(uid)
            .any(|asked| self.ledger.is_cancelled(uid, asked))
    }

    /// Returns true if a person has requested the stop of the run with this uid by `cartouche cancel`.
    #[must_use]
    pub fn is_asked_by_person(&self, uid: &str) -> bool {
        self.asked(uid).any(|asked| asked == Asked::ByPerson)
    }

    fn asked(&self, uid: &str) -> impl Iterator<Item = Asked> {
        let read = self.fetched_run(uid).map(|run| run.asked);
        let seen = self.cached_run(uid).map(|run| run.asked);
        read.into_iter().chain(seen)
    }

    /// Returns true if this reconciliation established that the ledger did not go back, or has caught up since.
    #[must_use]
    pub fn is_latest(&self) -> bool {
        is_latest(self.ledger_writer, self.listed_every_kind)
    }

    /// Returns true if an object that was met under its name, or that a watch shows, is the run of the current
    /// entry.
    #[must_use]
    pub fn is_run_of(&self, run: &RunIdentity, current: &CurrentRun) -> bool {
        run.is_owned_by(&self.runnable.uid)
            && run.is_made_for(current)
            && !self.unknown_runs.contains(&run.uid)
    }

    /// Returns true if the object is the run of an earlier entry whose run was not seen yet.
    #[must_use]
    pub fn is_run_of_past(&self, run: &RunIdentity, entry: &HistoryEntry) -> bool {
        run.is_owned_by(&self.runnable.uid)
            && run.is_of(entry)
            && !self.unknown_runs.contains(&run.uid)
    }
}

/// See [`Facts::is_latest`].
#[must_use]
pub fn is_latest(writer: Option<LedgerWriter>, listed_every_kind: bool) -> bool {
    listed_every_kind || writer == Some(LedgerWriter::Ours)
}

/// Returns true if the status shows that a controller has written it.
#[must_use]
pub fn served_before(status: &RunnableStatus) -> bool {
    !status.conditions.is_empty()
        || status
            .observed_generation
            .is_some_and(|generation| generation >= 0)
}
