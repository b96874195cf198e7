//! Who stems from whom, and whether somebody stems from themselves. Generic over what the nodes are. Pure.
//!
//! Everything here is a walk that goes by each node and each edge once at most, and keeps its place in a list: however
//! long a chain is, nothing is called in a nest.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// All that is reached from these nodes, themselves included: the nearest first, those that are as near in order, each once.
pub fn reached<N, E>(from: impl IntoIterator<Item = N>, mut edges: impl FnMut(&N) -> E) -> Vec<N>
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

/// A shortest way from a node back to itself: the node first, and not named again at the end. `None` if it is on no cycle, be
/// it that one is reached from it. Each member of a cycle asks for itself, and is told the way as it sees it.
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

/// How `last` was reached.
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
