//! A mistake in the order of namespaces whose events are sent.

use std::{cmp::Reverse, collections::VecDeque};

use super::{Mutant, makes};

/// Puts the namespaces with most waiting events first in the order, if the mistake is made.
pub(crate) fn turns(order: &mut VecDeque<String>, waiting: impl Fn(&str) -> usize) {
    if makes(Mutant::FloodFirst) {
        let order = order.make_contiguous();
        order.sort_by_key(|namespace| Reverse(waiting(namespace)));
    }
}
