//! For every rule a history that breaks it, and a similar one that does not.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod approval;
mod history;
mod loss;
mod outputs;
mod overlap;
mod profiles;
mod retries;
mod stops;

use cartouche_crds::RunnableStatus;
use cartouche_oracle::{
    Actor::{Controller, Person, Stranger},
    Excuse, Object, Run, Sight, Verb,
};

use history::{
    History, breaks, current, earlier, empty, gives, holds, intent, is_excused, run, second, told,
};

#[test]
fn s1_a_number_twice() {
    let twice = |history: History| history.make(run(1, "v1:a", "two"));
    breaks("S1", twice(History::begun()));
    breaks("S1", twice(History::begun().delete(Person, "one")));
    let next = History::begun().write(second());
    holds(next.make(run(2, "v1:b", "two")));
    let mut unnumbered = run(1, "v1:a", "one");
    unnumbered.number = None;
    breaks("S1", History::new(Sight::Record).make(unnumbered));
}

#[test]
fn i1_deleted_before_it_was_recorded_and_made_again() {
    let unrecorded = || {
        let intended = History::new(Sight::Whole).write(intent(1, "v1:a"));
        intended.make(run(1, "v1:a", "one"))
    };
    let again = |history: History| history.make(run(1, "v1:a", "two"));
    is_excused(
        again(unrecorded().delete(Person, "one")),
        Excuse::DeletedUnrecorded,
    );
    // It exists, or was recorded first, or is another.
    breaks("S1", again(unrecorded()));
    let recorded = unrecorded().write(current(intent(1, "v1:a"), "one"));
    breaks("S1", again(recorded.delete(Person, "one")));
    let other = unrecorded().delete(Person, "one").write(intent(1, "v1:b"));
    let (broken, excused) = other.make(run(1, "v1:b", "two")).found();
    assert!(broken.contains(&"S1") && excused.is_empty(), "{broken:?}");
}

#[test]
fn a_create_that_was_given_up_counts_from_when_its_run_is_known() {
    let begin = || History::new(Sight::Record).write(intent(1, "v1:a"));
    let one = || run(1, "v1:a", "one");
    let two = || run(1, "v1:a", "two");
    holds(begin().give_up(one()).make(two()));
    holds(begin().give_up(one()).see(one()).see(one()));
    breaks("S1", begin().give_up(one()).see(one()).make(two()));
    let confirmed = current(intent(1, "v1:a"), "one");
    breaks(
        "S1",
        begin().give_up(one()).write(confirmed.clone()).make(two()),
    );
    // No request had this name.
    let mut elsewhere = one();
    elsewhere.name = "other".to_owned();
    holds(begin().give_up(elsewhere).write(confirmed).make(two()));
    // It must have been intended, too.
    breaks("S3", History::new(Sight::Record).give_up(one()).see(one()));
    // The write that intended it may have been given up as well.
    let given_up = History::new(Sight::Record).status(Controller, Verb::GivenUp, intent(1, "v1:a"));
    holds(given_up.give_up(one()).see(one()));
}

#[test]
fn what_outlives_its_runnable_is_excused() {
    let gone = History::begun().status(Person, Verb::Deleted, empty());
    let again = gone.make(run(1, "v1:a", "two"));
    is_excused(again, Excuse::OutlivedItsRunnable);
}

#[test]
fn s2_a_hash_of_other_content_or_an_entry_of_another_run() {
    let mut other = run(2, "v1:a", "two");
    let asked = earlier(intent(2, "v1:a"), 1, "v1:a", "one");
    let again = |run: Run| {
        let deleted = History::begun().edit(empty()).delete(Person, "one");
        deleted.write(asked.clone()).make(run)
    };
    holds(again(other.clone()));
    other.content = Some("b".to_owned());
    breaks("S2", again(other));
    let of_another = earlier(intent(2, "v1:b"), 1, "v1:x", "one");
    breaks("S2", History::begun().write(of_another));
    let unknown = earlier(intent(2, "v1:b"), 1, "v1:a", "nobody");
    breaks("S2", History::begun().write(unknown));
}

#[test]
fn s2_only_the_hash_of_another_release_may_be_written_anew() {
    let said = |hash: &str, made: &str| {
        let begun = History::new(Sight::Torn).make(run(1, made, "one"));
        begun.write(current(intent(1, hash), "one"))
    };
    holds(said("v1:a", "v0:x"));
    holds(said("v0:x", "v0:x"));
    // A user has written it on the run, too.
    let rewritten = |hash: &str| {
        let made = History::new(Sight::Torn).make(run(1, "v1:a", "one"));
        let marked = made.tell(Person, Verb::Changed, Object::Run(run(1, "v0:x", "one")));
        marked.write(current(intent(1, hash), "one"))
    };
    holds(rewritten("v0:x"));
    holds(rewritten("v1:b"));
    // Each of two releases may write its own.
    holds(said("v0:x", "v1:a"));
    breaks("S2", said("v1:b", "v1:a"));
    breaks("S2", said("rubbish", "v1:a"));
    // This release did not write the ledger, or no release made the run.
    breaks("S2", said("v0:y", "v0:x"));
    breaks("S2", said("rubbish", "v0:x"));
    breaks("S2", said("v1:a", "rubbish"));
}

#[test]
fn s2_a_strangers_object_is_no_run() {
    let taken = |created: i64, begin: History| {
        let mut forged = run(2, "v1:b", "forged");
        forged.created = Some(created);
        let forged = begin.tell(Stranger, Verb::Created, Object::Run(forged));
        let intended = forged.write(second());
        intended.write(current(second(), "forged"))
    };
    breaks("S2", taken(60, History::begun()));
    is_excused(taken(80, History::begun()), Excuse::QuickerThanTheCreate);
    let restored = History::begun().edit(gives(intent(1, "v1:a"), 1, "one"));
    let (broken, excused) = taken(60, restored).found();
    assert!(!broken.contains(&"S2"), "{broken:?}");
    assert_eq!(excused, [Excuse::ForgedAndLost]);
}

#[test]
fn s3_a_run_that_nobody_intended() {
    breaks("S3", History::new(Sight::Whole).make(run(1, "v1:a", "one")));
    let other_name = Run {
        name: "app-x".to_owned(),
        ..run(1, "v1:a", "one")
    };
    let intended = || History::new(Sight::Whole).write(intent(1, "v1:a"));
    breaks("S3", intended().make(other_name));
    let other_hash = intended().make(run(1, "v1:b", "one")).found();
    assert_eq!(other_hash.0, ["S2", "S3"]);
    holds(History::new(Sight::Torn).make(run(1, "v1:a", "one")));
}

#[test]
fn s3_a_number_without_a_cause() {
    let same = earlier(intent(2, "v1:a"), 1, "v1:a", "one");
    breaks("S3", History::begun().write(same.clone()));
    holds(History::begun().write(second()));
    let mut asked = same.clone();
    asked.current_run.as_mut().unwrap().rerun_token = Some("again".to_owned());
    holds(History::begun().write(asked.clone()));
    // Deleted before it ended: once more.
    let running = || {
        let intended = History::new(Sight::Whole).write(intent(1, "v1:a"));
        let made = intended.make(run(1, "v1:a", "one"));
        made.write(current(intent(1, "v1:a"), "one"))
    };
    holds(running().delete(Person, "one").write(same.clone()));
    breaks(
        "S3",
        running()
            .end("one", false)
            .delete(Person, "one")
            .write(same),
    );
    // An answered request counts once the previous run was made.
    let pending = History::new(Sight::Whole).write(intent(1, "v1:a"));
    asked.history_mut().clear();
    breaks("S3", pending.write(asked));
}

#[test]
fn s3_a_number_is_passed_over_for_a_name_that_is_taken() {
    let next = || intent(2, "v1:a");
    let pending = || History::new(Sight::Whole).write(intent(1, "v1:a"));
    let stranger = |name: &str| {
        let object = Run {
            runnable: String::new(),
            name: name.to_owned(),
            ..run(7, "", "other")
        };
        Object::Run(object)
    };
    let taken = |name: &str| pending().tell(Stranger, Verb::Created, stranger(name));
    holds(taken("app-1").write(next()));
    breaks("S3", taken("app-7").write(next()));
    breaks("S3", pending().write(next()));
    // It was gone before the number was given; another one came later.
    let gone = || {
        let begin = History::new(Sight::Whole).tell(Stranger, Verb::Created, stranger("app-1"));
        begin.delete(Person, "other").write(intent(1, "v1:a"))
    };
    breaks("S3", gone().write(next()));
    let mut another = stranger("app-1");
    if let Object::Run(run) = &mut another {
        run.uid = "another".to_owned();
    }
    holds(gone().tell(Stranger, Verb::Created, another).write(next()));
    // It went after that.
    holds(taken("app-1").delete(Person, "other").write(next()));
    // The previous run was made: its number cannot be given up.
    let made = pending().make(run(1, "v1:a", "one"));
    let taken = made.tell(Stranger, Verb::Created, stranger("app-1"));
    breaks("S3", taken.write(next()));
}

#[test]
fn s3_a_ledger_that_goes_back_or_away() {
    let two = || History::begun().write(second());
    breaks("S3", two().write(intent(1, "v1:a")));
    breaks("S3", two().write(empty()));
    holds(two().edit(intent(1, "v1:a")));
}

#[test]
fn s3_a_ledger_that_was_not_written_down_did_not_begin_anew() {
    let unwritten = |sight| {
        let given_up = History::new(sight).status(Controller, Verb::GivenUp, intent(1, "v1:a"));
        let made = given_up.make(run(1, "v1:a", "one"));
        made.write(earlier(intent(2, "v1:b"), 1, "v1:a", "one"))
    };
    holds(unwritten(Sight::Record));
    breaks("S3", unwritten(Sight::Whole));
}

#[test]
fn s5_what_retention_may_not_delete() {
    let old = |history: History| history.later(600).delete(Controller, "one");
    let two = || History::begun().write(second());
    holds(old(two()));
    // Young, current, the source of outputs, unknown, unfinished.
    breaks("S5", two().delete(Controller, "one"));
    breaks("S5", old(History::begun()));
    breaks("S5", old(two().write(gives(second(), 1, "one"))));
    breaks("S5", old(two().write(intent(2, "v1:b"))));
    let running = History::new(Sight::Whole)
        .write(intent(1, "v1:a"))
        .make(run(1, "v1:a", "one"));
    breaks(
        "S5",
        old(running
            .write(current(intent(1, "v1:a"), "one"))
            .write(second())),
    );
    // The ledger that knew it was removed after the decision to delete.
    holds(old(two().edit(empty())));
    holds(two().delete(Person, "one"));
}

#[test]
fn l2_a_run_that_its_ledger_does_not_know() {
    let unknown = |history: History| told(history.past.unknown("app"));
    let made = || History::begun().write(second()).make(run(2, "v1:b", "two"));
    assert_eq!(unknown(made()), (vec!["L2"], vec![]));
    assert_eq!(unknown(made().delete(Person, "two")), (vec![], vec![]));
    assert_eq!(
        unknown(made().write(current(second(), "two"))),
        (vec![], vec![])
    );
    // Another of its number was deleted before it was recorded.
    let hasty = made().delete(Person, "two").make(run(2, "v1:b", "three"));
    assert_eq!(unknown(hasty), (vec![], vec![Excuse::DeletedUnrecorded]));
}

/// A chain that runs for days: without indices, these comparisons would take an hour.
#[test]
fn a_long_history_is_judged_to_its_end() {
    const RUNS: i64 = 5_000;
    /// Maximum of a ledger.
    const KNOWN: usize = 200;
    let (mut history, mut ledger) = (History::new(Sight::Whole).template("Task"), empty());
    for number in 1..=RUNS {
        let (hash, uid) = (format!("v1:{number}"), format!("run-{number}"));
        let next = |current: RunnableStatus| RunnableStatus {
            history: ledger.history.clone(),
            ..current
        };
        let intended = next(intent(number, &hash));
        let made = next(current(intent(number, &hash), &uid));
        history = history
            .write(intended)
            .make(run(number, &hash, &uid))
            .write(made)
            .end(&uid, true);
        ledger = earlier(ledger, number, &hash, &uid);
        if ledger.history.len() > KNOWN {
            ledger.history_mut().remove(0);
        }
    }
    // Another run of the first number is found among all of them.
    breaks("S1", history.see(run(1, "v1:1", "again")));
}
