//! Claims of others, and messages about Runnables that the account may not read.

use cartouche_crds::conditions::RUN_TEMPLATE_READY;

use super::sample::*;
use crate::{
    messages::diagnosis::{Busy, Failed, Lag, NotReady},
    sources::{Coherence, Edges, KnownRunnables, Question, Readiness, Seen, WaitFor, readiness},
    trace::SourceKey,
};

fn at_rest(text: &str) -> Seen {
    gave(text, &sources([]))
}

/// A Runnable that was edited since its controller looked at it.
fn edited(seen: Seen) -> Seen {
    Seen {
        generation: 2,
        ..seen
    }
}

/// A Runnable whose status says that it cannot be rendered, or made, for this reason.
fn says(seen: Seen, reason: &str) -> Seen {
    with_condition(seen, RUN_TEMPLATE_READY, reason)
}

/// A Runnable of another account than that of `x`.
fn foreign(seen: Seen) -> Seen {
    Seen {
        account: "elsewhere/default".to_owned(),
        ..seen
    }
}

fn upstream(name: &str) -> Readiness {
    Readiness::NotReady(key(name), NotReady::Upstream)
}

/// The answer shown for `x`, which reads these and waits until they are settled.
fn told<const N: usize>(names: [&str; N], known: &KnownRunnables) -> Readiness {
    told_through(names, &Edges::new(), known)
}

fn told_through<const N: usize>(
    names: [&str; N],
    through_sinks: &Edges,
    known: &KnownRunnables,
) -> Readiness {
    let sources = names.map(|name| source(name, WaitFor::Settled, known));
    let question = Question {
        of: &key("x"),
        account: ACCOUNT,
        sources: &sources,
        known,
        through_sinks,
        coherence: Coherence::Required,
    };
    readiness(&question).hide_unreadable(&question)
}

#[test]
fn who_only_claims_to_read_it_makes_no_cycle() {
    let claims = || reading(at_rest("1"), ["x"]);
    let round = Readiness::Cycle(vec![key("x"), key("a")]);
    assert_eq!(asked(["a"], &known([("a", claims())])), round);
    for reason in ["SourceError", "ServiceAccountError", "RunTemplateNotFound"] {
        let all = known([("a", says(claims(), reason))]);
        let answer = asked(["a"], &all);
        assert!(
            matches!(answer, Readiness::Ready(_)),
            "{reason}: {answer:?}"
        );
    }
    // A member of a cycle has read what it reads.
    for reason in ["DependencyCycle", "DependencyNotReady", "Ready"] {
        let all = known([("a", says(claims(), reason))]);
        assert_eq!(asked(["a"], &all), round, "{reason}");
    }
    // An edit is a claim before the controller has looked at it.
    let busy = Readiness::NotReady(key("a"), NotReady::Busy(Busy::Changed));
    assert_eq!(asked(["a"], &known([("a", edited(claims()))])), busy);
}

#[test]
fn nobody_waits_for_what_another_one_may_not_read() {
    let middle = || reading(at_rest("1"), ["b"]);
    let all = known([("a", middle()), ("b", edited(at_rest("2")))]);
    let busy = Readiness::NotReady(key("b"), NotReady::Busy(Busy::Changed));
    assert_eq!(asked(["a"], &all), busy);
    let denied = stalled(says(middle(), "SourceError"), "SourceError");
    let all = known([("a", denied), ("b", edited(at_rest("2")))]);
    assert!(matches!(asked(["a"], &all), Readiness::Ready(_)));
    // `Stalled` is then about an earlier run that failed.
    let denied = stalled(says(middle(), "SourceError"), "JobCondition");
    let all = known([("a", denied), ("b", edited(at_rest("2")))]);
    assert!(matches!(asked(["a"], &all), Readiness::Ready(_)));
}

#[test]
fn an_ancestor_that_only_others_may_read_is_told_by_the_source_alone() {
    let of = |middle: Seen| known([("a", middle), ("b", edited(at_rest("2")))]);
    let middle = || reading(at_rest("1"), ["b"]);
    assert_eq!(told(["a"], &of(foreign(middle()))), upstream("a"));
    let said = upstream("a").error().unwrap().message;
    assert!(
        said.contains("Runnable space/a derives from something"),
        "{said}"
    );
    // By the same account, or if it is read here as well, its name and state reveal nothing.
    let busy = Readiness::NotReady(key("b"), NotReady::Busy(Busy::Changed));
    assert_eq!(told(["a"], &of(middle())), busy);
    assert_eq!(told(["a", "b"], &of(foreign(middle()))), busy);
}

#[test]
fn one_of_the_same_account_that_may_not_read_it_names_nothing() {
    let claims = says(reading(at_rest("3"), ["b"]), "SourceError");
    let all = known([
        ("a", foreign(reading(at_rest("1"), ["b"]))),
        ("b", edited(at_rest("2"))),
        ("c", claims),
    ]);
    assert_eq!(told(["a", "c"], &all), upstream("a"));
}

#[test]
fn a_way_round_leaves_out_whom_the_account_may_not_read() {
    let all = known([
        ("a", foreign(reading(at_rest("1"), ["b"]))),
        ("b", foreign(reading(at_rest("2"), ["c"]))),
        ("c", foreign(reading(at_rest("3"), ["x"]))),
    ]);
    let round = Readiness::Cycle(vec![key("x"), key("a"), SourceKey::UNNAMED]);
    assert_eq!(told(["a"], &all), round);
    let said = round.error().unwrap().message;
    let expected = "Runnable space/x, which reads Runnable space/a, which reads an upstream that this account may not read, which reads \
                    Runnable space/x";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn whose_outputs_an_object_has_stands_on_it() {
    let map = |name| SourceKey::object(("ConfigMap", ""), "space", name, "");
    let all = known([("b", foreign(reading(at_rest("1"), ["x"])))]);
    let edges = Edges::from([(key("x"), [map("m")].into()), (map("m"), [key("b")].into())]);
    let round = Readiness::Cycle(vec![key("x"), map("m"), key("b")]);
    assert_eq!(told_through([], &edges, &all), round);
    // It may name what it writes itself, but not the readers of that.
    let all = known([("a", foreign(reading(at_rest("1"), ["b"])))]);
    let edges = Edges::from([
        (key("b"), [map("own")].into()),
        (map("own"), [key("x")].into()),
    ]);
    let round = Readiness::Cycle(vec![key("x"), key("a"), SourceKey::UNNAMED, map("own")]);
    assert_eq!(told_through(["a"], &edges, &all), round);
}

#[test]
fn of_sources_that_differ_only_those_are_named_that_may_be_read() {
    let from = |text| sources([(key("root"), text)]);
    let branch = |text, root| reading(gave(text, &from(root)), ["root"]);
    let one = || branch("1", "old");
    let other = failed("2", &from("old"), &from("new"));
    let all = |one, other| known([("a", one), ("b", other), ("root", at_rest("new"))]);
    let names = |readiness: Readiness| match readiness {
        Readiness::Failed(Failed::Incoherent { between, who, .. }) => (between.ancestor, who),
        other => panic!("{other:?}"),
    };
    let b = || reading(other.clone(), ["root"]);
    let a = || stalled(one(), "TemplateStampFailure");
    let newer = || branch("3", "new");
    let shown = names(told(["a", "c"], &{
        let mut all = all(a(), b());
        all.insert(key("c"), newer().into());
        all
    }));
    assert_eq!(shown.0, key("root"));
    let hidden = names(told(["a", "c"], &{
        let mut all = all(foreign(a()), foreign(b()));
        all.insert(key("c"), foreign(newer()).into());
        all
    }));
    assert_eq!(hidden, (SourceKey::UNNAMED, vec![key("a")]));
    let said = Readiness::Failed(Failed::Incoherent {
        between: Box::new(crate::trace::Incoherence {
            ancestor: SourceKey::UNNAMED,
            one: named("old", "a"),
            other: named("new", "c"),
        }),
        who: vec![key("a")],
        why: Lag::Stalled,
    });
    let said = said.error().unwrap().message;
    assert!(said.contains("different revisions of an upstream that this account may not read"));
}

fn named(text: &str, by: &str) -> crate::trace::Named {
    crate::trace::Named {
        revision: revision(text),
        by: vec![key(by)],
    }
}
