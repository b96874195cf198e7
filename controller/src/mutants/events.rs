//! A mistake in whose events are sent next.

use std::{cmp::Reverse, collections::VecDeque};

use super::{Mutant, makes};

/// The namespaces in which events wait, the next one first; so many wait in each.
pub(crate) fn turns(order: &mut VecDeque<String>, waiting: impl Fn(&str) -> usize) {
    if makes(Mutant::FloodFirst) {
        let order = order.make_contiguous();
        order.sort_by_key(|namespace| Reverse(waiting(namespace)));
    }
}
