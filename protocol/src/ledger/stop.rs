//! Runs that were asked to stop.

use cartouche_crds::{CurrentRun, RunPhase, RunResult, Stop, StopReason};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::{Ledger, RunName};

/// Sign on a run's object that the run was asked to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Asked {
    /// No sign of a request.
    #[default]
    No,
    /// A request in the form of its kind: by a person, or by this controller because of the timeout.
    InItsWay,
    /// A request by a person, with `cartouche cancel`.
    ByPerson,
}

/// Run that was made and whose end is not known.
#[derive(Clone, Debug)]
pub struct AtWork<'a> {
    /// `apiVersion`, kind and name.
    pub name: RunName,
    /// Its uid.
    pub uid: &'a str,
    /// Start of the run, as the ledger has it.
    pub started_at: Option<Timestamp>,
    /// Recorded stop of the run, if there is one.
    pub stop: Option<&'a Stop>,
    /// True if it is the current run.
    pub is_current: bool,
}

impl Ledger {
    /// STOP: records that a run at work is about to be asked to stop, before the request is sent. A record that
    /// exists already stays as it is.
    #[must_use]
    pub fn stop(mut self, uid: &str, reason: StopReason, at: Timestamp) -> Self {
        let stop = self.unended_stop(uid);
        if let Some(stop @ None) = stop {
            *stop = Some(Stop::new(reason, Time(at)));
        }
        self
    }

    /// WITHDRAW: stops sending creates for the current entry, whose run was not seen. A stop that another writer
    /// has noted there is replaced: a run that was not made cannot be asked to stop.
    #[must_use]
    pub fn withdraw(mut self, at: Timestamp) -> Self {
        let current = self.current.as_mut();
        if let Some(current) = current.filter(|run| run.phase != RunPhase::Created) {
            current.stop = Some(Stop::new(StopReason::Withdrawn, Time(at)));
        }
        self
    }

    fn unended_stop(&mut self, uid: &str) -> Option<&mut Option<Stop>> {
        let is_current = self.is_at(uid);
        if is_current {
            let current = self.current.as_mut();
            let current = current.filter(|current| current.result.is_none());
            return current.map(|current| &mut current.stop);
        }
        self.unfinished(uid).map(|entry| &mut entry.stop)
    }

    /// Returns true if the run with this uid is the current one.
    #[must_use]
    pub fn is_at(&self, uid: &str) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| current.uid.as_deref() == Some(uid))
    }

    /// Returns the recorded stop of the run with this uid.
    #[must_use]
    pub fn stop_of(&self, uid: &str) -> Option<&Stop> {
        let current = self.current.as_ref();
        let current = current.filter(|current| current.uid.as_deref() == Some(uid));
        if let Some(current) = current {
            return current.stop.as_ref();
        }
        let mut history = self.history.iter();
        let entry = history.find(|entry| entry.uid.as_deref() == Some(uid))?;
        entry.stop.as_ref()
    }

    /// Returns true if a person has cancelled the run with this uid, whose object shows this sign. A stop because
    /// of the timeout looks the same on it.
    #[must_use]
    pub fn is_cancelled(&self, uid: &str, asked: Asked) -> bool {
        match asked {
            Asked::No => false,
            Asked::ByPerson => true,
            Asked::InItsWay => !self.stop_of(uid).is_some_and(is_ours),
        }
    }

    /// Returns the runs that were made and whose end is not known: the current one first, then the latest.
    pub fn at_work(&self) -> impl Iterator<Item = AtWork<'_>> {
        let current = self.current.iter();
        let current = current.filter(|run| run.result.is_none()).map(of_current);
        let earlier = self.history.iter().rev();
        let earlier = earlier.filter(|entry| entry.result.is_none()).map(|entry| {
            entry.uid.as_deref().map(|uid| AtWork {
                name: RunName::from_history(entry),
                uid,
                started_at: entry.started_at.as_ref().map(|at| at.0),
                stop: entry.stop.as_ref(),
                is_current: false,
            })
        });
        current.chain(earlier).flatten()
    }
}

fn of_current(run: &CurrentRun) -> Option<AtWork<'_>> {
    Some(AtWork {
        name: RunName::from_current(run),
        uid: run.uid.as_deref()?,
        started_at: run.started_at.as_ref().map(|at| at.0),
        stop: run.stop.as_ref(),
        is_current: true,
    })
}

/// Returns true if this controller stopped the run, not a person.
#[must_use]
pub fn is_ours(stop: &Stop) -> bool {
    stop.reason != StopReason::Cancelled
}

/// Returns true if an entry whose run was not seen was given up, so that no create for it is sent any more.
#[must_use]
pub fn is_withdrawn(run: &CurrentRun) -> bool {
    let unseen = run.phase != RunPhase::Created;
    let stop = run.stop.as_ref().filter(|_| unseen);
    stop.is_some_and(|stop| stop.reason == StopReason::Withdrawn)
}

/// Returns true if a run failed after it was stopped to make way for another one.
pub(super) fn was_replaced(run: &CurrentRun) -> bool {
    let stop = run
        .stop
        .as_ref()
        .filter(|_| run.result == Some(RunResult::Failed));
    stop.is_some_and(|stop| stop.reason == StopReason::Replaced)
}

/// Records a person's cancellation together with the failure that it caused. It replaces our own stop to make way
/// for another document, so that a cancelled document does not run again.
pub(super) fn note_cancel(
    stop: &mut Option<Stop>,
    result: Option<RunResult>,
    is_cancelled: bool,
    now: Option<Timestamp>,
) {
    let is_free = stop
        .as_ref()
        .is_none_or(|stop| stop.reason == StopReason::Replaced);
    if is_cancelled && result == Some(RunResult::Failed) && is_free {
        *stop = now.map(|at| Stop::new(StopReason::Cancelled, Time(at)));
    }
}
