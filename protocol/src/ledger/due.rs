//! Whether a run is due.

use cartouche_crds::{RunPhase, last_answered};
use cartouche_templating::Hashes;

use super::{Ledger, is_withdrawn, stop::was_replaced};

/// Stands in a hash in place of the digits.
pub(crate) const ANOTHER: &str = "another";

/// Whether a hash, of whatever version, says only that a run is of another document than what waited for it.
#[must_use]
pub fn is_of_another_document(hash: &str) -> bool {
    hash.split_once(':')
        .is_some_and(|(_, rest)| rest == ANOTHER)
}

/// What a ledger has of what is rendered now, with the number of that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing: a new run is to be intended.
    New(i64),
    /// The run is intended, and is not known to exist.
    Pending(i64),
    /// The run exists, or existed.
    Nothing(i64),
    /// The hash of the run is of a version that is not known: whether it is of the same document has to be found out.
    OtherHash(i64),
}

impl Ledger {
    /// Whether a run of what is due may be intended: it is another than the current one, as far as their hashes tell.
    #[must_use]
    pub fn may_intend(&self, due: Due) -> bool {
        self.current.is_none() || matches!(due, Due::New(_) | Due::OtherHash(_))
    }

    /// The last re-run request that was answered.
    #[must_use]
    pub fn last_answered(&self) -> Option<&str> {
        last_answered(self.current.as_ref(), self.answered_token.as_deref())
    }

    /// The last one that a run answered which was seen to exist: that of another may go to a later one.
    #[must_use]
    pub fn answered_by_seen(&self) -> Option<&str> {
        let current = self.current.as_ref();
        let seen = current.filter(|current| current.phase == RunPhase::Created);
        last_answered(seen, self.answered_token.as_deref())
    }

    /// Whether this re-run request is one that no run has answered.
    #[must_use]
    pub fn is_asked_again(&self, rerun_token: Option<&str>) -> bool {
        rerun_token.is_some_and(|token| self.last_answered() != Some(token))
    }

    /// Whether what is rendered, or a re-run request, asks for a run. A request counts once the run before it
    /// exists, and stays answered when its annotation is taken away. What was stopped or given up for another document,
    /// and then is rendered again, is one that has not run, unless it succeeded or turned up.
    ///
    /// An entry that the release before has written is read by the hash that this one made, and keeps it: were it written anew,
    /// a controller of that release beside this one would write it back.
    #[must_use]
    pub fn due<'a>(&self, rendered: impl Into<Hashes<'a>>, rerun_token: Option<&str>) -> Due {
        let Some(current) = &self.current else {
            return Due::New(self.next_sequence());
        };
        if current.phase == RunPhase::Created && is_of_another_document(&current.input_hash) {
            return Due::New(self.next_sequence());
        }
        let Some(input_hash) = rendered.into().like(&current.input_hash) else {
            return Due::OtherHash(current.sequence);
        };
        let exists = current.phase == RunPhase::Created;
        // It was to make way for another document, and is wanted again.
        let made_way = was_replaced(current) || is_withdrawn(current);
        let is_asked_again = exists && self.is_asked_again(rerun_token);
        if current.input_hash != input_hash || is_asked_again || made_way {
            Due::New(self.next_sequence())
        } else if exists {
            Due::Nothing(current.sequence)
        } else {
            Due::Pending(current.sequence)
        }
    }
}
