//! Coherence: a feeds b and c, and x reads both.

use super::sample::*;
use crate::{
    messages::diagnosis::{Busy, Failed, Lag, NotReady},
    sources::{
        Coherence, Edges, KnownRunnables, Provenance, Question, Readiness, Seen, Source, Value,
        WaitFor, rests_on_own_reads,
    },
    trace::{Revision, SourceKey, Sources},
};

fn from(text: &str) -> Sources {
    sources([(key("a"), text)])
}

fn root(text: &str) -> Seen {
    gave(text, &Sources::default())
}

/// A has given `new`, and so has b for it.
fn diamond(c: Seen) -> KnownRunnables {
    known([
        ("a", root("new")),
        ("b", reading(gave("b2", &from("new")), ["a"])),
        ("c", reading(c, ["a"])),
    ])
}

fn not_ready(who: &str, why: NotReady) -> Readiness {
    Readiness::NotReady(key(who), why)
}

#[test]
fn branches_of_one_revision_are_ready_and_say_what_they_stem_from() {
    let all = diamond(gave("c2", &from("new")));
    let expected = sources([(key("a"), "new"), (key("b"), "b2"), (key("c"), "c2")]);
    assert_eq!(asked(["b", "c"], &all), Readiness::Ready(Some(expected)));
}

#[test]
fn a_branch_that_has_not_looked_is_waited_for() {
    let all = diamond(gave("c1", &from("old")));
    assert_eq!(asked(["b", "c"], &all), not_ready("c", NotReady::Behind));
}

#[test]
fn a_branch_that_is_at_work_is_waited_for() {
    let at_work = Seen {
        generation: 2,
        ..gave("c1", &from("old"))
    };
    let expected = not_ready("c", NotReady::Busy(Busy::Changed));
    assert_eq!(asked(["b", "c"], &diamond(at_work)), expected);
}

#[test]
fn a_branch_that_failed_is_named_with_both_revisions() {
    let all = diamond(failed("c1", &from("old"), &from("new")));
    let Readiness::Failed(Failed::Incoherent { between, who, .. }) = asked(["b", "c"], &all) else {
        panic!("{:?}", asked(["b", "c"], &all));
    };
    assert_eq!(who, [key("c")]);
    assert_eq!(between.ancestor, key("a"));
    assert_eq!(
        (between.one.revision, between.one.by),
        (revision("new"), vec![key("b")])
    );
    assert_eq!(
        (between.other.revision, between.other.by),
        (revision("old"), vec![key("c")])
    );
}

#[test]
fn a_branch_that_failed_and_has_not_looked_since_is_waited_for() {
    let all = diamond(failed("c1", &from("old"), &from("between")));
    assert_eq!(asked(["b", "c"], &all), not_ready("c", NotReady::Behind));
}

#[test]
fn a_suspended_branch_is_waited_for_whether_it_has_looked_or_not() {
    let behind = suspended(gave("c1", &from("old")));
    let has_failed = suspended(failed("c1", &from("old"), &from("new")));
    for c in [behind, has_failed] {
        let expected = not_ready("c", NotReady::Suspended);
        assert_eq!(asked(["b", "c"], &diamond(c)), expected);
    }
}

#[test]
fn a_branch_that_moves_on_is_ready_with_the_outputs_of_before() {
    let all = diamond(gave("c1", &from("new")));
    assert!(matches!(asked(["b", "c"], &all), Readiness::Ready(_)));
}

/// A Runnable with outputs of unknown provenance, as after its status was lost; it has looked at a
/// since, and its last run has failed.
fn of_unknown(text: &str) -> Seen {
    let seen = failed(text, &from("old"), &from("new"));
    let current = seen.status.current_run.as_ref();
    let run = current.map(|run| (run.sequence, run.input_hash.clone()));
    let runs = run.map(|run| (run, from("new")));
    Seen {
        provenance: Provenance::new(runs, None),
        ..seen
    }
}

#[test]
fn outputs_of_which_nothing_is_known_hold_nobody_back_and_nothing_is_claimed_of_what_is_made_from_them()
 {
    let all = diamond(of_unknown("c1"));
    assert_eq!(asked(["b", "c"], &all), Readiness::Ready(None));
    let as_it_is = [
        source("b", WaitFor::Settled, &all),
        source("c", WaitFor::Nothing, &all),
    ];
    assert!(matches!(answer(&as_it_is, &all), Readiness::Ready(Some(_))));
}

#[test]
fn of_outputs_of_a_runnable_without_sources_it_is_known_that_they_stem_from_nothing() {
    let root = Seen {
        has_sources: false,
        ..of_unknown("c1")
    };
    let expected = sources([(key("a"), "new"), (key("b"), "b2"), (key("c"), "c1")]);
    let all = diamond(root);
    assert_eq!(asked(["b", "c"], &all), Readiness::Ready(Some(expected)));
}

#[test]
fn nobody_waits_for_one_to_look_who_cannot_know_what_it_stems_from() {
    let mut all = diamond(Seen::default());
    all.insert(key("m"), reading(of_unknown("m"), ["a"]).into());
    let unknown = Seen {
        provenance: Provenance::default(),
        ..gave("c1", &from("old"))
    };
    all.insert(key("c"), reading(unknown, ["m"]).into());
    assert_eq!(asked(["b", "c"], &all), Readiness::Ready(None));
    // Another path differs, and no Runnable is behind.
    all.insert(
        key("n"),
        reading(failed("n", &from("old"), &from("new")), ["a"]).into(),
    );
    let Readiness::Failed(Failed::Incoherent { who, .. }) = asked(["b", "c", "n"], &all) else {
        panic!("{:?}", asked(["b", "c", "n"], &all));
    };
    assert_eq!(who, [key("n")]);
}

#[test]
fn a_source_that_nothing_is_asked_of_takes_no_part() {
    let all = diamond(gave("c1", &from("old")));
    let read = [
        source("b", WaitFor::Settled, &all),
        source("c", WaitFor::Nothing, &all),
    ];
    let expected = sources([(key("a"), "new"), (key("b"), "b2")]);
    assert_eq!(answer(&read, &all), Readiness::Ready(Some(expected)));
}

/// M is between a and c, has the same outputs as before, and has moved on.
#[test]
fn who_has_not_seen_that_its_source_stems_from_something_else_is_behind() {
    let mut all = diamond(Seen::default());
    all.insert(key("m"), reading(gave("m", &from("new")), ["a"]).into());
    let looked = sources([(key("a"), "old"), (key("m"), "m")]);
    all.insert(key("c"), reading(gave("c1", &looked), ["m"]).into());
    assert_eq!(asked(["b", "c"], &all), not_ready("c", NotReady::Behind));
}

#[test]
fn of_a_longer_way_the_one_that_failed_is_named_and_not_who_stems_from_it() {
    let mut all = diamond(Seen::default());
    all.insert(
        key("m"),
        reading(failed("m", &from("old"), &from("new")), ["a"]).into(),
    );
    let looked = sources([(key("a"), "old"), (key("m"), "m")]);
    all.insert(key("c"), reading(gave("c1", &looked), ["m"]).into());
    let Readiness::Failed(Failed::Incoherent { who, .. }) = asked(["b", "c"], &all) else {
        panic!("{:?}", asked(["b", "c"], &all));
    };
    assert_eq!(who, [key("m")]);
}

/// C joins a path that failed with one that did not, renders the same as before, and cannot move
/// on.
#[test]
fn who_cannot_look_is_not_waited_for() {
    let mut all = diamond(Seen::default());
    all.insert(
        key("m"),
        reading(failed("m", &from("old"), &from("new")), ["a"]).into(),
    );
    all.insert(key("n"), reading(gave("n", &from("new")), ["a"]).into());
    let looked = sources([(key("a"), "old"), (key("m"), "m"), (key("n"), "before")]);
    all.insert(key("c"), reading(gave("c1", &looked), ["m", "n"]).into());
    let Readiness::Failed(Failed::Incoherent { who, .. }) = asked(["b", "c"], &all) else {
        panic!("{:?}", asked(["b", "c"], &all));
    };
    assert_eq!(who, [key("m")]);
}

#[test]
fn of_two_that_saw_different_revisions_of_a_config_map_one_has_to_look_yet() {
    let from = |text| sources([(file("sizes"), text)]);
    let all = known([
        ("b", gave("b2", &from("new"))),
        ("c", gave("c1", &from("old"))),
    ]);
    let why = NotReady::Apart {
        other: key("c"),
        ancestor: file("sizes"),
    };
    assert_eq!(asked(["b", "c"], &all), not_ready("b", why));
    let all = known([
        ("b", gave("b2", &from("new"))),
        ("c", suspended(gave("c1", &from("old")))),
    ]);
    assert_eq!(asked(["b", "c"], &all), not_ready("c", NotReady::Suspended));
}

#[test]
fn of_two_that_saw_the_same_config_map_the_one_that_failed_is_named() {
    let from = |text| sources([(file("sizes"), text)]);
    let all = known([
        ("b", gave("b2", &from("new"))),
        ("c", failed("c1", &from("old"), &from("new"))),
    ]);
    let Readiness::Failed(Failed::Incoherent { who, .. }) = asked(["b", "c"], &all) else {
        panic!("{:?}", asked(["b", "c"], &all));
    };
    assert_eq!(who, [key("c")]);
}

#[test]
fn who_has_seen_a_config_map_through_another_has_not_to_look_at_it() {
    let from = |text| sources([(file("sizes"), text)]);
    let through = sources([(file("sizes"), "old"), (key("m"), "m")]);
    let all = known([
        ("b", gave("b2", &from("new"))),
        ("m", failed("m", &from("old"), &from("new"))),
        ("c", reading(gave("c1", &through), ["m"])),
    ]);
    let Readiness::Failed(Failed::Incoherent { who, .. }) = asked(["b", "c"], &all) else {
        panic!("{:?}", asked(["b", "c"], &all));
    };
    assert_eq!(who, [key("m")]);
}

#[test]
fn of_two_that_are_behind_the_one_that_goes_on_without_a_person_is_named() {
    let mut all = diamond(gave("c1", &from("older")));
    let behind = suspended(gave("b1", &from("old")));
    all.insert(key("b"), reading(behind, ["a"]).into());
    assert_eq!(asked(["b", "c"], &all), not_ready("c", NotReady::Behind));
}

/// C has run without an output that b did not have then.
#[test]
fn who_did_without_an_output_has_to_look_when_there_is_one() {
    let without = sources([(key("b"), "absent")]);
    let c = reading(gave("c1", &without), ["b"]);
    let all = known([("b", root("b1")), ("c", c.clone())]);
    assert_eq!(asked(["b", "c"], &all), not_ready("c", NotReady::Behind));
    let without_outputs = Seen {
        revision: None,
        ..root("none")
    };
    let left_out = Source {
        value: Value::LeftOut,
        revision: Some(Revision::without_value()),
        ..source("b", WaitFor::Settled, &all)
    };
    let all = known([("b", without_outputs.clone()), ("c", c)]);
    let read = [left_out.clone(), source("c", WaitFor::Settled, &all)];
    let expected = sources([(key("b"), "absent"), (key("c"), "c1")]);
    assert_eq!(answer(&read, &all), Readiness::Ready(Some(expected)));
    // B had outputs when c ran, and has none any more.
    let of_before = reading(gave("c1", &sources([(key("b"), "b1")])), ["b"]);
    let all = known([("b", without_outputs), ("c", of_before)]);
    let read = [left_out, source("c", WaitFor::Settled, &all)];
    assert_eq!(answer(&read, &all), not_ready("c", NotReady::Behind));
}

/// X reads the `ConfigMap` as well, which is at this revision.
fn asked_with_file(text: &str, names: &[&str], all: &KnownRunnables) -> Readiness {
    let own = Source {
        key: file("sizes"),
        wait_for: WaitFor::Settled,
        value: Value::Given,
        revision: Some(revision(text)),
    };
    let others = names.iter().map(|name| source(name, WaitFor::Settled, all));
    let read: Vec<Source> = others.chain([own]).collect();
    answer(&read, all)
}

fn of_file(text: &str) -> Sources {
    sources([(file("sizes"), text)])
}

#[test]
fn who_has_not_looked_at_a_config_map_that_is_read_here_as_well_is_waited_for() {
    let all = known([("b", gave("b1", &of_file("old")))]);
    let behind = not_ready("b", NotReady::Behind);
    assert_eq!(asked_with_file("new", &["b"], &all), behind);
    // A Runnable in between, which does not have to look at it.
    let through = sources([(file("sizes"), "old"), (key("m"), "m")]);
    let all = known([
        ("m", gave("m", &of_file("old"))),
        ("b", reading(gave("b1", &through), ["m"])),
    ]);
    let behind = not_ready("m", NotReady::Behind);
    assert_eq!(asked_with_file("new", &["b"], &all), behind);
    let all = known([("b", suspended(gave("b1", &of_file("old"))))]);
    let suspended = not_ready("b", NotReady::Suspended);
    assert_eq!(asked_with_file("new", &["b"], &all), suspended);
}

#[test]
fn who_has_looked_at_a_config_map_that_is_read_here_as_well_and_given_nothing_has_failed() {
    let has_failed = failed("b1", &of_file("old"), &of_file("new"));
    let all = known([("b", has_failed.clone())]);
    let Readiness::Failed(Failed::Incoherent { who, .. }) = asked_with_file("new", &["b"], &all)
    else {
        panic!("{:?}", asked_with_file("new", &["b"], &all));
    };
    assert_eq!(who, [key("b")]);
    let all = known([("b", suspended(has_failed))]);
    let suspended = not_ready("b", NotReady::Suspended);
    assert_eq!(asked_with_file("new", &["b"], &all), suspended);
}

/// B reads m and n as well; n failed, so b cannot look at the `ConfigMap` either.
#[test]
fn who_cannot_look_is_not_waited_for_to_look_at_a_config_map() {
    let looked = sources([
        (file("sizes"), "old"),
        (key("m"), "before"),
        (key("n"), "n"),
    ]);
    let all = known([
        ("a", root("new")),
        ("m", reading(gave("m", &from("new")), ["a"])),
        ("n", reading(failed("n", &from("old"), &from("new")), ["a"])),
        ("b", reading(gave("b1", &looked), ["m", "n"])),
    ]);
    let answered = asked_with_file("new", &["b"], &all);
    assert!(matches!(answered, Readiness::Failed(_)), "{answered:?}");
}

#[test]
fn that_sources_differ_rests_on_what_is_read_here_only_where_that_is_in_dispute() {
    let rests = |read: &[Source], all: &KnownRunnables, coherence| {
        rests_on_own_reads(&Question {
            of: &key("x"),
            account: ACCOUNT,
            sources: read,
            known: all,
            through_sinks: &Edges::new(),
            coherence,
        })
    };
    let own = |text| Source {
        key: file("sizes"),
        wait_for: WaitFor::Settled,
        value: Value::Given,
        revision: Some(revision(text)),
    };
    let all = known([("b", gave("b2", &of_file("new")))]);
    let read = [own("old"), source("b", WaitFor::Settled, &all)];
    assert!(rests(&read, &all, Coherence::Required));
    assert!(!rests(&read, &all, Coherence::Ignored));
    let agree = [own("new"), source("b", WaitFor::Settled, &all)];
    assert!(!rests(&agree, &all, Coherence::Required));
    // A cache has every newer state of Runnables, and one at work is waited for whatever is read.
    let branches = diamond(gave("c1", &from("old")));
    let read_branches = [
        source("b", WaitFor::Settled, &branches),
        source("c", WaitFor::Settled, &branches),
    ];
    assert!(!rests(&read_branches, &branches, Coherence::Required));
    let at_work = Seen {
        generation: 2,
        ..gave("b2", &of_file("new"))
    };
    let all = known([("b", at_work)]);
    assert!(!rests(&read, &all, Coherence::Required));
}

/// The Runnables named if only a change helps, and the reason.
fn lag(answered: Readiness) -> (Vec<SourceKey>, Lag) {
    let Readiness::Failed(Failed::Incoherent { who, why, .. }) = answered else {
        panic!("{answered:?}");
    };
    (who, why)
}

#[test]
fn a_branch_that_cannot_look_before_somebody_mends_it_is_named_and_not_waited_for() {
    let behind = || gave("c1", &from("old"));
    let all = diamond(stalled(behind(), "RunTemplateNotFound"));
    let expected = (vec![key("c")], Lag::Stalled);
    assert_eq!(lag(asked(["b", "c"], &all)), expected);
    let file_all = known([("b", stalled(gave("b1", &of_file("old")), "SourceError"))]);
    let expected = (vec![key("b")], Lag::Stalled);
    assert_eq!(lag(asked_with_file("new", &["b"], &file_all)), expected);
    // The same if this Runnable does not read it too.
    let of_two = known([
        ("b", gave("b2", &of_file("new"))),
        ("c", stalled(gave("c1", &of_file("old")), "PolicyInvalid")),
    ]);
    let expected = (vec![key("c")], Lag::Stalled);
    assert_eq!(lag(asked(["b", "c"], &of_two)), expected);
    for looks in [
        // Its run has failed, and it looks at the next change; or only its sinks fail.
        stalled(failed("c1", &from("old"), &from("older")), "Failed"),
        stalled(behind(), "OutputSinkFailed"),
    ] {
        let expected = not_ready("c", NotReady::Behind);
        assert_eq!(asked(["b", "c"], &diamond(looks)), expected);
    }
    let held = suspended(stalled(behind(), "RunTemplateNotFound"));
    let expected = not_ready("c", NotReady::Suspended);
    assert_eq!(asked(["b", "c"], &diamond(held)), expected);
}

#[test]
fn who_will_look_is_waited_for_beside_one_that_cannot() {
    let mut all = diamond(stalled(gave("c1", &from("old")), "RunTemplateNotFound"));
    all.insert(key("b"), reading(gave("b1", &from("older")), ["a"]).into());
    assert_eq!(asked(["b", "c"], &all), not_ready("b", NotReady::Behind));
}

#[test]
fn where_nobody_is_behind_and_nobody_has_failed_somebody_is_named_all_the_same() {
    let looked = sources([(key("a"), "old"), (key("m"), "m")]);
    let with_m = |m: Option<Seen>| {
        let mut all = diamond(reading(gave("c1", &looked), ["a"]));
        all.insert(key("c"), reading(gave("c1", &looked), ["m"]).into());
        all.extend(m.map(|m| (key("m"), m.into())));
        all
    };
    let unknown = Seen {
        provenance: Provenance::default(),
        ..gave("m", &from("old"))
    };
    let of_unknown = lag(asked(["b", "c"], &with_m(Some(unknown))));
    assert_eq!(of_unknown, (vec![key("m")], Lag::OfUnknown));
    let elsewhere = lag(asked(["b", "c"], &with_m(None)));
    assert_eq!(elsewhere, (vec![key("m")], Lag::NotSeen));
    let lost = with_status(gave("c1", &from("old")), |status| {
        status.current_run = None;
    });
    let without_run = lag(asked(["b", "c"], &diamond(lost)));
    assert_eq!(without_run, (vec![key("c")], Lag::WithoutRun));
    let all = known([
        ("b", gave("b2", &from("new"))),
        ("c", gave("c1", &from("old"))),
    ]);
    let why = NotReady::Apart {
        other: key("c"),
        ancestor: key("a"),
    };
    assert_eq!(asked(["b", "c"], &all), not_ready("b", why));
    let mut all = all;
    all.insert(key("a"), root("new").into());
    let undetermined = lag(asked(["b", "c"], &all));
    assert_eq!(undetermined, (vec![key("b"), key("c")], Lag::Undetermined));
}
