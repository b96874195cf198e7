//! Facts about a run that was just met.

use super::Facts;
use crate::ledger::RunIdentity;

impl Facts {
    /// Returns true if this is the run of the current entry, or may be about to become it. Facts learnt before the
    /// confirmation then need not be learnt again.
    #[must_use]
    pub fn is_current_run(&self, run: &RunIdentity) -> bool {
        let current = self.ledger.current.as_ref();
        self.ledger.is_at(&run.uid) || current.is_some_and(|current| run.answers(current))
    }

    /// Returns true if this run was made of what the template renders now. For any other run this is unknown: its
    /// selector or its template may have been different.
    #[must_use]
    pub fn is_as_rendered(&self, run: &RunIdentity) -> bool {
        let current = self.ledger.current.as_ref();
        let rendering = self.rendering.as_ref();
        self.is_current_run(run)
            && current
                .zip(rendering.ok())
                .is_some_and(|(current, it)| it.document.has_hash(&current.input_hash))
    }
}

#[cfg(test)]
mod tests {
    use cartouche_crds::CurrentRun;

    use crate::{
        decide::tests::scene::*,
        facts::Facts,
        ledger::{Ledger, tests::sample::*},
    };

    fn is_known(facts: &Facts, sequence: i64) -> (bool, bool) {
        let run = run(sequence, "A");
        (facts.is_current_run(&run), facts.is_as_rendered(&run))
    }

    #[test]
    fn it_is_known_what_the_current_run_was_made_of_whether_or_not_it_is_confirmed() {
        let late = CurrentRun {
            uid: Some("gone".to_owned()),
            ..created(2, "A")
        };
        let unconfirmed = [pending(2, "A"), rejected(2, "A", true), late];
        for current in unconfirmed.into_iter().chain([created(2, "A")]) {
            assert_eq!(is_known(&with(current, "A"), 2), (true, true));
        }
    }

    #[test]
    fn it_is_not_known_what_an_earlier_run_was_made_of() {
        for current in [created(2, "A"), pending(2, "A")] {
            assert_eq!(is_known(&with(current, "A"), 1), (false, false));
        }
        let none = facts(Ledger::default(), "A");
        assert_eq!(is_known(&none, 1), (false, false));
    }

    #[test]
    fn it_is_not_known_what_a_run_was_made_of_once_something_else_is_rendered_or_nothing() {
        for current in [created(2, "A"), pending(2, "A")] {
            let mut other = with(current, "B");
            assert_eq!(is_known(&other, 2), (true, false));
            other.rendering = Err(problem("no"));
            assert_eq!(is_known(&other, 2), (true, false));
        }
    }
}
