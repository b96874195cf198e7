//! Everything that a decision needs, as plain data.

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
    ledger::{Asked, BreakerLimits, CachedRun, FetchedRun, Ledger, RunIdentity, RunName, past},
    policy::Policy,
    profiles::Profiles,
    reconcile_error::{ReconcileError, Requeue},
    sinks::Sinks,
};
pub use dependencies::Dependencies;
pub use dry_run::DryRun;
pub use hindrance::Hindrance;
pub use made::{Chosen, Unknown, approvable, chosen, held, made_with, subject};
pub use permitted::Permitted;
pub use remembered::Remembered;
pub use rendering::Rendering;
pub use runnable_facts::RunnableFacts;
pub use settling::Settling;
pub(crate) use stopping::{is_deleted_to_stop, way_to_stop};
pub(crate) use work::is_ahead;

/// What is known of one Runnable at one moment. A reconciliation begins with what the caches say; reads that a
/// decision asks for are added, and it is decided again.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that have nothing to do with each other"
)]
pub struct Facts {
    /// The API server's clock.
    pub now: Option<Timestamp>,
    /// The Runnable itself.
    pub runnable: RunnableFacts,
    /// The status as it is stored.
    pub stored: Arc<RunnableStatus>,
    /// The ledger in it, and after each write the one that was written.
    pub ledger: Ledger,
    /// What the Runnable and its template ask for beside that, as far as the template is known.
    pub policy: Policy,
    /// By which template the policy is.
    pub policy_from: PolicyFrom,
    /// The `apiVersion` and kind of what the template renders, where no tag decides it.
    pub literal_kind: Option<(String, String)>,
    /// Of runs at work, by uid, what became of the last request to stop; without those that are due to be asked.
    pub stops: BTreeMap<String, StopOutcome>,
    /// Runs, by uid, that work and do not say since when, with the time at which this process first saw each so.
    pub seen_at_work: BTreeMap<String, Timestamp>,
    /// What the template renders, or why it does not.
    pub rendering: Result<Rendering, ReconcileError>,
    /// How well runs of the current kind are watched.
    pub watch: WatchState,
    /// What is reported of watches that fail and that the Runnable needs.
    pub unwatched: Option<String>,
    /// Runs that the watch showed.
    pub cached_runs: Vec<CachedRun>,
    /// Whether there is a ledger, as this reconciliation began.
    pub ledger_state: LedgerState,
    /// The highest number that was current in a ledger that this process wrote or read, if it has not compared a
    /// later one with the runs that exist; else 0.
    pub reached_sequence: i64,
    /// The uid of a run that this process made and the watch has not shown yet.
    pub unobserved_run: Option<String>,
    /// The current run was found missing some time ago already: another controller that saw it go, as
    /// there is while one takes over from the other, has had the time to record that.
    pub grace_over: bool,
    /// Somebody else has written a part of the status, so that the ledger may have been put back.
    pub other_writer: bool,
    /// Who wrote `currentRun` last, by a consistent read, if one was made in this reconciliation.
    pub ledger_writer: Option<LedgerWriter>,
    /// Objects that have claimed to be ahead of a ledger of ours, by uid.
    pub unknown_runs: BTreeSet<String>,
    /// How often a number was given up in this reconciliation because an unknown run held its name.
    pub renumbered: u8,
    /// A number that nobody outside can know in advance, drawn for this reconciliation.
    pub chance: u64,
    /// Runs by a consistent LIST, if one was made in this reconciliation.
    pub listed: Option<Vec<FetchedRun>>,
    /// That list was of every kind that a template or the ledger names.
    pub listed_every_kind: bool,
    /// Runs by consistent reads of their names, if made in this reconciliation.
    pub reads: HashMap<RunName, NameRead>,
    /// What the API server's clock had shown when each of those reads began.
    pub read_since: HashMap<RunName, Timestamp>,
    /// What becomes of an object like the pending run's, if the server was asked.
    pub probe: Option<Probe>,
    /// What its inputs come from, and whether that holds back a run that is due.
    pub dependencies: Dependencies,
    /// What is known of profiles.
    pub profiles: Profiles,
    /// What the pods of the run that is due may not do of what its template requires, if that was asked in this
    /// reconciliation.
    pub permissions: Option<Permitted>,
    /// For how long what is due has been that, as far as this process knows.
    pub settling: Settling,
    /// What the server makes of the run that waits for a person, if it was asked in this reconciliation.
    pub dry_run: Option<DryRun>,
    /// Whether the newest run is what the server makes of the rendered document, if asked.
    pub server_agrees: Option<bool>,
    /// What became of the create of this reconciliation, or of an earlier one that left the rest for later.
    pub created: Option<CreateOutcome>,
    /// `resource.group` of the current run, for messages.
    pub resource: Option<String>,
    /// The pending entry was written in this reconciliation, and nothing was sent for it before.
    pub only_attempt: bool,
    /// Earlier runs, by uid, that no watch shows and that were looked for a moment ago: they were there, and had not
    /// ended, or may not be read.
    pub looked_for: BTreeSet<String>,
    /// What the pods of the current run, which has not ended, say of why it does not go on.
    pub hindrance: Hindrance,
    /// What is known of the objects that outputs are written to.
    pub sinks: Box<Sinks>,
    /// Why no number is given and no run is made, if the definitions that are installed are older than this release.
    pub definitions: Option<ReconcileError>,
    /// How many runs are too many.
    pub limits: BreakerLimits,
}

/// Whether the status has a ledger, and what its absence means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LedgerState {
    /// It has one.
    #[default]
    Present,
    /// No controller has ever written the status: nothing of any can be on its way.
    NeverServed,
    /// A controller is known to have written the status, and there is none.
    Lost {
        /// This process wrote one.
        ours: bool,
        /// There has been none for so long that no create of another controller can still be on its way.
        settled: bool,
    },
}

/// Who wrote `currentRun` last, as the API server has noted it. To write another name there takes the
/// permission to write statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LedgerWriter {
    /// A controller like this one: then no run of ours is ahead of the ledger.
    Ours,
    /// Somebody else, who put it back, say from a backup.
    Another,
}

/// What the API server, with its defaults and admission webhooks, makes of an object like that of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Probe {
    /// It keeps owner, number and hash.
    pub marked: bool,
    /// It has a status at once.
    pub with_status: bool,
}

/// How well a kind is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchState {
    /// The first list is not complete.
    Starting,
    /// Events arrive.
    Synced,
    /// The controller may not watch it: runs are listed as the `ServiceAccount` now and then.
    Polled,
}

/// What a consistent read of a name said.
#[derive(Clone, Debug, PartialEq)]
pub enum NameRead {
    /// The account may not read it.
    Denied,
    /// Nothing has this name.
    Absent,
    /// This has.
    Found(Box<FetchedRun>),
}

/// What became of a create.
#[derive(Clone, Debug, PartialEq)]
pub enum CreateOutcome {
    /// The object exists now.
    Created(Box<FetchedRun>),
    /// An earlier reconciliation of this process made the object, and left it to this one to confirm it. Whatever
    /// was seen or read in this reconciliation is newer.
    MadeBefore(Box<FetchedRun>),
    /// Something has this name.
    AlreadyExists,
    /// The API server refused, and will have made nothing.
    Refused(ReconcileError),
    /// It may or may not have been made.
    Unknown(ReconcileError),
}

/// By which template a policy is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyFrom {
    /// None could be read: nothing follows from it.
    #[default]
    Nowhere,
    /// One out of the cache, which may be an earlier one.
    Cache,
    /// One that was read consistently in this reconciliation.
    Read,
}

/// What became of a request to stop a run.
#[derive(Clone, Debug, PartialEq)]
pub enum StopOutcome {
    /// The API server has taken it.
    Sent,
    /// It has not.
    Failed(ReconcileError),
}

impl Facts {
    /// What a reconciliation begins with: nothing is rendered, seen or read yet.
    #[must_use]
    pub fn first(
        runnable: RunnableFacts,
        stored: Arc<RunnableStatus>,
        remembered: Remembered,
        limits: BreakerLimits,
    ) -> Self {
        let not_rendered =
            ReconcileError::new(Category::UnknownError, Requeue::Backoff, "not rendered yet");
        let sinks = Box::new(Sinks::of(&stored));
        Self {
            now: None,
            runnable,
            ledger: Ledger::of(&stored),
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

    /// Runs of other documents than the one that is rendered, with the rules that they were made under: those of the history,
    /// and the current run where the next one waits for it. The template may be that of the next one by now, whose rules say
    /// nothing of this one.
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
                    .chain([past(current.clone(), None)])
                    .collect(),
            ),
            None => Cow::Borrowed(history),
        }
    }

    /// Whether the next run waits for this current one, which is of another document, or would if it could be rendered.
    #[must_use]
    pub fn is_waited_for(&self, current: &CurrentRun) -> bool {
        let rendered = self.rendering.as_ref();
        let is_rendered = rendered.is_ok_and(|it| it.document.has_hash(&current.input_hash));
        self.policy.may_hold() && !is_rendered
    }

    /// What was read in the run with this uid in this reconciliation.
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

    /// The weight of the runs that were read by their names, but for the one that gave the outputs of the ledger.
    #[must_use]
    pub fn reads_weigh(&self) -> usize {
        let gave = self.ledger.outputs_from.as_ref().map(|from| &from.uid);
        let found = self.reads.values().filter_map(|read| match read {
            NameRead::Found(found) if gave != Some(&found.run.uid) => Some(found.weight()),
            _ => None,
        });
        found.sum()
    }

    /// Lets go of superseded runs that were read, and whose end the ledger has. One that gave the outputs is kept: its sensitive
    /// ones stand nowhere else.
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

    /// The run with this uid, if this reconciliation made it, or one before it that left it to be confirmed: as the
    /// answer to its create showed it.
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

    /// The current run as it is known best: as it was read, or else as the answer to its create showed it, unless the
    /// ledger knows more by now, since the run ended and went before it could be read.
    #[must_use]
    pub fn shown_run(&self, current: &CurrentRun) -> Option<&FetchedRun> {
        let uid = current.uid.as_deref()?;
        let as_made = self.created_run(uid);
        self.fetched_run(uid)
            .or(as_made.filter(|made| made.result() == current.result))
    }

    /// The cached run of the run with this uid.
    #[must_use]
    pub fn cached_run(&self, uid: &str) -> Option<&CachedRun> {
        self.cached_runs
            .iter()
            .find(|cached_run| cached_run.run.uid == uid)
    }

    /// Whether a person has cancelled the run with this uid, by whatever shows it.
    #[must_use]
    pub fn is_cancelled(&self, uid: &str) -> bool {
        self.asked(uid)
            .any(|asked| self.ledger.is_cancelled(uid, asked))
    }

    /// True if a person has written into the run with this uid, with `cartouche cancel`, that it is to stop.
    #[must_use]
    pub fn is_asked_by_person(&self, uid: &str) -> bool {
        self.asked(uid).any(|asked| asked == Asked::ByPerson)
    }

    fn asked(&self, uid: &str) -> impl Iterator<Item = Asked> {
        let read = self.fetched_run(uid).map(|run| run.asked);
        let seen = self.cached_run(uid).map(|run| run.asked);
        read.into_iter().chain(seen)
    }

    /// It was found out in this reconciliation that the ledger did not go back, or has caught up since.
    #[must_use]
    pub fn is_latest(&self) -> bool {
        is_latest(self.ledger_writer, self.listed_every_kind)
    }

    /// Whether an object that was met, or that a watch shows, is the run of the current entry.
    #[must_use]
    pub fn is_run_of(&self, run: &RunIdentity, current: &CurrentRun) -> bool {
        run.is_owned_by(&self.runnable.uid)
            && run.is_made_for(current)
            && !self.unknown_runs.contains(&run.uid)
    }

    /// The same of an earlier entry whose run was not seen yet.
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

/// Whether a status shows that a controller has written it.
#[must_use]
pub fn served_before(status: &RunnableStatus) -> bool {
    !status.conditions.is_empty()
        || status
            .observed_generation
            .is_some_and(|generation| generation >= 0)
}
