use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::sources::graph::{reach, way_round};

type Graph = BTreeMap<u32, Vec<u32>>;

fn edges(graph: &Graph) -> impl Fn(&u32) -> Vec<u32> {
    |node| graph.get(node).cloned().unwrap_or_default()
}

#[test]
fn whoever_reads_itself_is_on_a_cycle() {
    let graph = Graph::from([(1, vec![1])]);
    assert_eq!(way_round(&1, edges(&graph)), Some(vec![1]));
}

#[test]
fn each_member_is_told_the_way_round_from_itself() {
    let graph = Graph::from([(1, vec![2]), (2, vec![3]), (3, vec![1])]);
    assert_eq!(way_round(&1, edges(&graph)), Some(vec![1, 2, 3]));
    assert_eq!(way_round(&3, edges(&graph)), Some(vec![3, 1, 2]));
}

#[test]
fn of_two_ways_round_the_shorter_is_told() {
    let graph = Graph::from([(1, vec![2, 4]), (2, vec![3]), (3, vec![1]), (4, vec![1])]);
    assert_eq!(way_round(&1, edges(&graph)), Some(vec![1, 4]));
}

#[test]
fn whoever_only_reads_a_member_is_on_no_cycle() {
    let graph = Graph::from([(1, vec![2]), (2, vec![3]), (3, vec![2])]);
    assert_eq!(way_round(&1, edges(&graph)), None);
}

#[test]
fn a_fork_that_joins_is_no_cycle() {
    let graph = Graph::from([(4, vec![2, 3]), (2, vec![1]), (3, vec![1])]);
    for node in 1..5 {
        assert_eq!(way_round(&node, edges(&graph)), None);
    }
    assert_eq!(reach([4], edges(&graph)), [4, 2, 3, 1]);
}

#[test]
fn a_chain_of_ten_thousand_is_walked_to_its_end() {
    const LENGTH: u32 = 10_000;
    let chain = |node: &u32| vec![(node + 1) % LENGTH];
    let way = way_round(&0, chain).unwrap();
    assert_eq!(way, (0..LENGTH).collect::<Vec<_>>());
    assert_eq!(reach([0], chain).len(), 10_000);
}

/// A graph of few nodes and random edges.
fn graph() -> impl Strategy<Value = Graph> {
    prop::collection::btree_map(0..8u32, prop::collection::vec(0..8u32, 0..4), 0..8)
}

/// A second definition of reachability, by the allowed distance.
fn reaches(graph: &Graph, from: u32, to: u32) -> bool {
    let mut met = vec![from];
    for _ in 0..8 {
        let further: Vec<u32> = met.iter().flat_map(|node| edges(graph)(node)).collect();
        if further.contains(&to) {
            return true;
        }
        met.extend(further);
        met.sort_unstable();
        met.dedup();
    }
    false
}

proptest! {
    #[test]
    fn a_way_round_is_found_where_there_is_one_and_is_one(graph in graph()) {
        for node in 0..8 {
            let way = way_round(&node, edges(&graph));
            prop_assert_eq!(way.is_some(), reaches(&graph, node, node));
            if let Some(way) = way {
                prop_assert_eq!(way[0], node);
                let next = way.iter().skip(1).chain(&way[..1]);
                for (one, next) in way.iter().zip(next) {
                    prop_assert!(edges(&graph)(one).contains(next));
                }
            }
        }
    }

    #[test]
    fn the_order_of_edges_does_not_matter(graph in graph()) {
        let mut turned = graph.clone();
        for edges in turned.values_mut() {
            edges.reverse();
        }
        for node in 0..8 {
            prop_assert_eq!(way_round(&node, edges(&graph)), way_round(&node, edges(&turned)));
            prop_assert_eq!(reach([node], edges(&graph)), reach([node], edges(&turned)));
        }
    }
}
