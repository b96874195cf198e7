//! The error of a Runnable: its category, its message, and when it is tried again.

use std::time::Duration;

use crate::{
    category::Category,
    diagnosis::{Diagnosis, InTheWay, Why},
    told::{bounded, within},
};

/// Longest message of an error: what others said stands beside a sentence of our own.
const MESSAGE_BYTES: usize = 2_800;

/// When a Runnable with an error is reconciled again, beside a change of it or of its template, which always
/// enqueues it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// Only after a change: of the Runnable, its template, its account or the selected object.
    OnChange,
    /// Each time later.
    Backoff,
    /// When somebody has granted a permission; tried again each time later all the same.
    OnRbac,
    /// When somebody has installed a kind; tried again each time later all the same.
    OnKind,
    /// After this long.
    After(Duration),
}

/// What is wrong with one Runnable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReconcileError {
    /// Its category.
    pub category: Category,
    /// What is wrong, where, and what to do, in the form of [`crate::told`].
    pub message: String,
    /// When it is tried again.
    pub requeue: Requeue,
    /// What its message was made from, if it is known.
    pub diagnosis: Option<Box<Diagnosis>>,
}

impl ReconcileError {
    /// An error, its text cut to what conditions and events hold.
    #[must_use]
    pub fn new(category: Category, requeue: Requeue, message: impl Into<String>) -> Self {
        Self {
            category,
            requeue,
            message: within(message.into(), MESSAGE_BYTES),
            diagnosis: None,
        }
    }

    /// An error of which it is known what to do about it; `in_full` is what Cartographer would have said.
    #[must_use]
    pub fn caused(
        category: Category,
        requeue: Requeue,
        diagnosis: Diagnosis,
        in_full: Option<String>,
    ) -> Self {
        let in_full = in_full.map(bounded);
        let message = diagnosis.message(in_full.as_deref());
        Self {
            diagnosis: Some(Box::new(diagnosis)),
            ..Self::new(category, requeue, message)
        }
    }

    /// The same, where this run is waited for and can neither begin nor end, as was `said` of it.
    #[must_use]
    pub fn with_hindrance(self, run: &str, said: &str) -> Self {
        let Some(Diagnosis::RunAtWork(runs)) = self.diagnosis.as_deref() else {
            return self;
        };
        let mut runs = runs.clone();
        let is_at_work = |one: &&mut InTheWay| one.run == run && one.why == Why::AtWork;
        for one in runs.iter_mut().filter(is_at_work) {
            one.hindered = Some(said.to_owned());
        }
        let diagnosis = Diagnosis::RunAtWork(runs);
        Self::caused(self.category, self.requeue, diagnosis, None)
    }
}
