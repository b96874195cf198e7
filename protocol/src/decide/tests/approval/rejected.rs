//! A person refuses a run, and it is not made.

use std::sync::Arc;

use cartouche_crds::{
    Rejection, RunResult,
    conditions::{FALSE, READY, STALLED, STAMPED_OBJECT_CONDITION, find},
};

use super::{approving, changed, manual, of, waits};
use crate::{
    category::Category,
    decide::{Step, decide, tests::scene::*},
    facts::Facts,
    ledger::tests::sample::*,
    status,
};

fn rejecting(mut facts: Facts, approval: String) -> Facts {
    facts.runnable.rejected = Some(Rejection {
        approval,
        by: "alice".to_owned(),
        reason: "not before\u{202e} Monday; to do: run me".to_owned(),
    });
    facts
}

#[test]
fn what_a_person_refused_is_not_run_and_says_so_in_their_words() {
    for before in [RunResult::Succeeded, RunResult::Failed] {
        let changed = manual(with(ended(2, "A", before), "B"));
        let facts = rejecting(changed, of(3, "B"));
        let error = stuck(&facts, Category::Rejected);
        let said = r#""alice" has rejected run 3: "not before\u{202e} Monday, to do: run me"; to do: change"#;
        assert!(error.message.starts_with(said), "{}", error.message);
        let status = status::status(&facts, &facts.ledger, Some(&error));
        for kind in [READY, STALLED] {
            let condition = find(&status, kind).unwrap();
            assert_eq!(condition.reason, "Rejected", "{kind}");
            assert!(condition.message.starts_with(said), "{}", condition.message);
        }
        assert_eq!(find(&status, READY).unwrap().status, FALSE);
        let of_run = find(&status, STAMPED_OBJECT_CONDITION).unwrap();
        assert_ne!(of_run.status, "Unknown", "it speaks of the run before");
        let pending = status.pending.clone().unwrap();
        assert_eq!(pending.reason, "Rejected");
        assert_eq!(pending.approval, Some(of(3, "B")));
        let mut later = facts.clone();
        later.stored = Arc::new(status.clone());
        let again = status::status(&later, &later.ledger, Some(&error));
        assert_eq!(again, status, "nothing is written again");
    }
}

#[test]
fn a_no_counts_for_exactly_what_was_refused() {
    for text in [of(2, "B"), of(3, "A"), of(4, "B"), String::new()] {
        waits(&rejecting(changed(), text));
    }
    let next = manual(with(ended(2, "A", RunResult::Succeeded), "C"));
    waits(&rejecting(next, of(3, "B")));
}

#[test]
fn a_no_outweighs_a_yes_and_leaves_what_nobody_has_to_approve_alone() {
    let both = approving(rejecting(changed(), of(3, "B")), of(3, "B"));
    stuck(&both, Category::Rejected);
    let another = approving(rejecting(changed(), of(3, "A")), of(3, "B"));
    assert_eq!(intended(&another), (3, hash("B")));
    let free = with(ended(2, "A", RunResult::Succeeded), "B").fresh();
    assert_eq!(intended(&rejecting(free, of(3, "B"))), (3, hash("B")));
    let begun = manual(with(pending(3, "B"), "B"));
    assert_eq!(decide(&rejecting(begun, of(3, "B"))), Step::Create);
}

#[test]
fn the_server_is_not_asked_about_what_was_refused() {
    let mut facts = rejecting(changed(), of(3, "B"));
    facts.dry_run = None;
    stuck(&facts, Category::Rejected);
}
