//! Maps a [`Readiness`] to the error that is reported. Pure.

use std::time::Duration;

use crate::{
    category::Category,
    messages::{
        diagnosis::{Diagnosis, Fault},
        reconcile_error::{ReconcileError, Requeue},
    },
    sources::{Readiness, SourceError},
    trace::MOST_SOURCES,
};

/// Time until the next check, in case the event that ends the wait never comes.
pub const ASKED_AGAIN: Duration = Duration::from_mins(5);

impl Readiness {
    /// Returns the error of the Runnable, or `None` if nothing holds it back.
    #[must_use]
    pub fn error(&self) -> Option<ReconcileError> {
        let (category, requeue, cause) = match self {
            Self::Ready(_) => return None,
            Self::NotReady(key, why) => (
                Category::DependencyNotReady,
                Requeue::After(ASKED_AGAIN),
                Diagnosis::DependencyNotReady(key.clone(), why.clone()),
            ),
            Self::Failed(failed) => (
                Category::DependencyFailed,
                Requeue::OnChange,
                Diagnosis::DependencyFailed(failed.clone()),
            ),
            Self::Cycle(way) => (
                Category::DependencyCycle,
                Requeue::OnChange,
                Diagnosis::DependencyCycle(way.clone()),
            ),
            Self::Error(error) => (
                Category::SourceError,
                Requeue::OnChange,
                Diagnosis::Sources(vec![fault(error)]),
            ),
        };
        Some(ReconcileError::from_diagnosis(
            category, requeue, cause, None,
        ))
    }
}

fn fault(error: &SourceError) -> Fault {
    match error {
        SourceError::Unusable(_, why) => Fault::new(why, None),
        SourceError::TooMany(count) => Fault::new(
            format!("the inputs derive from {count} objects, more than {MOST_SOURCES}"),
            Some("make the chain shorter, or set waitFor: Nothing for some inputs".to_owned()),
        ),
    }
}
