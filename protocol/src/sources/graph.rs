//! Graph walks: reachable nodes, and cycles. Generic over the nodes. Pure.
//!
//! Each walk visits each node and each edge at most once, and keeps its place in a list: however
//! long a chain is, no call nests.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Returns all nodes reachable from these, themselves included: nearest first, equally near ones in
/// order, each once.
pub fn reach<N, E>(from: impl IntoIterator<Item = N>, mut edges: impl FnMut(&N) -> E) -> Vec<N>
where
    N: Ord + Clone,
    E: IntoIterator<Item = N>,
{
    let start: BTreeSet<N> = from.into_iter().collect();
    let mut met = start.clone();
    let mut order: Vec<N> = start.into_iter().collect();
    let mut next = 0;
    while let Some(node) = order.get(next).cloned() {
        next += 1;
        let further: BTreeSet<N> = edges(&node).into_iter().collect();
        order.extend(further.into_iter().filter(|it| met.insert(it.clone())));
    }
    order
}

/// Returns a shortest path from a node back to itself, or `None` if it is on no cycle, even if one
/// is reachable from it. The node comes first, and is not repeated at the end. Each member of a
/// cycle gets the path from its own view.
pub fn way_round<N, E>(start: &N, mut edges: impl FnMut(&N) -> E) -> Option<Vec<N>>
where
    N: Ord + Clone,
    E: IntoIterator<Item = N>,
{
    let mut came: BTreeMap<N, N> = BTreeMap::new();
    let mut next = VecDeque::from([start.clone()]);
    while let Some(node) = next.pop_front() {
        let further: BTreeSet<N> = edges(&node).into_iter().collect();
        if further.contains(start) {
            return Some(way(start, node, &came));
        }
        for one in further {
            if !came.contains_key(&one) {
                came.insert(one.clone(), node.clone());
                next.push_back(one);
            }
        }
    }
    None
}

/// Returns the path from `start` to `last`.
fn way<N: Ord + Clone>(start: &N, last: N, came: &BTreeMap<N, N>) -> Vec<N> {
    let mut way = vec![last];
    while let Some(before) = way.last().filter(|node| *node != start) {
        match came.get(before) {
            Some(before) => way.push(before.clone()),
            None => break,
        }
    }
    way.reverse();
    way
}
