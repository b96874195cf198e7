use super::*;

mod heavy;

fn key(namespace: &str, name: usize) -> RunnableKey {
    RunnableKey {
        namespace: namespace.to_owned(),
        name: name.to_string(),
    }
}

fn waking(fair: &mut FairQueue, namespace: &str, names: impl IntoIterator<Item = usize>) {
    for name in names {
        fair.enqueue(&key(namespace, name), Priority::Changed);
    }
}

/// Takes the next one, if none is heavy.
fn get(fair: &mut FairQueue) -> Option<RunnableKey> {
    Some(fair.get(Duration::ZERO, |_| false)?.key)
}

fn done(fair: &mut FairQueue, key: &RunnableKey) -> bool {
    fair.finish(key, Duration::ZERO, Duration::ZERO)
}

/// Begins as many as possible, without ending any.
fn begun(fair: &mut FairQueue) -> Vec<RunnableKey> {
    std::iter::from_fn(|| get(fair)).collect()
}

/// Reconciles one after the other until none waits, and returns their names.
fn one_by_one(fair: &mut FairQueue) -> Vec<usize> {
    std::iter::from_fn(|| {
        let key = get(fair)?;
        done(fair, &key);
        Some(key.name.parse().unwrap())
    })
    .collect()
}

fn is_empty(fair: &FairQueue) -> bool {
    fair.namespaces.is_empty()
        && fair.order.is_empty()
        && fair.heavy_order.is_empty()
        && fair.heavy.is_none()
        && (fair.running, fair.busy, fair.waiting) == (0, 0, 0)
}

#[test]
fn each_that_waits_counts_once_and_not_while_it_is_reconciled() {
    let mut fair = FairQueue::new(4);
    waking(&mut fair, "a", [1, 2, 2]);
    fair.enqueue(&key("a", 1), Priority::Other);
    waking(&mut fair, "b", [1]);
    assert_eq!(fair.waiting(), 3);
    let begun = get(&mut fair).unwrap();
    assert_eq!(fair.waiting(), 2);
    fair.enqueue(&begun, Priority::Changed);
    assert_eq!(fair.waiting(), 2);
    done(&mut fair, &begun);
    assert_eq!(fair.waiting(), 3);
}

#[test]
fn a_namespace_alone_has_three_quarters_of_all_looks() {
    let mut fair = FairQueue::new(16);
    waking(&mut fair, "many", 0..100);
    assert_eq!(begun(&mut fair).len(), 12);
    waking(&mut fair, "one", 0..1);
    assert_eq!(begun(&mut fair), [key("one", 0)]);
}

#[test]
fn namespaces_with_work_share_alike() {
    let mut fair = FairQueue::new(16);
    waking(&mut fair, "a", 0..1);
    assert_eq!(begun(&mut fair).len(), 1);
    waking(&mut fair, "b", 0..100);
    assert_eq!(begun(&mut fair).len(), 6);
    let mut fair = FairQueue::new(16);
    waking(&mut fair, "a", 0..100);
    waking(&mut fair, "b", 0..100);
    let of_a = begun(&mut fair)
        .iter()
        .filter(|key| key.namespace == "a")
        .count();
    // The first was reconciled before it was known that the other has work.
    assert!((6..=7).contains(&of_a), "{of_a}");
}

#[test]
fn of_many_namespaces_each_has_its_turn_and_all_together_no_more_than_there_are_looks() {
    let mut fair = FairQueue::new(2);
    for name in 0..5 {
        for namespace in ["a", "b", "c"] {
            waking(&mut fair, namespace, [name]);
        }
    }
    assert_eq!(begun(&mut fair), [key("a", 0), key("b", 0)]);
    done(&mut fair, &key("a", 0));
    assert_eq!(begun(&mut fair), [key("c", 0)]);
    done(&mut fair, &key("b", 0));
    done(&mut fair, &key("c", 0));
    assert_eq!(one_by_one(&mut fair).len(), 12);
    assert!(is_empty(&fair));
}

#[test]
fn a_namespace_with_its_share_does_not_stand_in_the_way() {
    let mut fair = FairQueue::new(4);
    waking(&mut fair, "a", 0..10);
    assert_eq!(begun(&mut fair).len(), 3);
    waking(&mut fair, "b", 0..10);
    assert_eq!(begun(&mut fair), [key("b", 0)]);
    done(&mut fair, &key("b", 0));
    assert_eq!(begun(&mut fair), [key("b", 1)]);
}

#[test]
fn whoever_waits_has_one_turn_however_often_it_was_woken() {
    let mut fair = FairQueue::new(1);
    waking(&mut fair, "many", [3, 4, 3, 3]);
    assert_eq!(one_by_one(&mut fair), [3, 4]);
    assert!(is_empty(&fair), "nothing is left");
}

#[test]
fn whoever_is_woken_while_it_is_looked_at_is_looked_at_once_more_after_that() {
    let mut fair = FairQueue::new(4);
    waking(&mut fair, "many", [1]);
    assert_eq!(begun(&mut fair), [key("many", 1)]);
    for reason in [Priority::Other, Priority::Changed, Priority::Other] {
        fair.enqueue(&key("many", 1), reason);
    }
    assert_eq!(begun(&mut fair), [], "never twice at a time");
    assert!(done(&mut fair, &key("many", 1)));
    let changed = &fair.namespaces["many"].changed;
    assert_eq!(changed.len(), 1, "for the most urgent reason");
    assert_eq!(begun(&mut fair), [key("many", 1)]);
    assert!(!done(&mut fair, &key("many", 1)));
    assert!(is_empty(&fair));
}

#[test]
fn changes_go_first_and_results_still_get_through() {
    let mut fair = FairQueue::new(1);
    for name in 1..=6 {
        let reason = if name > 2 {
            Priority::Changed
        } else {
            Priority::Other
        };
        fair.enqueue(&key("many", name), reason);
    }
    assert_eq!(one_by_one(&mut fair), [3, 4, 5, 1, 6, 2]);
}

#[test]
fn an_edited_template_waits_for_changes_and_results_but_not_for_ever() {
    let mut fair = FairQueue::new(1);
    for name in 1..=40 {
        let reason = match name {
            1..=3 => Priority::Template,
            4..=6 => Priority::Other,
            _ => Priority::Changed,
        };
        fair.enqueue(&key("many", name), reason);
    }
    let names = one_by_one(&mut fair);
    let place = |name| names.iter().position(|called| *called == name).unwrap();
    assert_eq!(names.len(), 40);
    assert_eq!([1, 2, 3].map(place), [7, 15, 23], "one of eight");
    for (name, reason) in [
        (1, Priority::Template),
        (2, Priority::Other),
        (3, Priority::Changed),
    ] {
        fair.enqueue(&key("many", name), reason);
    }
    assert_eq!(one_by_one(&mut fair), [3, 2, 1]);
}

#[test]
fn a_change_goes_first_though_its_runnable_waits_already() {
    let mut fair = FairQueue::new(1);
    for reason in [Priority::Template, Priority::Other, Priority::Changed] {
        for name in [1, 2, 1] {
            let reason = if name == 2 {
                reason
            } else {
                Priority::Template
            };
            fair.enqueue(&key("many", name), reason);
        }
    }
    assert_eq!(one_by_one(&mut fair), [2, 1]);
    assert!(is_empty(&fair), "nothing is left");
}

#[test]
fn those_that_became_more_urgent_do_not_pile_up_where_somebody_always_waits() {
    let mut fair = FairQueue::new(1);
    for _ in 0..1_000 {
        for name in 0..10 {
            for reason in [Priority::Other, Priority::Template, Priority::Changed] {
                fair.enqueue(&key("many", name), reason);
            }
        }
        let reconciling = get(&mut fair).unwrap();
        done(&mut fair, &reconciling);
    }
    let namespace = &fair.namespaces["many"];
    let (changed, others) = (namespace.changed.len(), namespace.others.len());
    let of_templates = namespace.of_templates.len();
    assert_eq!((namespace.waiting.len(), changed), (9, 9));
    assert!(others + of_templates < 20, "{others} {of_templates}");
}

#[test]
fn the_end_of_a_look_that_nobody_knows_is_no_news() {
    let mut fair = FairQueue::new(1);
    assert!(!done(&mut fair, &key("many", 0)));
    waking(&mut fair, "many", [0]);
    assert!(!done(&mut fair, &key("many", 0)));
    assert_eq!(begun(&mut fair), [key("many", 0)]);
}
