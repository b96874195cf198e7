//! P2 and P3: a pin that did not move without a request, and a run that is made with it.

use cartouche_crds::{PinnedProfile, RunnableStatus};
use cartouche_oracle::{Run, Sight};

use crate::history::{History, breaks, current, earlier, empty, holds, intent, run, second};

fn pin(name: &str, refresh_token: Option<&str>) -> PinnedProfile {
    PinnedProfile {
        name: name.to_owned(),
        refresh_token: refresh_token.map(str::to_owned),
        from_run: false,
        unknown_fields: cartouche_crds::UnknownFields::default(),
    }
}

fn found(name: &str) -> PinnedProfile {
    PinnedProfile {
        from_run: true,
        ..pin(name, None)
    }
}

fn with(pinned: PinnedProfile, status: RunnableStatus) -> RunnableStatus {
    RunnableStatus {
        profile: Some(Box::new(pinned)),
        ..status
    }
}

fn made_with(profile: &str, run: Run) -> Run {
    Run {
        profile: Some(profile.to_owned()),
        ..run
    }
}

/// Returns a Runnable whose first run was made with a profile, and has succeeded.
fn begun_in(sight: Sight) -> History {
    History::new(sight)
        .write(with(pin("a", None), intent(1, "v1:a")))
        .make(made_with("a", run(1, "v1:a", "one")))
        .write(with(pin("a", None), created()))
        .end("one", true)
}

fn begun() -> History {
    begun_in(Sight::Whole)
}

fn created() -> RunnableStatus {
    current(intent(1, "v1:a"), "one")
}

#[test]
fn p2_a_pin_begins_with_a_number_and_with_nothing_else() {
    holds(begun());
    breaks(
        "P2",
        History::begun().write(with(pin("a", None), created())),
    );
    holds(History::begun().write(with(pin("a", None), second())));
    let intended = History::new(Sight::Whole).write(intent(1, "v1:a"));
    let made = intended.make(run(1, "v1:a", "one"));
    breaks("P2", made.write(with(pin("a", None), created())));
}

#[test]
fn p2_a_pin_moves_by_the_request_that_stands_on_the_runnable() {
    for next in [created, second] {
        let to = |token: Option<&str>| begun().write(with(pin("b", token), next()));
        breaks("P2", to(None));
        breaks("P2", to(Some("1")));
        let asked = |token: &str| {
            let asked = begun().asking_to_refresh("1");
            asked.write(with(pin("b", Some(token)), next()))
        };
        holds(asked("1"));
        breaks("P2", asked("2"));
    }
}

#[test]
fn p2_a_request_is_followed_once() {
    let moved = || {
        let asked = begun().asking_to_refresh("1");
        asked.write(with(pin("b", Some("1")), created()))
    };
    breaks("P2", moved().write(with(pin("a", Some("1")), created())));
    holds(moved().write(with(pin("b", Some("1")), second())));
    let again = moved().asking_to_refresh("2");
    holds(again.write(with(pin("a", Some("2")), created())));
}

#[test]
fn p2_a_pin_never_goes() {
    breaks("P2", begun().write(created()));
    breaks("P2", begun().write(second()));
    let asked = begun().asking_to_refresh("1");
    breaks("P2", asked.write(second()));
}

#[test]
fn p2_a_ledger_that_was_lost_is_pinned_by_its_runs_until_one_is_made() {
    let rebuilt = || begun().edit(empty()).write(with(found("a"), created()));
    holds(rebuilt());
    holds(rebuilt().write(with(pin("a", None), second())));
    breaks("P2", rebuilt().write(with(pin("b", None), second())));
    breaks("P2", rebuilt().write(with(pin("a", None), created())));
    // Nothing was lost.
    breaks("P2", begun().write(with(found("a"), created())));
    breaks("P2", begun().write(with(found("a"), second())));
    breaks("P2", begun().write(with(found("b"), second())));
    let asked = begun().asking_to_refresh("1");
    let by_run = PinnedProfile {
        from_run: true,
        ..pin("b", Some("1"))
    };
    breaks("P2", asked.write(with(by_run, second())));
}

#[test]
fn p2_what_somebody_else_writes_is_not_asked() {
    holds(begun().edit(with(pin("b", None), created())));
}

/// The write that gave the number, or that followed the request, was not logged.
#[test]
fn p2_of_a_record_only_that_is_asked_which_no_write_between_can_explain() {
    let begun = || begun_in(Sight::Record);
    let asked = || begun().asking_to_refresh("2");
    holds(asked().write(with(pin("b", Some("1")), created())));
    breaks("P2", begun().write(with(pin("b", None), created())));
    let unwritten = History::new(Sight::Torn).make(made_with("a", run(1, "v1:a", "one")));
    holds(unwritten.write(with(pin("a", None), created())));
}

#[test]
fn p3_a_run_is_made_with_the_profile_that_its_number_was_given_with() {
    let next = |run: Run| begun().write(with(pin("a", None), second())).make(run);
    let two = || run(2, "v1:b", "two");
    holds(next(made_with("a", two())));
    breaks("P3", next(made_with("b", two())));
    breaks("P3", next(two()));
    let unpinned = History::begun().write(second());
    breaks("P3", unpinned.make(made_with("a", two())));
}

#[test]
fn p3_a_refresh_while_the_run_is_on_its_way_does_not_move_it() {
    let moved = |run: Run| {
        let intended = begun().write(with(pin("a", None), second()));
        let asked = intended.asking_to_refresh("1");
        asked.write(with(pin("b", Some("1")), second())).make(run)
    };
    breaks("P3", moved(made_with("b", run(2, "v1:b", "two"))));
}

#[test]
fn p3_a_number_that_is_given_again_after_a_loss_may_be_made_with_either() {
    for profile in ["a", "b"] {
        let next = earlier(intent(2, "v1:b"), 1, "v1:a", "one");
        let given = begun().write(with(pin("a", None), next.clone()));
        let lost = given.edit(created());
        let again = lost.write(with(pin("b", None), next));
        holds(again.make(made_with(profile, run(2, "v1:b", "two"))));
    }
}
