//! Permitted sources of outputs.

use cartouche_crds::RunnableStatus;
use cartouche_oracle::{Actor::Person, Excuse, Run, Sight};
use serde_json::json;

use crate::history::{
    History, breaks, current, earlier, empty, gives, holds, intent, is_excused, run, second,
};

#[test]
fn s4_outputs_that_go_back_away_or_are_of_no_run() {
    let ended = || History::begun().write(gives(current(intent(1, "v1:a"), "one"), 1, "one"));
    let two = || {
        let made = ended()
            .write(gives(second(), 1, "one"))
            .make(run(2, "v1:b", "two"));
        made.write(gives(current(second(), "two"), 1, "one"))
    };
    let of_two = || gives(current(second(), "two"), 2, "two");
    holds(two().end("two", true).write(of_two()));
    // It has not ended, or has failed.
    breaks("S4", two().write(of_two()));
    breaks("S4", two().end("two", false).write(of_two()));
    let back = gives(current(second(), "two"), 1, "one");
    breaks("S4", two().end("two", true).write(of_two()).write(back));
    breaks(
        "S4",
        ended().write(gives(current(intent(1, "v1:a"), "one"), 2, "one")),
    );
    let gone = ended().write(current(intent(1, "v1:a"), "one")).found();
    assert_eq!(gone.0, ["S4", "S4"]);
    let mut nothing = gives(current(intent(1, "v1:a"), "one"), 1, "one");
    nothing.outputs = None;
    breaks("S4", History::begun().write(nothing));
    // Others removed them.
    let emptied = ended().edit(current(intent(1, "v1:a"), "one"));
    holds(emptied.write(current(intent(1, "v1:a"), "one")));
}

#[test]
fn s4_after_a_loss_outputs_are_of_the_newest_run_that_had_succeeded() {
    let lost = |succeeded: bool, loss: RunnableStatus| {
        let two = History::begun().write(second()).make(run(2, "v1:b", "two"));
        let two = two.write(current(second(), "two"));
        let ended = if succeeded { two.end("two", true) } else { two };
        ended.edit(loss)
    };
    let of_one = || gives(current(second(), "two"), 1, "one");
    let of_two = || gives(current(second(), "two"), 2, "two");
    let backup = || current(intent(1, "v1:a"), "one");
    for loss in [empty, backup] {
        breaks("S4", lost(true, loss()).write(of_one()));
        holds(lost(true, loss()).write(of_two()));
        // It is gone, or did not end before the loss.
        let gone = lost(true, loss()).delete(Person, "two");
        holds(gone.write(of_one()));
        holds(lost(false, loss()).end("two", true).write(of_one()));
    }
    // The number is the same, so that the loss shows nowhere.
    holds(lost(true, current(second(), "two")).write(of_one()));
    // The backup gave these outputs, which stay until there are others.
    let kept = lost(true, gives(backup(), 1, "one"));
    holds(kept.write(of_one()));
    // Only its outputs show that it has succeeded.
    let given = || {
        let made = History::new(Sight::Torn).make(run(1, "v1:a", "one"));
        made.make(run(2, "v1:b", "two")).write(of_two())
    };
    breaks("S4", given().edit(empty()).write(of_one()));
}

#[test]
fn s4_after_a_loss_a_run_of_another_kind_need_not_be_known() {
    let anew = |history: History| {
        let made = history.write(second()).make(run(2, "v1:b", "two"));
        let two = made.write(current(second(), "two")).end("two", true);
        let runs_lost = RunnableStatus {
            observed_generation: Some(1),
            ..empty()
        };
        let mut of_one = gives(earlier(intent(3, "v1:c"), 1, "v1:a", "one"), 1, "one");
        of_one.current_run.as_mut().unwrap().kind = "Build".to_owned();
        two.edit(runs_lost).write(of_one)
    };
    is_excused(anew(History::begun()), Excuse::LostWithItsKind);
    // A template renders the kind: the controller looks for it.
    let found = anew(History::begun().template("Task")).found();
    assert_eq!(found, (vec!["S3", "S4"], vec![]));
}

#[test]
fn s4_outputs_are_what_the_run_gave() {
    let mut one = run(1, "v1:a", "one");
    one.answer = Some(json!("one"));
    one.result = Some(true);
    let made = |one: Run| {
        let intended = History::new(Sight::Whole)
            .write(intent(1, "v1:a"))
            .make(one);
        intended.write(gives(current(intent(1, "v1:a"), "one"), 1, "one"))
    };
    holds(made(one.clone()));
    one.answer = Some(json!("other"));
    breaks("S4", made(one));
}
