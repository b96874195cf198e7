use super::*;

fn key(namespace: &str, name: usize) -> RunnableKey {
    RunnableKey {
        namespace: namespace.to_owned(),
        name: name.to_string(),
    }
}

fn fairness(
    concurrency: u16,
) -> (
    Fairness,
    tokio::sync::mpsc::UnboundedReceiver<
        kube::runtime::reflector::ObjectRef<cartouche_crds::Runnable>,
    >,
) {
    let (wakes, woken) = Wakes::new();
    (Fairness::new(concurrency, wakes), woken)
}

#[test]
fn a_namespace_alone_has_three_quarters_of_all_looks() {
    let (fairness, _woken) = fairness(16);
    let turns: Vec<_> = (0..100)
        .filter_map(|name| fairness.turn(&key("many", name), Reason::Changed))
        .collect();
    assert_eq!(turns.len(), 12);
    assert!(fairness.turn(&key("one", 0), Reason::Changed).is_some());
}

#[test]
fn namespaces_with_work_share_alike() {
    let (fairness, _woken) = fairness(16);
    let first = fairness.turn(&key("a", 0), Reason::Changed);
    let others: Vec<_> = (0..100)
        .filter_map(|name| fairness.turn(&key("b", name), Reason::Changed))
        .collect();
    assert_eq!((first.is_some(), others.len()), (true, 6));
    let (fairness, _woken) = super::tests::fairness(1);
    let turns = ["a", "b", "c"].map(|namespace| fairness.turn(&key(namespace, 0), Reason::Changed));
    assert!(turns.iter().all(Option::is_some), "nobody is shut out");
}

#[test]
fn whoever_was_sent_away_is_woken_in_turn_and_once() {
    let (fairness, mut woken) = fairness(4);
    let turns: Vec<_> = (0..3)
        .map(|name| fairness.turn(&key("many", name), Reason::Changed))
        .collect();
    assert!(turns.iter().all(Option::is_some));
    for name in [3, 4, 3] {
        assert!(fairness.turn(&key("many", name), Reason::Changed).is_none());
    }
    drop(turns);
    let mut names = Vec::new();
    while let Ok(reference) = woken.try_recv() {
        names.push(reference.name);
    }
    assert_eq!(names, ["3", "4"]);
    assert!(fairness.lock().namespaces.is_empty(), "nothing is left");
}

#[test]
fn whoever_had_its_turn_meanwhile_is_not_woken_for_it() {
    let (fairness, mut woken) = fairness(2);
    let first = [0, 1].map(|name| fairness.turn(&key("many", name), Reason::Changed));
    assert!(fairness.turn(&key("many", 2), Reason::Changed).is_none());
    let [zero, one] = first;
    drop(zero);
    assert_eq!(
        woken.try_recv().ok().map(|it| it.name),
        Some("2".to_owned())
    );
    let two = fairness.turn(&key("many", 2), Reason::Changed);
    assert!(two.is_some());
    drop((one, two));
    assert!(woken.try_recv().is_err());
}

#[test]
fn changes_go_first_and_results_still_get_through() {
    let (fairness, mut woken) = fairness(1);
    let first = fairness.turn(&key("many", 0), Reason::Changed);
    for name in 1..=6 {
        assert!(
            fairness
                .turn(
                    &key("many", name),
                    if name > 2 {
                        Reason::Changed
                    } else {
                        Reason::Other
                    }
                )
                .is_none()
        );
    }
    assert_eq!(called(&fairness, &mut woken, first), [3, 4, 5, 1, 6, 2]);
}

/// Calls one after the other, until nobody waits.
fn called(
    fairness: &Fairness,
    woken: &mut tokio::sync::mpsc::UnboundedReceiver<
        kube::runtime::reflector::ObjectRef<cartouche_crds::Runnable>,
    >,
    mut turn: Option<Turn>,
) -> Vec<usize> {
    let mut names = Vec::new();
    loop {
        drop(turn.take());
        let Ok(next) = woken.try_recv() else {
            return names;
        };
        let name = next.name.parse().unwrap();
        turn = fairness.turn(&key("many", name), Reason::Other);
        names.push(name);
    }
}

#[test]
fn an_edited_template_waits_for_changes_and_results_but_not_for_ever() {
    let (fairness, mut woken) = fairness(1);
    let first = fairness.turn(&key("many", 0), Reason::Changed);
    for name in 1..=40 {
        let reason = match name {
            1..=3 => Reason::Template,
            4..=6 => Reason::Other,
            _ => Reason::Changed,
        };
        assert!(fairness.turn(&key("many", name), reason).is_none());
    }
    let names = called(&fairness, &mut woken, first);
    let place = |name| names.iter().position(|called| *called == name).unwrap();
    assert_eq!(names.len(), 40);
    assert_eq!([1, 2, 3].map(place), [7, 15, 23], "one of eight");
    let (fairness, mut woken) = super::tests::fairness(1);
    let first = fairness.turn(&key("many", 0), Reason::Changed);
    for (name, reason) in [
        (1, Reason::Template),
        (2, Reason::Other),
        (3, Reason::Changed),
    ] {
        assert!(fairness.turn(&key("many", name), reason).is_none());
    }
    assert_eq!(called(&fairness, &mut woken, first), [3, 2, 1]);
}

#[test]
fn a_change_goes_first_though_its_runnable_waits_already() {
    let (fairness, mut woken) = fairness(1);
    let first = fairness.turn(&key("many", 0), Reason::Changed);
    for reason in [Reason::Template, Reason::Other, Reason::Changed] {
        for name in [1, 2, 1] {
            let reason = if name == 2 { reason } else { Reason::Template };
            assert!(fairness.turn(&key("many", name), reason).is_none());
        }
    }
    assert_eq!(called(&fairness, &mut woken, first), [2, 1]);
    assert!(fairness.lock().namespaces.is_empty(), "nothing is left");
}

#[test]
fn a_look_knows_whether_others_of_its_namespace_wait_with_a_change() {
    let (fairness, _woken) = fairness(1);
    let turn = fairness.turn(&key("many", 0), Reason::Changed).unwrap();
    assert!(!turn.others_wait());
    assert!(fairness.turn(&key("many", 1), Reason::Other).is_none());
    assert!(!turn.others_wait(), "a result can wait as well");
    let elsewhere = fairness.turn(&key("one", 0), Reason::Changed).unwrap();
    assert!(fairness.turn(&key("many", 2), Reason::Changed).is_none());
    assert!(turn.others_wait());
    assert!(!elsewhere.others_wait());
}

#[test]
fn whoever_was_called_and_overtaken_keeps_its_place() {
    let (fairness, mut woken) = fairness(1);
    let first = fairness.turn(&key("many", 0), Reason::Changed);
    assert!(fairness.turn(&key("many", 1), Reason::Changed).is_none());
    assert!(fairness.turn(&key("many", 2), Reason::Changed).is_none());
    drop(first);
    let overtaking = fairness.turn(&key("many", 3), Reason::Changed);
    assert!(overtaking.is_some());
    assert!(fairness.turn(&key("many", 1), Reason::Changed).is_none());
    drop(overtaking);
    let names: Vec<_> = std::iter::from_fn(|| woken.try_recv().ok())
        .map(|reference| reference.name)
        .collect();
    assert_eq!(names, ["1", "1"]);
}
