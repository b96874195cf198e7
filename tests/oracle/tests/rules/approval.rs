//! S8: no run that needs an approval without its own.

use cartouche_crds::RunnableStatus;
use cartouche_oracle::{Actor, Past, Sight};

use crate::history::{History, breaks, current, earlier, holds, intent, run};

/// Returns a history in which each run needs approval, and this is approved.
fn approved(approved: &str) -> History {
    History {
        past: Past::new(Sight::Whole).with_approval(),
        approved: Some(approved.to_owned()),
        ..History::new(Sight::Whole)
    }
}

/// Returns a history in which the first run was approved, and is at work.
fn working() -> History {
    let made = approved("1:v1:a").write(intent(1, "v1:a"));
    let made = made.make(run(1, "v1:a", "one"));
    made.write(current(intent(1, "v1:a"), "one"))
}

fn next(hash: &str) -> RunnableStatus {
    earlier(intent(2, hash), 1, "v1:a", "one")
}

#[test]
fn s8_no_run_is_intended_but_the_one_that_is_approved() {
    holds(approved("1:v1:a").write(intent(1, "v1:a")));
    for other in ["2:v1:a", "1:v1:b", "1:v1", "1", "", " 1:v1:a", "1:v1:a\n"] {
        breaks("S8", approved(other).write(intent(1, "v1:a")));
    }
    let nothing = History {
        approved: None,
        ..approved("")
    };
    breaks("S8", nothing.write(intent(1, "v1:a")));
}

#[test]
fn s8_an_approval_counts_once() {
    breaks("S8", working().end("one", true).write(next("v1:b")));
    let again = |approved: &str| {
        let mut next = next("v1:a");
        next.current_run.as_mut().unwrap().rerun_token = Some("again".to_owned());
        let ended = working().end("one", true);
        let ended = History {
            approved: Some(approved.to_owned()),
            ..ended
        };
        ended.write(next)
    };
    breaks("S8", again("1:v1:a"));
    holds(again("2:v1:a"));
}

#[test]
fn s8_what_somebody_deleted_unfinished_is_made_again_without_another_approval() {
    let deleted = || working().delete(Actor::Person, "one");
    holds(deleted().write(next("v1:a")));
    breaks("S8", deleted().write(next("v1:b")));
}

/// Returns the entry of this number, with the content of this hash.
fn made_of(sequence: i64, made: &str) -> RunnableStatus {
    let mut status = intent(sequence, "v1:a");
    status.current_run.as_mut().unwrap().approved = Some(made.to_owned());
    status
}

#[test]
fn s8_what_a_run_is_made_of_is_approved_with_the_rest() {
    holds(approved("1:m1:a").write(made_of(1, "m1:a")));
    for other in ["1:v1:a", "1:m1:b"] {
        breaks("S8", approved(other).write(made_of(1, "m1:a")));
    }
}

#[test]
fn s8_what_a_number_is_made_of_changes_with_an_approval_only() {
    let begun = || approved("1:m1:a").write(made_of(1, "m1:a"));
    breaks("S8", begun().write(made_of(1, "m1:b")));
    let again = History {
        approved: Some("1:m1:b".to_owned()),
        ..begun()
    };
    holds(again.write(made_of(1, "m1:b")));
}

#[test]
fn s8_where_nobody_has_to_approve_nothing_is_asked() {
    let history = History {
        past: Past::new(Sight::Whole),
        ..approved("nothing")
    };
    holds(history.write(intent(1, "v1:a")));
}
