//! The error of a Runnable: its category, its message, and the time of the retry.

use std::time::Duration;

use crate::{
    category::Category,
    messages::{
        diagnosis::{Diagnosis, InTheWay, Why},
        format::{truncate, truncate_to},
    },
};

/// Longest message of an error: the words of others stand beside a sentence of our own.
const MESSAGE_BYTES: usize = 2_800;

/// The time at which a Runnable with an error is reconciled again. A change of it or of its
/// template always enqueues it as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// Only after a change: of the Runnable, its template, its account or the selected object.
    OnChange,
    /// With backoff.
    Backoff,
    /// Once a permission was granted, and with backoff meanwhile.
    OnRbac,
    /// Once a kind was installed, and with backoff meanwhile.
    OnKind,
    /// After this long.
    After(Duration),
}

/// The error of one Runnable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReconcileError {
    /// Its category.
    pub category: Category,
    /// The sentence, the place and the cure, in the form of [`crate::messages::format`].
    pub message: String,
    /// The time of the retry.
    pub requeue: Requeue,
    /// The source of the message, if it is known.
    pub diagnosis: Option<Box<Diagnosis>>,
}

impl ReconcileError {
    /// Returns an error with its text cut to the size of conditions and events.
    #[must_use]
    pub fn new(category: Category, requeue: Requeue, message: impl Into<String>) -> Self {
        Self {
            category,
            requeue,
            message: truncate_to(message.into(), MESSAGE_BYTES),
            diagnosis: None,
        }
    }

    /// Returns an error with a known cure; `in_full` is Cartographer's message.
    #[must_use]
    pub fn from_diagnosis(
        category: Category,
        requeue: Requeue,
        diagnosis: Diagnosis,
        in_full: Option<String>,
    ) -> Self {
        let in_full = in_full.map(truncate);
        let message = diagnosis.message(in_full.as_deref());
        Self {
            diagnosis: Some(Box::new(diagnosis)),
            ..Self::new(category, requeue, message)
        }
    }

    /// Returns the same error with `said` as the reason why this run, which is waited for, can
    /// neither begin nor end.
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
        Self::from_diagnosis(self.category, self.requeue, diagnosis, None)
    }
}
