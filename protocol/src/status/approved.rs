//! What a status says of an approval that was given while no controller looked. Pure.

use cartouche_crds::RunnableStatus;

use crate::{diagnosis::is_approved, facts::Facts, reconcile_error::Category};

/// The stored status, where it says that a run waits for a person who has approved it since: while a controller that was just
/// started waits before it makes that run, the words about it are not true any more. `None` where all that is said is true.
#[must_use]
pub fn approved_meanwhile(facts: &Facts) -> Option<RunnableStatus> {
    let pending = facts.stored.pending.as_ref()?;
    let is_given = pending.approval.is_some() && pending.approval == facts.runnable.approved;
    let waits = Category::ApprovalRequired.as_str();
    let rendering = facts.rendering.as_ref().ok()?;
    // An edit meanwhile, or a refusal, may be in the way of it.
    let is_as_shown = rendering.document.has_hash(&pending.input_hash)
        && facts.stored.observed_generation == Some(facts.runnable.generation)
        && facts.runnable.rejected.is_none();
    if !is_given || !is_as_shown || pending.reason != waits {
        return None;
    }
    let message = is_approved(pending.sequence);
    let mut status = (*facts.stored).clone();
    for condition in &mut status.conditions {
        if condition.reason == waits {
            condition.message.clone_from(&message);
        }
    }
    (status != *facts.stored).then_some(status)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::{decide::tests::scene::with, ledger::tests::sample::created};

    fn facts(approved: &str) -> Facts {
        let condition = |kind: &str, reason: &str| {
            json!({
                "type": kind, "status": "False", "reason": reason, "message": "(the annotation is for run 2)",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        let mut facts = with(created(2, "A"), "A");
        let hash = facts
            .rendering
            .as_ref()
            .unwrap()
            .document
            .input_hash()
            .to_owned();
        let status = json!({
            "observedGeneration": facts.runnable.generation,
            "conditions": [condition("Ready", "ApprovalRequired"), condition("Other", "Another")],
            "pending": {
                "sequence": 1, "inputHash": hash, "reason": "ApprovalRequired", "since": "2026-01-01T00:00:00Z",
                "approval": "1:v1:a",
            },
        });
        facts.runnable.approved = Some(approved.to_owned());
        facts.stored = Arc::new(serde_json::from_value(status).unwrap());
        facts
    }

    #[test]
    fn of_what_was_approved_it_is_said_that_it_begins_and_that_once() {
        let mut approved = facts("1:v1:a");
        let status = approved_meanwhile(&approved).unwrap();
        let said =
            "run 1 is due, and a person has approved it; to do: nothing: it begins by itself";
        assert!(status.conditions[0].message.starts_with(said));
        assert_eq!(status.conditions[1], approved.stored.conditions[1]);
        approved.stored = Arc::new(status);
        assert_eq!(approved_meanwhile(&approved), None);
        assert_eq!(approved_meanwhile(&facts("2:v1:a")), None);
        let mut edited = facts("1:v1:a");
        edited.runnable.generation += 1;
        assert_eq!(approved_meanwhile(&edited), None);
        let mut changed = facts("1:v1:a");
        changed.rendering = with(created(2, "A"), "B").rendering;
        assert_eq!(approved_meanwhile(&changed), None);
    }
}
