//! Values that a state of the model only refers to: statuses and names of runs, each kept once.
//!
//! A state holds the real status of the Runnable, but as a number, so that millions of states fit into memory
//! and are compared at once. The number is a hash of the content: it is the same in every run and on every
//! thread.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, PoisonError, RwLock},
};

use cartouche_crds::RunnableStatus;
use cartouche_protocol::{ledger::RunName, messages::reconcile_error::ReconcileError};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::SignedDuration};

use crate::cast::{NOW, YOUNG};

/// A status, by the hash of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatusId(u64);

/// A kind and a name, by their hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(u64);

/// A problem, by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProblemId(u64);

/// Every status and name so far.
#[derive(Debug, Default)]
pub struct Pool {
    statuses: RwLock<HashMap<u64, Arc<RunnableStatus>>>,
    names: RwLock<HashMap<u64, Arc<RunName>>>,
    problems: RwLock<HashMap<u64, Arc<ReconcileError>>>,
    aged: RwLock<HashMap<StatusId, StatusId>>,
}

impl Pool {
    /// Keeps a status.
    pub fn status(&self, status: &RunnableStatus) -> StatusId {
        let text = serde_json::to_string(status).unwrap_or_default();
        let id = hashed(&text);
        keep(&self.statuses, id, || status.clone());
        StatusId(id)
    }

    /// Returns the status with this number.
    pub fn stored(&self, id: StatusId) -> Arc<RunnableStatus> {
        get(&self.statuses, id.0).unwrap_or_default()
    }

    /// Keeps a name.
    pub fn name(&self, name: &RunName) -> NameId {
        let id = hashed(name);
        keep(&self.names, id, || name.clone());
        NameId(id)
    }

    /// Returns the name with this number.
    pub fn named(&self, id: NameId) -> Arc<RunName> {
        get(&self.names, id.0).unwrap_or_else(|| {
            Arc::new(RunName {
                api_version: String::new(),
                kind: String::new(),
                name: String::new(),
            })
        })
    }

    /// Keeps a problem.
    pub fn problem(&self, problem: &ReconcileError) -> ProblemId {
        // No message contains the value that would approve it.
        let wanted = problem
            .diagnosis
            .as_ref()
            .and_then(|it| it.wanted_approval());
        let wanted = wanted.map(ToString::to_string);
        let id = hashed(&(problem.category, &problem.message, wanted));
        keep(&self.problems, id, || problem.clone());
        ProblemId(id)
    }

    /// Returns the problem with this number.
    pub fn met(&self, id: ProblemId) -> Option<Arc<ReconcileError>> {
        get(&self.problems, id.0)
    }

    /// Returns the same status after more than the minimum age. The clock stands still in the model, so
    /// everything else moves back.
    pub fn aged(&self, id: StatusId) -> StatusId {
        if let Some(aged) = read(&self.aged).get(&id) {
            return *aged;
        }
        let mut status = (*self.stored(id)).clone();
        if let Some(current) = &mut status.current_run {
            let times = [
                &mut current.intent_at,
                &mut current.started_at,
                &mut current.finished_at,
                &mut current.retry_at,
            ];
            times.into_iter().flatten().for_each(back);
            current.stop.iter_mut().for_each(|stop| back(&mut stop.at));
        }
        for entry in status.history_mut() {
            let times = [
                &mut entry.intent_at,
                &mut entry.started_at,
                &mut entry.finished_at,
            ];
            times.into_iter().flatten().for_each(back);
            entry.stop.iter_mut().for_each(|stop| back(&mut stop.at));
        }
        let aged = self.status(&status);
        self.aged
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id, aged);
        aged
    }

    /// Returns the same status when the time of the next attempt has come.
    pub fn due(&self, id: StatusId) -> StatusId {
        let stored = self.stored(id);
        let retry_at = |status: &RunnableStatus| status.current_run.as_ref()?.retry_at.clone();
        if retry_at(&stored).is_none_or(|at| at.0 <= NOW) {
            return id;
        }
        let mut status = (*stored).clone();
        if let Some(current) = &mut status.current_run {
            current.retry_at = Some(Time(NOW));
        }
        self.status(&status)
    }
}

fn back(time: &mut Time) {
    if NOW.duration_since(time.0) < YOUNG {
        time.0 -= SignedDuration::from_hours(1);
    }
}

/// Returns a hash that is the same in every process.
pub fn hashed(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

pub(crate) fn keep<T>(all: &RwLock<HashMap<u64, Arc<T>>>, id: u64, value: impl FnOnce() -> T) {
    if !read(all).contains_key(&id) {
        all.write()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(id)
            .or_insert_with(|| Arc::new(value()));
    }
}

pub(crate) fn get<T>(all: &RwLock<HashMap<u64, Arc<T>>>, id: u64) -> Option<Arc<T>> {
    read(all).get(&id).cloned()
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}
