//! Deletes finished runs beyond the retention policy, as the Runnable's account. I/O.

use std::time::Duration;

use super::{CONFLICT_PAUSE, pass::Pass};
use crate::{
    api::ApiError,
    clock::boot_time,
    events::Occasion,
    memory::{Held, lock},
    metrics::RunEvent,
    problem::{Category, Cure, Problem},
    retention::retention,
    watch::{Purpose, Watched},
};

impl Pass<'_> {
    /// Deletes finished runs that nobody needs any more. When to look again.
    pub(super) async fn retire(&mut self) -> Option<Duration> {
        let (runs, kinds) = (self.own.runs.clone(), self.own.kinds.clone());
        let watched = |api_version: &str, kind: &str| {
            kinds.known(api_version, kind).map(|kind| Watched {
                purpose: Purpose::Runs,
                kind,
            })
        };
        let plan = retention(
            &self.facts.ledger,
            self.runnable.spec.retention_policy,
            self.facts.now,
            |entry, uid| {
                watched(&entry.api_version, &entry.kind)
                    .is_some_and(|watched| runs.exists(&watched, uid))
            },
        );
        if plan.delete.is_empty() {
            return plan.again;
        }
        let held = lock(&self.memory)
            .held(&Held::Delete, boot_time())
            .map(|(_, left)| left);
        if held.is_some() {
            return held;
        }
        let account = self.account.clone()?;
        let mut again = plan.again;
        for entry in &plan.delete {
            let Some(kind) = kinds.known(&entry.api_version, &entry.kind) else {
                continue;
            };
            let Some(uid) = &entry.uid else { continue };
            match account
                .delete(&kind.path(&self.key.namespace), &entry.name, uid)
                .await
            {
                Ok(()) => {
                    self.own.metrics.run(RunEvent::Removed);
                    self.own.events.publish(
                        &self.runnable,
                        &Occasion::Removed(format!("{}/{}", kind.resource(), entry.name)),
                        self.facts.now,
                    );
                }
                Err(error) if error.is_not_found() => {}
                // Another object has the name: the watch will tell that this one is gone. Or the
                // server was at odds with itself, and it is still there.
                Err(error) if error.is_conflict() => {
                    again = again.into_iter().chain([CONFLICT_PAUSE]).min();
                }
                Err(error) => return Some(self.undeletable(&entry.name, &error)),
            }
        }
        lock(&self.memory).release(&Held::Delete);
        again
    }

    /// One Warning, and a pause that gets longer.
    fn undeletable(&self, name: &str, error: &ApiError) -> Duration {
        let cure = if error.is_forbidden() {
            Cure::Right
        } else {
            Cure::Retry
        };
        let text = format!(
            "unable to delete finished run [{}/{name}]: {error}: grant the ServiceAccount the right to delete, or raise spec.retentionPolicy",
            self.key.namespace
        );
        let problem = Problem::new(Category::StampedObjectRejectedByAPIServer, cure, text);
        let mut memory = lock(&self.memory);
        let first = memory
            .hold
            .as_ref()
            .is_none_or(|hold| hold.what != Held::Delete);
        if first {
            let occasion = Occasion::Warning {
                reason: "RetentionFailed".to_owned(),
                message: problem.message.clone(),
            };
            self.own
                .events
                .publish(&self.runnable, &occasion, self.facts.now);
        }
        memory.hold(Held::Delete, &problem, boot_time())
    }
}
