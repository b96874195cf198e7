//! Configuration of an exploration: inputs, workers and faults.

use cartouche_crds::{ApprovalPolicy, Backoff, ConcurrencyPolicy, RetentionPolicy, Retry};
use cartouche_protocol::policy::{Asks, Policy};

use crate::mutant::Mutant;

/// The Runnable's first status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Before {
    /// None: the Runnable is new.
    #[default]
    Nothing,
    /// The original controller served it: conditions and outputs, no ledger.
    Original,
    /// An earlier release of Cartouche served it: a ledger whose hash is of another version.
    EarlierVersion,
    /// A ledger of this release, whose run has ended. A user has a copy of it and has written to the status
    /// beside it in this very second.
    Copied,
    /// A ledger whose history is full.
    FullHistory,
}

/// A run that exists at first: its document, its number (0: made by the original controller), and whether the
/// server keeps other values than it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OldRun {
    /// Its document.
    pub document: u8,
    /// Its number.
    pub number: u16,
    /// See [`crate::world::Make::rewritten`].
    pub rewritten: bool,
}

/// Circumstances of a restore of the status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restored {
    /// With the controllers stopped.
    #[default]
    Stopped,
    /// While they work, and have nothing under way.
    Beside,
    /// Beside them, in the storage of the API server or under the name of the controller: without a note.
    Unnoted,
}

/// The release of a controller, as far as its hashes matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Release {
    /// This one.
    #[default]
    Present,
    /// One with other hashes that knows the hashes of this one.
    Next,
    /// One with other hashes that knows no hashes but its own.
    AfterNext,
}

/// Number of faults and events that may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Left {
    /// Crashes of a worker.
    pub crashes: u8,
    /// Creates whose request or answer is lost or delayed, writes whose answer is lost.
    pub losses: u8,
    /// Changes of the permission to create.
    pub rights: u8,
    /// Deletions of unfinished runs.
    pub unfinished: u8,
    /// Deletions of finished runs.
    pub finished: u8,
    /// Losses of the status.
    pub wipes: u8,
    /// Restores of the status.
    pub restores: u8,
    /// Watches of runs that lose events.
    pub gaps: u8,
    /// Deletions of the Runnable, each followed by its creation.
    pub rebirths: u8,
    /// Foreign objects under the name that the ledger reserved.
    pub strangers: u8,
    /// Objects with owner, number, hash and name of a run that is not made yet.
    pub forgeries: u8,
    /// Suspensions of the Runnable.
    pub suspensions: u8,
    /// Typing errors in the name of the template.
    pub mistypes: u8,
    /// Runs that the original controller makes beside this one.
    pub original_runs: u8,
    /// Statuses that the original controller writes beside this one.
    pub original_writes: u8,
    /// Runs that a user cancels.
    pub cancels: u8,
    /// Expiries of the timeout of the runs.
    pub timeouts: u8,
    /// Approvals of the waiting run before everything else is at rest.
    pub approvals: u8,
}

/// One configuration of the model.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // switches, each on its own
pub struct Configuration {
    /// Its name.
    pub name: &'static str,
    /// Documents and re-run requests, one after the other.
    pub inputs: Vec<(u8, u8)>,
    /// Controllers at work at once.
    pub workers: u8,
    /// The release of the first of them.
    pub beside: Release,
    /// Faults.
    pub left: Left,
    /// True if the input is in the template, and not in the Runnable itself.
    pub by_template: bool,
    /// True if the template's cache may go back once, after a restart.
    pub template_goes_back: bool,
    /// True if odd documents are of another kind.
    pub kinds: bool,
    /// True if the template gives every run the same name.
    pub fixed_name: bool,
    /// True if runs may fail.
    pub fails: bool,
    /// Number of retries of a failed run.
    pub retries: i64,
    /// Concurrency of runs.
    pub concurrency: ConcurrencyPolicy,
    /// True if each run needs approval.
    pub approval: bool,
    /// True if the rendered object has to stay the same for a while.
    pub debounce: bool,
    /// True if runs are stopped by their deletion.
    pub stop_deletes: bool,
    /// True if finished runs are deleted, all but one of each sort.
    pub retires: bool,
    /// True if time passes.
    pub time: bool,
    /// True if runs of the kind are polled, not watched.
    pub polled: bool,
    /// True if the watch of runs is never behind when a pass begins.
    pub prompt_watch: bool,
    /// True if reads are no steps of their own: all reads before a write happen at once.
    pub coarse: bool,
    /// True if a pass may end once its create was answered, and leave the rest to the next.
    pub puts_off: bool,
    /// True if it takes time until a missing run counts as lost.
    pub grace: bool,
    /// True if everything that must happen happens without the help of time.
    pub at_once: bool,
    /// Circumstances of a restore of the status.
    pub restored: Restored,
    /// True if runs are forged right before they are intended, without a status.
    pub bare_forgeries: bool,
    /// Assumption: users delete runs only once they are confirmed and nothing is on its way.
    pub patient_users: bool,
    /// Assumption: before ten minutes have passed, every cache has caught up.
    pub caches_keep_up: bool,
    /// The first status.
    pub before: Before,
    /// The first runs.
    pub old_runs: Vec<OldRun>,
    /// True if a run of the original controller is on its way at first.
    pub original_on_its_way: bool,
    /// True if all runs have one creation time.
    pub same_second: bool,
    /// True if a loss of the status loses all of it, not only what the original controller would drop.
    pub wipes_all: bool,
    /// Runs without a change of the cause, before they are slowed.
    pub runaway_runs: i64,
    /// Properties that are known not to hold here; the catalogue has the reason.
    pub known: &'static [&'static str],
    /// The mistake.
    pub mutant: Mutant,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            name: "",
            inputs: vec![(0, 0), (1, 0), (0, 0)],
            workers: 2,
            beside: Release::Present,
            left: Left {
                crashes: 1,
                losses: 1,
                ..Left::default()
            },
            by_template: false,
            template_goes_back: false,
            kinds: false,
            fixed_name: false,
            fails: false,
            retries: 0,
            concurrency: ConcurrencyPolicy::Allow,
            approval: false,
            debounce: false,
            stop_deletes: false,
            retires: false,
            time: false,
            polled: false,
            prompt_watch: true,
            coarse: true,
            puts_off: false,
            grace: false,
            at_once: false,
            restored: Restored::Stopped,
            bare_forgeries: false,
            patient_users: false,
            caches_keep_up: false,
            before: Before::Nothing,
            old_runs: Vec::new(),
            original_on_its_way: false,
            same_second: false,
            wipes_all: false,
            runaway_runs: 30,
            known: &[],
            mutant: Mutant::None,
        }
    }
}

impl Configuration {
    /// Returns the document that an input renders.
    #[must_use]
    pub fn document(&self, input: u8) -> u8 {
        self.inputs[usize::from(input)].0
    }

    /// Returns the re-run request that comes with an input.
    #[must_use]
    pub fn token(&self, input: u8) -> u8 {
        self.inputs[usize::from(input)].1
    }

    /// Returns the Runnable's generation.
    #[must_use]
    pub fn generation(&self, input: u8) -> u8 {
        if self.by_template || self.runaway_runs < 30 {
            1
        } else {
            input + 1
        }
    }

    /// Returns the template's generation.
    #[must_use]
    pub fn template_generation(&self, input: u8) -> u8 {
        if self.by_template { input + 1 } else { 1 }
    }

    /// Returns the policy of the Runnable.
    ///
    /// # Panics
    /// If that is no policy.
    #[must_use]
    #[expect(clippy::expect_used, reason = "the policy is fixed")]
    pub fn asked(&self) -> Policy {
        let backoff = Backoff {
            // Longer than clock skew, so that an attempt before its time shows.
            initial: Some("1m".to_owned()),
            ..Backoff::default()
        };
        let retry = Retry {
            limit: Some(self.retries),
            backoff: Some(backoff),
            ..Retry::default()
        };
        let asks = Asks {
            retry: Some(retry),
            concurrency: Some(self.concurrency),
            approval: self.approval.then_some(ApprovalPolicy::Manual),
            debounce: self.debounce.then(|| "10s".to_owned()),
            ..Asks::default()
        };
        Policy::merge(&asks, &Asks::default()).expect("a policy")
    }

    /// Returns true if runs are stopped.
    #[must_use]
    pub fn stops(&self) -> bool {
        self.left.timeouts > 0 || self.concurrency == ConcurrencyPolicy::Replace
    }

    /// Returns the number of finished runs to keep.
    #[must_use]
    pub fn policy(&self) -> RetentionPolicy {
        let most = if self.retires { 1 } else { 1_000 };
        RetentionPolicy {
            max_failed_runs: most,
            max_successful_runs: most,
        }
    }

    /// Returns true if the status may be lost, or go back.
    #[must_use]
    pub fn loses_status(&self) -> bool {
        self.left.wipes + self.left.restores + self.left.original_writes > 0
    }

    /// Returns true if runs are recognised by their content.
    #[must_use]
    pub fn adopts(&self) -> bool {
        !matches!(self.before, Before::Nothing | Before::Copied) || self.original_beside_us()
    }

    /// Returns true if the original controller still works.
    #[must_use]
    pub fn original_beside_us(&self) -> bool {
        self.left.original_runs + self.left.original_writes > 0 || self.original_on_its_way
    }

    /// Returns the highest number of a document.
    #[must_use]
    pub fn last_document(&self) -> u8 {
        let inputs = self.inputs.iter().map(|(document, _)| *document);
        let old = self.old_runs.iter().map(|run| run.document);
        inputs.chain(old).max().unwrap_or_default()
    }
}
