use proptest::prelude::*;

use super::sample::*;
use crate::{
    messages::diagnosis::{Busy, Failed, NotReady},
    sources::{
        Coherence, Edges, KnownRunnables, Provenance, Question, Readiness, Seen, Source,
        SourceError, Value, WaitFor, readiness, trace_sources,
    },
    trace::{SourceKey, Sources},
};

fn at_rest(text: &str) -> Seen {
    gave(text, &Sources::default())
}

fn edited(text: &str) -> Seen {
    Seen {
        generation: 2,
        ..at_rest(text)
    }
}

fn holding(value: Value, of: Source) -> Source {
    Source { value, ..of }
}

#[test]
fn without_sources_it_is_ready() {
    let nothing = Readiness::Ready(Some(Sources::default()));
    assert_eq!(answer(&[], &KnownRunnables::new()), nothing);
}

#[test]
fn a_source_that_is_at_work_is_waited_for_unless_nothing_is_asked_of_it() {
    let all = known([("a", edited("1"))]);
    let busy = Readiness::NotReady(key("a"), NotReady::Busy(Busy::Changed));
    for wait_for in [WaitFor::Settled, WaitFor::Succeeded] {
        assert_eq!(answer(&[source("a", wait_for, &all)], &all), busy);
    }
    let as_it_is = answer(&[source("a", WaitFor::Nothing, &all)], &all);
    assert_eq!(as_it_is, Readiness::Ready(Some(Sources::default())));
}

#[test]
fn a_source_that_failed_counts_with_its_outputs_of_before_unless_it_has_to_succeed() {
    let all = known([("a", failed("1", &Sources::default(), &Sources::default()))]);
    let ready = Readiness::Ready(Some(sources([(key("a"), "1")])));
    assert_eq!(answer(&[source("a", WaitFor::Settled, &all)], &all), ready);
    let has_failed = Readiness::Failed(Failed::Source(key("a")));
    assert_eq!(
        answer(&[source("a", WaitFor::Succeeded, &all)], &all),
        has_failed
    );
    // That comes before the value that it did not give.
    let without = holding(Value::Missing, source("a", WaitFor::Succeeded, &all));
    assert_eq!(answer(&[without], &all), has_failed);
}

#[test]
fn a_source_that_has_to_succeed_and_is_suspended_before_its_run_is_waited_for() {
    let waits = with_status(suspended(at_rest("1")), |status| {
        status.conditions = vec![ready("Unknown")];
    });
    let all = known([("a", waits)]);
    let expected = Readiness::NotReady(key("a"), NotReady::Suspended);
    assert_eq!(
        answer(&[source("a", WaitFor::Succeeded, &all)], &all),
        expected
    );
    let has_failed = suspended(failed("1", &Sources::default(), &Sources::default()));
    let all = known([("a", has_failed)]);
    let expected = Readiness::Failed(Failed::Source(key("a")));
    assert_eq!(
        answer(&[source("a", WaitFor::Succeeded, &all)], &all),
        expected
    );
}

#[test]
fn a_value_that_is_missing_is_waited_for_unless_it_may_be_left_out() {
    let all = known([("a", at_rest("1"))]);
    let of = || source("a", WaitFor::Settled, &all);
    let missing = answer(&[holding(Value::Missing, of())], &all);
    assert_eq!(missing, Readiness::NotReady(key("a"), NotReady::Missing));
    let left_out = answer(&[holding(Value::LeftOut, of())], &all);
    assert_eq!(left_out, Readiness::Ready(Some(sources([(key("a"), "1")]))));
}

#[test]
fn a_source_that_has_never_given_anything_leaves_nothing_unknown() {
    let never = Seen {
        revision: None,
        provenance: Provenance::default(),
        ..at_rest("1")
    };
    let never = with_status(never, |status| {
        (status.outputs, status.outputs_from) = (None, None);
    });
    let all = known([("a", never)]);
    let read = [holding(Value::LeftOut, source("a", WaitFor::Settled, &all))];
    let nothing = Readiness::Ready(Some(Sources::default()));
    assert_eq!(answer(&read, &all), nothing);
}

#[test]
fn a_value_that_somebody_is_about_to_give_is_not_left_out() {
    let all = known([("a", edited("1"))]);
    let read = [holding(Value::LeftOut, source("a", WaitFor::Settled, &all))];
    assert!(matches!(
        answer(&read, &all),
        Readiness::NotReady(_, NotReady::Busy(_))
    ));
}

#[test]
fn of_a_source_that_is_at_work_and_has_no_value_yet_it_is_said_that_it_is_at_work() {
    let all = known([("a", edited("1"))]);
    let read = [holding(Value::Missing, source("a", WaitFor::Settled, &all))];
    let busy = Readiness::NotReady(key("a"), NotReady::Busy(Busy::Changed));
    assert_eq!(answer(&read, &all), busy);
}

#[test]
fn of_two_that_have_to_succeed_the_one_that_failed_is_named_before_one_that_waits_for_a_person() {
    let waits = with_status(suspended(at_rest("1")), |status| {
        status.conditions = vec![ready("Unknown")];
    });
    let has_failed = failed("1", &Sources::default(), &Sources::default());
    let all = known([("a", waits), ("b", has_failed)]);
    let read = ["a", "b"].map(|name| source(name, WaitFor::Succeeded, &all));
    let expected = Readiness::Failed(Failed::Source(key("b")));
    assert_eq!(answer(&read, &all), expected);
}

#[test]
fn an_object_that_is_not_ready_is_waited_for() {
    let read = [Source {
        key: file("sizes"),
        wait_for: WaitFor::Settled,
        value: Value::ObjectNotReady,
        revision: Some(revision("1")),
    }];
    let expected = Readiness::NotReady(file("sizes"), NotReady::ObjectNotReady);
    assert_eq!(answer(&read, &KnownRunnables::new()), expected);
}

#[test]
fn a_value_that_cannot_be_had_is_an_error_whatever_else_is_waited_for() {
    let all = known([("a", edited("1"))]);
    let read = [
        source("a", WaitFor::Settled, &all),
        Source {
            key: file("sizes"),
            wait_for: WaitFor::Settled,
            value: Value::Unusable("forbidden".to_owned()),
            revision: None,
        },
    ];
    let error = SourceError::Unusable(file("sizes"), "forbidden".to_owned());
    assert_eq!(answer(&read, &all), Readiness::Error(error));
}

#[test]
fn whoever_stems_from_itself_is_told_the_way_round_before_anything_else() {
    let at_work = Seen {
        rerun_token: Some("again".to_owned()),
        ..reading(at_rest("1"), ["b"])
    };
    let all = known([("a", at_work), ("b", reading(at_rest("2"), ["x"]))]);
    let round = Readiness::Cycle(vec![key("x"), key("a"), key("b")]);
    assert_eq!(asked(["a"], &all), round);
    let itself = Readiness::Cycle(vec![key("x")]);
    assert_eq!(asked(["x"], &KnownRunnables::new()), itself);
}

#[test]
fn who_takes_another_as_it_is_may_be_on_a_cycle_with_it_all_the_same() {
    let taken = Seen {
        reads: [(key("x"), WaitFor::Nothing)].into(),
        ..at_rest("1")
    };
    let round = Readiness::Cycle(vec![key("x"), key("a")]);
    assert_eq!(asked(["a"], &known([("a", taken)])), round);
}

#[test]
fn the_cached_word_on_itself_does_not_matter() {
    // The edge to x is gone from its spec as it is read now.
    let all = known([("x", reading(at_rest("0"), ["x"])), ("a", at_rest("1"))]);
    assert!(matches!(asked(["a"], &all), Readiness::Ready(_)));
}

#[test]
fn too_many_sources_are_an_error() {
    let many: Sources = (0..64)
        .map(|number| (file(&number.to_string()), revision("1")))
        .collect();
    let all = known([("a", gave("1", &many))]);
    let error = Readiness::Error(SourceError::TooMany(65));
    assert_eq!(asked(["a"], &all), error);
}

#[test]
fn where_coherence_is_ignored_what_is_disputed_is_not_traced() {
    let from = |text| sources([(key("a"), text)]);
    let all = known([
        ("b", gave("b", &from("old"))),
        ("c", gave("c", &from("new"))),
    ]);
    let read = ["b", "c"].map(|name| source(name, WaitFor::Settled, &all));
    let question = Question {
        of: &key("x"),
        account: ACCOUNT,
        sources: &read,
        known: &all,
        through_sinks: &Edges::new(),
        coherence: Coherence::Ignored,
    };
    let expected = sources([(key("b"), "b"), (key("c"), "c")]);
    assert_eq!(
        readiness(&question),
        Readiness::Ready(Some(expected.clone()))
    );
    assert_eq!(trace_sources(&question), Ok(Some(expected)));
}

/// The answer for `x`, which reads the `ConfigMap` `m`, with these edges through sinks.
fn reading_map(through_sinks: &Edges, known: &KnownRunnables) -> Readiness {
    readiness(&Question {
        of: &key("x"),
        account: ACCOUNT,
        sources: &[Source {
            key: file("m"),
            wait_for: WaitFor::Settled,
            value: Value::Given,
            revision: None,
        }],
        known,
        through_sinks,
        coherence: Coherence::Required,
    })
}

#[test]
fn whoever_reads_what_one_writes_that_stems_from_it_is_on_a_cycle_and_is_told_the_object() {
    let map = SourceKey::object(("ConfigMap", ""), "space", "m", "");
    let all = known([("b", reading(at_rest("1"), ["x"]))]);
    let reads_map = (key("x"), [map.clone()].into());
    let edges = Edges::from([reads_map.clone(), (map.clone(), [key("b")].into())]);
    let way = Readiness::Cycle(vec![key("x"), map.clone(), key("b")]);
    assert_eq!(reading_map(&edges, &all), way);
    // The edges alone are enough for what is reached only through it.
    let mut apart = edges.clone();
    apart.insert(key("b"), [key("x")].into());
    assert_eq!(reading_map(&apart, &KnownRunnables::new()), way);
    let own = Edges::from([reads_map, (map.clone(), [key("x")].into())]);
    assert_eq!(
        reading_map(&own, &KnownRunnables::new()),
        Readiness::Cycle(vec![key("x"), map])
    );
    assert!(matches!(
        reading_map(&edges, &KnownRunnables::new()),
        Readiness::Ready(_)
    ));
}

#[test]
fn who_is_at_work_behind_a_sink_holds_nobody_up() {
    let map = SourceKey::object(("ConfigMap", ""), "space", "m", "");
    let all = known([("b", edited("1"))]);
    let edges = Edges::from([
        (key("x"), [map.clone()].into()),
        (map, [key("b")].into()),
        (key("b"), [].into()),
    ]);
    let readiness = reading_map(&edges, &all);
    assert!(matches!(readiness, Readiness::Ready(_)), "{readiness:?}");
}

#[test]
fn a_ledger_may_move_on_though_no_run_could_be_intended() {
    let all = known([("a", edited("1"))]);
    let read = [source("a", WaitFor::Settled, &all)];
    let question = Question {
        of: &key("x"),
        account: ACCOUNT,
        sources: &read,
        known: &all,
        through_sinks: &Edges::new(),
        coherence: Coherence::Required,
    };
    assert_eq!(
        trace_sources(&question),
        Ok(Some(sources([(key("a"), "1")])))
    );
}

fn seen() -> impl Strategy<Value = Seen> {
    let text = prop_oneof![Just("old"), Just("new")];
    let from = |text: &str| sources([(key("root"), text)]);
    (text.clone(), text, any::<bool>(), any::<bool>(), 1..3i64).prop_map(
        move |(gives, looked, failed_since, suspended, generation)| Seen {
            generation,
            suspended,
            ..if failed_since {
                failed("1", &from(gives), &from(looked))
            } else {
                gave("1", &from(gives))
            }
        },
    )
}

fn wait_for() -> impl Strategy<Value = WaitFor> {
    prop_oneof![
        Just(WaitFor::Settled),
        Just(WaitFor::Succeeded),
        Just(WaitFor::Nothing)
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => Just(Value::Given),
        1 => Just(Value::LeftOut),
        1 => Just(Value::Missing),
        1 => Just(Value::Unusable("why".to_owned()))
    ]
}

proptest! {
    #[test]
    fn the_order_of_sources_never_matters(
        all in prop::collection::vec((seen(), wait_for(), value()), 0..5)
    ) {
        let named = |number: usize| format!("a{}", number % 3);
        let mut known = KnownRunnables::new();
        for (number, (seen, ..)) in all.iter().enumerate() {
            known.insert(key(&named(number)), seen.clone().into());
        }
        let mut read: Vec<Source> = all
            .iter()
            .enumerate()
            .map(|(number, (_, wait_for, value))| {
                holding(value.clone(), source(&named(number), *wait_for, &known))
            })
            .collect();
        let forth = answer(&read, &known);
        read.reverse();
        prop_assert_eq!(&forth, &answer(&read, &known));
        read.extend(read.clone());
        prop_assert_eq!(&forth, &answer(&read, &known));
    }

    #[test]
    fn what_is_ready_stems_from_one_revision_of_each(
        all in prop::collection::vec((seen(), wait_for()), 0..5)
    ) {
        let named = |number: usize| format!("a{number}");
        let keyed = all.iter().enumerate();
        let known: KnownRunnables = keyed
            .map(|(number, (seen, _))| (key(&named(number)), seen.clone().into()))
            .collect();
        let keyed = all.iter().enumerate();
        let read: Vec<Source> = keyed.map(|(number, (_, wait_for))| source(&named(number), *wait_for, &known)).collect();
        if let Readiness::Ready(Some(from)) = answer(&read, &known) {
            for source in read.iter().filter(|source| source.wait_for != WaitFor::Nothing) {
                let gives = known[&source.key].gives().and_then(|it| it.get(&key("root")));
                prop_assert_eq!(gives, from.get(&key("root")));
            }
        }
    }
}

/// The answer for `x`, which reads both without coherence: `a` gives `2`, which `c` has not looked
/// at.
fn ignoring(branch: Seen) -> Readiness {
    let all = known([("a", gave("2", &sources([]))), ("c", branch)]);
    readiness(&Question {
        of: &key("x"),
        account: ACCOUNT,
        sources: &["a", "c"].map(|name| source(name, WaitFor::Settled, &all)),
        known: &all,
        through_sinks: &Edges::new(),
        coherence: Coherence::Ignored,
    })
}

fn behind() -> Seen {
    reading(gave("c", &sources([(key("a"), "1")])), ["a"])
}

#[test]
fn where_coherence_is_ignored_a_branch_that_is_about_to_follow_is_waited_for_all_the_same() {
    let waits = Readiness::NotReady(key("c"), NotReady::Behind);
    assert_eq!(ignoring(behind()), waits);
    let run_failed = stalled(behind(), "FailedCondition");
    assert_eq!(ignoring(run_failed), waits);
    let sink_failed = stalled(behind(), "OutputSinkFailed");
    assert_eq!(ignoring(sink_failed), waits);
}

#[test]
fn one_that_looks_at_nothing_is_not_waited_for() {
    let is_ready = |branch| matches!(ignoring(branch), Readiness::Ready(_));
    assert!(is_ready(suspended(behind())));
    assert!(is_ready(deleting(behind())));
    assert!(is_ready(stalled(behind(), "SourceError")));
    assert!(is_ready(stalled(behind(), "DependencyFailed")));
}

#[test]
fn nobody_waits_until_somebody_looks_whom_only_a_suspended_one_waits_for() {
    let all = known([
        ("a", gave("2", &sources([]))),
        ("c", behind()),
        ("d", suspended(reading(gave("d", &sources([])), ["c"]))),
    ]);
    assert!(matches!(asked(["d"], &all), Readiness::Ready(_)));
}

/// C reads a `ConfigMap` beside a, and has failed for its present state.
#[test]
fn nobody_waits_for_one_to_look_that_has_seen_two_states_and_does_not_care() {
    let (before, now) = (sources([(file("f"), "1")]), sources([(file("f"), "2")]));
    let c = |coherence| Seen {
        coherence,
        ..reading(gave("c", &sources([(key("a"), "a1")])), ["a"])
    };
    let ask = |c| {
        let a = failed("a1", &before, &now);
        asked(["c"], &known([("a", a), ("c", c)]))
    };
    assert!(matches!(ask(c(Coherence::Ignored)), Readiness::Ready(_)));
    let elsewhere = Seen {
        provenance: gave("c", &sources([])).provenance,
        ..c(Coherence::Ignored)
    };
    let waits = Readiness::NotReady(key("c"), NotReady::Behind);
    assert_eq!(ask(elsewhere), waits, "it has not looked at a");
    assert_eq!(ask(c(Coherence::Required)), waits);
}
