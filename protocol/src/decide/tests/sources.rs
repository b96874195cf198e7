//! The sources of the inputs hold back the next run.

use super::scene::*;
use crate::{
    category::Category,
    decide::{Step, decide},
    facts::Facts,
    ledger::tests::sample::*,
    messages::diagnosis::NotReady,
    sources::Readiness,
    trace::SourceKey,
};

fn held(mut facts: Facts) -> Facts {
    let who = SourceKey::runnable("space", "b");
    facts.dependencies.readiness = Readiness::NotReady(who, NotReady::Behind);
    facts
}

#[test]
fn to_hold_a_run_costs_no_read_unless_that_rests_on_what_may_have_been_read_before_others_looked() {
    for due in [new_runnable("A"), with(created(1, "A"), "B")] {
        stuck(&held(due.clone()), Category::DependencyNotReady);
        let mut rests = held(due);
        rests.dependencies.rests_on_own_reads = true;
        assert_eq!(decide(&rests), Step::RenderAgain);
        stuck(&rests.fresh(), Category::DependencyNotReady);
    }
}
