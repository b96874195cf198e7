//! A pending change that waits for an earlier run.

use std::time::Duration;

use super::*;

#[test]
fn a_run_that_waits_for_an_earlier_one_is_under_way_whatever_became_of_the_one_before() {
    let waits = of(Category::RunAtWork, Requeue::After(Duration::from_mins(5)));
    let after =
        |fetched: &FetchedRun| report(&read(fetched).rendered_as(document("B")), Some(&waits));
    for (run, word) in [
        (running(run(2, "A")), "Unknown"),
        (failed(run(2, "A")), "False"),
    ] {
        let status = after(&run);
        assert_eq!(
            told(&status),
            [
                "RunTemplateReady=Unknown/RunAtWork",
                &format!("StampedObjectCondition={word}/SucceededCondition"),
                "Ready=Unknown/RunAtWork",
                "Reconciling=True/RunAtWork",
            ]
        );
        let pending = status.pending.unwrap();
        assert_eq!((pending.sequence, pending.input_hash), (3, hash("B")));
        assert_eq!(pending.since, Time(at(NOW)));
    }
}

#[test]
fn since_when_it_waits_stays_until_something_else_is_to_run() {
    let waits = of(Category::RunAtWork, Requeue::After(Duration::from_mins(5)));
    let mut facts = read(&running(run(2, "A"))).rendered_as(document("B"));
    facts.stored = Arc::new(report(&facts, Some(&waits)));
    facts.now = Some(at(NOW + 60));
    let again = report(&facts, Some(&waits));
    assert_eq!(again, *facts.stored, "nothing is written again");
    let other = facts.clone().rendered_as(document("C"));
    let since = report(&other, Some(&waits)).pending.map(|it| it.since);
    assert_eq!(since, Some(Time(at(NOW + 60))));
    assert_eq!(report(&facts, None).pending, None);
}
