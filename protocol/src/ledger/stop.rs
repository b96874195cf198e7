//! Runs that were asked to stop.

use cartouche_crds::{CurrentRun, RunPhase, RunResult, Stop, StopReason};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::{Ledger, RunName};

/// By what its object shows that a run was asked to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Asked {
    /// It was not, as far as anybody sees.
    #[default]
    No,
    /// In the way of its kind: by a person, or by this controller because of its timeout.
    InItsWay,
    /// By a person, with `cartouche cancel`.
    ByPerson,
}

/// A run that was made, and of which no end is known.
#[derive(Clone, Debug)]
pub struct AtWork<'a> {
    /// How it is asked for.
    pub name: RunName,
    /// Its uid.
    pub uid: &'a str,
    /// Since when it works.
    pub started_at: Option<Timestamp>,
    /// That it was told to stop.
    pub stop: Option<&'a Stop>,
    /// Whether it is the run for what is rendered now.
    pub is_current: bool,
}

impl Ledger {
    /// STOP: a run at work is going to be told to stop, which is written before it is. It is never taken back, nor is
    /// its reason changed.
    #[must_use]
    pub fn stop(mut self, uid: &str, reason: StopReason, at: Timestamp) -> Self {
        let stop = self.unended_stop(uid);
        if let Some(stop @ None) = stop {
            *stop = Some(Stop::new(reason, Time(at)));
        }
        self
    }

    /// WITHDRAW: no create is sent any more for the current entry, of which nobody knows whether its run was made. Whatever
    /// else is said there of a stop is none of ours: what was not made cannot be told to.
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

    /// That the run with this uid was told to stop.
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

    /// Whether a person has cancelled the run with this uid, of which its object shows this. What stops a run because of
    /// its timeout looks the same in it.
    #[must_use]
    pub fn is_cancelled(&self, uid: &str, asked: Asked) -> bool {
        match asked {
            Asked::No => false,
            Asked::ByPerson => true,
            Asked::InItsWay => !self.stop_of(uid).is_some_and(is_ours),
        }
    }

    /// The runs that were made, and of which no end is known: the current one first, then the latest.
    pub fn at_work(&self) -> impl Iterator<Item = AtWork<'_>> {
        let current = self.current.iter();
        let current = current.filter(|run| run.result.is_none()).map(of_current);
        let earlier = self.history.iter().rev();
        let earlier = earlier.filter(|entry| entry.result.is_none()).map(|entry| {
            entry.uid.as_deref().map(|uid| AtWork {
                name: RunName::past(entry),
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
        name: RunName::of(run),
        uid: run.uid.as_deref()?,
        started_at: run.started_at.as_ref().map(|at| at.0),
        stop: run.stop.as_ref(),
        is_current: true,
    })
}

/// Whether it was this controller that told a run to stop.
#[must_use]
pub fn is_ours(stop: &Stop) -> bool {
    stop.reason != StopReason::Cancelled
}

/// Whether an entry whose run nobody has seen was given up, so that no create of it is sent any more.
#[must_use]
pub fn is_withdrawn(run: &CurrentRun) -> bool {
    let unseen = run.phase != RunPhase::Created;
    let stop = run.stop.as_ref().filter(|_| unseen);
    stop.is_some_and(|stop| stop.reason == StopReason::Withdrawn)
}

/// Whether a run failed after it was told to make way for another one.
pub(super) fn was_replaced(run: &CurrentRun) -> bool {
    let stop = run
        .stop
        .as_ref()
        .filter(|_| run.result == Some(RunResult::Failed));
    stop.is_some_and(|stop| stop.reason == StopReason::Replaced)
}

/// A person's word to stop is written with the failure that came of it. It goes before ours to make way for another
/// document, so that what somebody has cancelled does not run again.
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
