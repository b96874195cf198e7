//! Statuses that others emptied or restored, and the consequences.

use cartouche_crds::{CurrentRun, RunnableStatus};
use cartouche_oracle::{
    Actor::{Person, Stranger},
    Excuse, Object, Sight, Verb, is_loss,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use crate::history::{
    History, breaks, current, earlier, empty, gives, holds, intent, is_excused, run, second,
};

#[test]
fn i3_deleted_and_forgotten() {
    let again = |history: History| history.write(intent(1, "v1:a")).make(run(1, "v1:a", "two"));
    let forgotten = History::begun().delete(Person, "one").edit(empty());
    is_excused(again(forgotten), Excuse::DeletedAndForgotten);
    // It still exists: neither may the ledger begin anew, nor its number be used.
    let there = again(History::begun().edit(empty())).found();
    assert_eq!(there, (vec!["S3", "S1"], vec![]));
}

#[test]
fn i3_an_edit_that_loses_nothing_of_runs_excuses_nothing() {
    let again = |loss: RunnableStatus| {
        let deleted = History::begun().delete(Person, "one").edit(loss);
        deleted.make(run(1, "v1:a", "two"))
    };
    let known = || current(intent(1, "v1:a"), "one");
    let reported = RunnableStatus {
        conditions: vec![condition()],
        observed_generation: Some(2),
        ..known()
    };
    breaks("S1", again(reported));
    let mut unlike = known();
    unlike.current_run.as_mut().unwrap().uid = None;
    is_excused(again(unlike), Excuse::DeletedAndForgotten);
}

#[test]
fn i3_what_is_lost_by_an_edit() {
    let old = || gives(second(), 1, "one");
    let with = |change: fn(&mut RunnableStatus)| {
        let mut new = old();
        change(&mut new);
        is_loss(&old(), &new)
    };
    assert!(with(|new| new.current_run = None));
    assert!(with(|new| new.current_run.as_mut().unwrap().sequence = 3));
    assert!(with(|new| new.history_mut().clear()));
    assert!(with(|new| new.history_mut()[0].uid = None));
    assert!(with(|new| new.outputs_from = None));
    assert!(!with(|_| {}));
    assert!(!with(|new| new.observed_generation = None));
    assert!(!with(|new| new.conditions.push(condition())));
    assert!(!with(|new| new.history_mut()[0].message = "done".to_owned()));
    assert!(!with(|new| {
        let twice = new.history[0].clone();
        new.history_mut().push(twice);
    }));
    assert!(!is_loss(
        &intent(1, "v1:a"),
        &gives(intent(1, "v1:a"), 1, "one")
    ));
    // A ledger is restored, or the last sign that there was one is removed.
    let served = || RunnableStatus {
        conditions: vec![condition()],
        ..empty()
    };
    assert!(is_loss(&served(), &intent(1, "v1:a")));
    assert!(is_loss(&served(), &empty()));
    assert!(!is_loss(&empty(), &served()));
}

fn condition() -> Condition {
    let condition = json!({
        "type": "Ready", "status": "True", "reason": "Ready", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    serde_json::from_value(condition).unwrap()
}

#[test]
fn i3_runs_of_another_kind_are_lost_with_the_whole_status() {
    let other_kind = |loss: RunnableStatus, history: History| {
        let mut anew = intent(1, "v1:b");
        anew.current_run.as_mut().unwrap().kind = "Build".to_owned();
        let mut made = run(1, "v1:b", "two");
        made.kind = "Build".to_owned();
        history.edit(loss).write(anew).make(made)
    };
    let runs_lost = RunnableStatus {
        observed_generation: Some(1),
        ..empty()
    };
    is_excused(
        other_kind(empty(), History::begun()),
        Excuse::LostWithItsKind,
    );
    is_excused(
        other_kind(runs_lost.clone(), History::begun()),
        Excuse::LostWithItsKind,
    );
    // A template renders the kind: the controller looks for it.
    let found = other_kind(runs_lost, History::begun().template("Task")).found();
    assert_eq!(found, (vec!["S3", "S1"], vec![]));
}

/// The template is of the first kind again, and so both runs of one number are found.
#[test]
fn s2_a_ledger_that_found_both_runs_of_a_number_says_of_each_what_it_is() {
    let both = |hash_of_first: &str| {
        let mut anew = intent(1, "v1:b");
        anew.current_run.as_mut().unwrap().kind = "Build".to_owned();
        let mut made = run(1, "v1:b", "two");
        made.kind = "Build".to_owned();
        let again = History::begun().edit(empty()).write(anew).make(made);
        again.write(earlier(
            earlier(intent(2, "v1:c"), 1, "v1:b", "two"),
            1,
            hash_of_first,
            "one",
        ))
    };
    is_excused(both("v1:a"), Excuse::LostWithItsKind);
    let (broken, _) = both("v1:x").found();
    assert_eq!(broken, ["S2"]);
}

#[test]
fn s3_after_a_loss_the_newest_run_is_found_first() {
    let two = || {
        let made = History::begun().write(second()).make(run(2, "v1:b", "two"));
        made.write(current(second(), "two"))
    };
    let found = current(second(), "two");
    holds(two().edit(empty()).write(found.clone()));
    breaks(
        "S3",
        two().edit(empty()).write(current(intent(1, "v1:a"), "one")),
    );
    // A backup: the newest run is found, or the next one is another.
    let backup = || two().edit(current(intent(1, "v1:a"), "one"));
    holds(backup().write(found));
    holds(backup().write(earlier(intent(3, "v1:c"), 1, "v1:a", "one")));
    breaks(
        "S3",
        backup().write(earlier(intent(3, "v1:b"), 1, "v1:a", "one")),
    );
}

/// Its create was on its way when the backup was restored, and no watch has shown it yet.
#[test]
fn s3_after_a_backup_the_number_of_the_newest_run_may_be_given_to_its_document_again() {
    let landed = || {
        let two = History::begun().write(second());
        let backup = two.edit(current(intent(1, "v1:a"), "one"));
        backup.make(run(2, "v1:b", "two"))
    };
    let again = |status: RunnableStatus| earlier(status, 1, "v1:a", "one");
    let found = || current(again(intent(2, "v1:b")), "two");
    holds(landed().write(again(intent(2, "v1:b"))).write(found()));
    // Under another number, or in another place, it is a second run.
    breaks("S3", landed().write(again(intent(3, "v1:b"))));
    for change in [
        (|run: &mut CurrentRun| run.name = "other".to_owned()) as fn(&mut CurrentRun),
        |run| run.kind = "Build".to_owned(),
    ] {
        let mut elsewhere = again(intent(2, "v1:b"));
        change(elsewhere.current_run.as_mut().unwrap());
        breaks("S3", landed().write(elsewhere));
    }
    breaks(
        "S1",
        landed()
            .write(again(intent(2, "v1:b")))
            .make(run(2, "v1:b", "three")),
    );
}

/// A status was emptied, and rebuilt from the existing runs; a controller that has seen a higher number lists
/// them once more.
#[test]
fn s3_after_a_loss_whoever_has_seen_a_higher_number_finds_what_is_ahead() {
    let one = || current(intent(1, "v1:a"), "one");
    let lost = || {
        let two = History::begun().write(second());
        two.edit(empty()).write(one())
    };
    // The document was changed back meanwhile: only the run that is found is a cause.
    let found = |uid: &str| earlier(current(intent(2, "v1:b"), uid), 1, "v1:a", "one");
    let same = || {
        let third = earlier(current(intent(3, "v1:a"), "three"), 1, "v1:a", "one");
        let three = lost().write(second());
        (three.edit(empty()).write(one()), third)
    };
    holds(lost().make(run(2, "v1:b", "two")).write(found("two")));
    let forged = |number: i64, history: History| {
        let forged = run(number, "v1:a", "three");
        history.tell(Stranger, Verb::Created, Object::Run(forged))
    };
    let (history, third) = same();
    is_excused(
        forged(3, history).write(third.clone()),
        Excuse::ForgedAndLost,
    );
    // No controller has seen a higher number, or nothing was lost.
    let (broken, _) = forged(3, History::begun().edit(empty()).write(one()))
        .write(third.clone())
        .found();
    assert_eq!(broken, ["S3"]);
    let (broken, _) = forged(3, History::begun()).write(third).found();
    assert_eq!(broken, ["S2", "S3"]);
    // It bears another number.
    let (history, third) = same();
    let (broken, _) = forged(4, history).write(third).found();
    assert_eq!(broken, ["S3"]);
    // Nothing is found: an intent needs a cause of its own.
    let (history, _) = same();
    breaks(
        "S3",
        history.write(earlier(intent(2, "v1:a"), 1, "v1:a", "one")),
    );
}

#[test]
fn i3_lost_while_a_create_was_on_its_way() {
    let lost = || History::new(Sight::Whole).write(intent(1, "v1:a"));
    let late = lost().edit(empty()).make(run(1, "v1:a", "one"));
    is_excused(late.write(intent(2, "v1:b")), Excuse::LostWhileOnItsWay);
    let early = lost().make(run(1, "v1:a", "one")).edit(empty());
    breaks("S3", early.write(intent(2, "v1:b")));
}
