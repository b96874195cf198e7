use super::*;

fn key(namespace: &str, name: usize) -> RunnableKey {
    RunnableKey {
        namespace: namespace.to_owned(),
        name: name.to_string(),
    }
}

fn waking(turns: &mut Turns, namespace: &str, names: impl IntoIterator<Item = usize>) {
    for name in names {
        turns.wake(&key(namespace, name), Reason::Changed);
    }
}

/// As many as may begin now, without one that ends.
fn begun(turns: &mut Turns) -> Vec<RunnableKey> {
    std::iter::from_fn(|| turns.begin()).collect()
}

/// One after the other, until nobody waits: their names.
fn one_by_one(turns: &mut Turns) -> Vec<usize> {
    std::iter::from_fn(|| {
        let key = turns.begin()?;
        turns.end(&key);
        Some(key.name.parse().unwrap())
    })
    .collect()
}

fn is_empty(turns: &Turns) -> bool {
    turns.namespaces.is_empty() && turns.order.is_empty() && (turns.looks, turns.busy) == (0, 0)
}

#[test]
fn a_namespace_alone_has_three_quarters_of_all_looks() {
    let mut turns = Turns::new(16);
    waking(&mut turns, "many", 0..100);
    assert_eq!(begun(&mut turns).len(), 12);
    waking(&mut turns, "one", 0..1);
    assert_eq!(begun(&mut turns), [key("one", 0)]);
}

#[test]
fn namespaces_with_work_share_alike() {
    let mut turns = Turns::new(16);
    waking(&mut turns, "a", 0..1);
    assert_eq!(begun(&mut turns).len(), 1);
    waking(&mut turns, "b", 0..100);
    assert_eq!(begun(&mut turns).len(), 6);
    let mut turns = Turns::new(16);
    waking(&mut turns, "a", 0..100);
    waking(&mut turns, "b", 0..100);
    let of_a = begun(&mut turns)
        .iter()
        .filter(|key| key.namespace == "a")
        .count();
    // The first had its look before it was known that the other has work.
    assert!((6..=7).contains(&of_a), "{of_a}");
}

#[test]
fn of_many_namespaces_each_has_its_turn_and_all_together_no_more_than_there_are_looks() {
    let mut turns = Turns::new(2);
    for name in 0..5 {
        for namespace in ["a", "b", "c"] {
            waking(&mut turns, namespace, [name]);
        }
    }
    assert_eq!(begun(&mut turns), [key("a", 0), key("b", 0)]);
    turns.end(&key("a", 0));
    assert_eq!(begun(&mut turns), [key("c", 0)]);
    turns.end(&key("b", 0));
    turns.end(&key("c", 0));
    assert_eq!(one_by_one(&mut turns).len(), 12);
    assert!(is_empty(&turns));
}

#[test]
fn a_namespace_with_its_share_does_not_stand_in_the_way() {
    let mut turns = Turns::new(4);
    waking(&mut turns, "a", 0..10);
    assert_eq!(begun(&mut turns).len(), 3);
    waking(&mut turns, "b", 0..10);
    assert_eq!(begun(&mut turns), [key("b", 0)]);
    turns.end(&key("b", 0));
    assert_eq!(begun(&mut turns), [key("b", 1)]);
}

#[test]
fn whoever_waits_has_one_turn_however_often_it_was_woken() {
    let mut turns = Turns::new(1);
    waking(&mut turns, "many", [3, 4, 3, 3]);
    assert_eq!(one_by_one(&mut turns), [3, 4]);
    assert!(is_empty(&turns), "nothing is left");
}

#[test]
fn whoever_is_woken_while_it_is_looked_at_is_looked_at_once_more_after_that() {
    let mut turns = Turns::new(4);
    waking(&mut turns, "many", [1]);
    assert_eq!(begun(&mut turns), [key("many", 1)]);
    for reason in [Reason::Other, Reason::Changed, Reason::Other] {
        turns.wake(&key("many", 1), reason);
    }
    assert_eq!(begun(&mut turns), [], "never twice at a time");
    assert!(turns.end(&key("many", 1)));
    assert!(turns.changes_wait("many"), "for the most urgent reason");
    assert_eq!(begun(&mut turns), [key("many", 1)]);
    assert!(!turns.end(&key("many", 1)));
    assert!(is_empty(&turns));
}

#[test]
fn changes_go_first_and_results_still_get_through() {
    let mut turns = Turns::new(1);
    for name in 1..=6 {
        let reason = if name > 2 {
            Reason::Changed
        } else {
            Reason::Other
        };
        turns.wake(&key("many", name), reason);
    }
    assert_eq!(one_by_one(&mut turns), [3, 4, 5, 1, 6, 2]);
}

#[test]
fn an_edited_template_waits_for_changes_and_results_but_not_for_ever() {
    let mut turns = Turns::new(1);
    for name in 1..=40 {
        let reason = match name {
            1..=3 => Reason::Template,
            4..=6 => Reason::Other,
            _ => Reason::Changed,
        };
        turns.wake(&key("many", name), reason);
    }
    let names = one_by_one(&mut turns);
    let place = |name| names.iter().position(|called| *called == name).unwrap();
    assert_eq!(names.len(), 40);
    assert_eq!([1, 2, 3].map(place), [7, 15, 23], "one of eight");
    for (name, reason) in [
        (1, Reason::Template),
        (2, Reason::Other),
        (3, Reason::Changed),
    ] {
        turns.wake(&key("many", name), reason);
    }
    assert_eq!(one_by_one(&mut turns), [3, 2, 1]);
}

#[test]
fn a_change_goes_first_though_its_runnable_waits_already() {
    let mut turns = Turns::new(1);
    for reason in [Reason::Template, Reason::Other, Reason::Changed] {
        for name in [1, 2, 1] {
            let reason = if name == 2 { reason } else { Reason::Template };
            turns.wake(&key("many", name), reason);
        }
    }
    assert_eq!(one_by_one(&mut turns), [2, 1]);
    assert!(is_empty(&turns), "nothing is left");
}

#[test]
fn those_that_became_more_urgent_do_not_pile_up_where_somebody_always_waits() {
    let mut turns = Turns::new(1);
    for _ in 0..1_000 {
        for name in 0..10 {
            for reason in [Reason::Other, Reason::Template, Reason::Changed] {
                turns.wake(&key("many", name), reason);
            }
        }
        let looked_at = turns.begin().unwrap();
        turns.end(&looked_at);
    }
    let namespace = &turns.namespaces["many"];
    let (changed, others) = (namespace.changed.len(), namespace.others.len());
    let of_templates = namespace.of_templates.len();
    assert_eq!((namespace.waiting.len(), changed), (9, 9));
    assert!(others + of_templates < 20, "{others} {of_templates}");
}

#[test]
fn whether_others_of_a_namespace_wait_with_a_change_is_known() {
    let mut turns = Turns::new(1);
    waking(&mut turns, "many", [0]);
    assert_eq!(begun(&mut turns), [key("many", 0)]);
    assert!(!turns.changes_wait("many"));
    turns.wake(&key("many", 1), Reason::Other);
    assert!(!turns.changes_wait("many"), "a result can wait as well");
    turns.wake(&key("many", 2), Reason::Changed);
    assert!(turns.changes_wait("many") && !turns.changes_wait("one"));
}

#[test]
fn the_end_of_a_look_that_nobody_knows_is_no_news() {
    let mut turns = Turns::new(1);
    assert!(!turns.end(&key("many", 0)));
    waking(&mut turns, "many", [0]);
    assert!(!turns.end(&key("many", 0)));
    assert_eq!(begun(&mut turns), [key("many", 0)]);
}
