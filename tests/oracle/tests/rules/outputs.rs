//! From which runs outputs may be.

use cartouche_oracle::{Run, Sight};
use serde_json::json;

use crate::history::{History, breaks, current, gives, holds, intent, run, second};

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
    // Somebody else took them away.
    let emptied = ended().edit(current(intent(1, "v1:a"), "one"));
    holds(emptied.write(current(intent(1, "v1:a"), "one")));
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
