//! Latest numbers of Runnables that left.

use std::sync::Mutex;

use super::{Memories, Memory};
use crate::lock::lock;

/// Maximum number of Runnables that left whose latest number is kept.
pub(super) const MAX_LEFT: usize = 1_000;

/// Way in which a Runnable leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// It was deleted, and comes back only if the cluster is restored to an earlier state.
    Deleted,
    /// It may only be unreadable, and comes back when that is repaired.
    Unreadable,
}

/// A Runnable that left.
pub(super) struct Left {
    uid: String,
    /// The latest number that it had given.
    reached: i64,
    how: Leaving,
}

impl Memories {
    /// Keeps the latest number of a Runnable, and returns its uid.
    pub(super) fn leave(&self, memory: &Mutex<Memory>, how: Leaving) -> String {
        let (uid, reached) = {
            let memory = lock(memory);
            (memory.uid.clone(), memory.state.reached_sequence)
        };
        self.keep(Left {
            uid: uid.clone(),
            reached,
            how,
        });
        uid
    }

    /// Keeps one that left. Deleted ones, however many, push out none that may well come back.
    fn keep(&self, one: Left) {
        if one.reached <= 0 {
            return;
        }
        let mut left = lock(&self.left);
        if left.len() >= MAX_LEFT {
            let deleted = left.iter().position(|left| left.how == Leaving::Deleted);
            if deleted.is_none() && one.how == Leaving::Deleted {
                return;
            }
            left.remove(deleted.unwrap_or_default());
        }
        left.push_back(one);
    }

    /// Returns the number that a Runnable had reached when it left, or 0.
    pub(super) fn left_at(&self, uid: &str) -> i64 {
        let mut left = lock(&self.left);
        let known = left.iter().position(|known| known.uid == uid);
        known
            .and_then(|at| left.remove(at))
            .map_or(0, |left| left.reached)
    }
}
