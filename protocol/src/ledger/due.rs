//! Pending changes: comparison of the ledger with what is rendered.

use cartouche_crds::{RunPhase, last_answered};
use cartouche_language::Hashes;

use super::{Ledger, is_withdrawn, stop::was_replaced};

/// Word in a hash in place of the digits.
pub(crate) const ANOTHER: &str = "another";

/// Returns true if a hash, of any version, only marks its run as one of another document than what waited for it.
#[must_use]
pub fn is_of_another_document(hash: &str) -> bool {
    hash.split_once(':')
        .is_some_and(|(_, rest)| rest == ANOTHER)
}

/// State of the rendered document in a ledger, with the number of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// It has no run: a new one is to be intended.
    New(i64),
    /// Its run is intended, and is not known to exist.
    Pending(i64),
    /// Its run exists, or existed.
    Nothing(i64),
    /// The hash of the current run has an unknown version: whether it is of the same document has to be found out.
    OtherHash(i64),
}

impl Ledger {
    /// Returns true if a run of the pending change may be intended: as far as the hashes show, it differs from the
    /// current one.
    #[must_use]
    pub fn may_intend(&self, due: Due) -> bool {
        self.current.is_none() || matches!(due, Due::New(_) | Due::OtherHash(_))
    }

    /// Returns the last re-run request that was answered.
    #[must_use]
    pub fn last_answered(&self) -> Option<&str> {
        last_answered(self.current.as_ref(), self.answered_token.as_deref())
    }

    /// Returns the last re-run request answered by a run that was seen to exist. The request of an unseen run may
    /// pass to a later one.
    #[must_use]
    pub fn answered_by_seen(&self) -> Option<&str> {
        let current = self.current.as_ref();
        let seen = current.filter(|current| current.phase == RunPhase::Created);
        last_answered(seen, self.answered_token.as_deref())
    }

    /// Returns true if this re-run request is not the last one that was answered.
    #[must_use]
    pub fn is_asked_again(&self, rerun_token: Option<&str>) -> bool {
        rerun_token.is_some_and(|token| self.last_answered() != Some(token))
    }

    /// Compares what is rendered, and the re-run request, with the ledger. A request counts once the run before it
    /// exists, and stays answered when its annotation is removed. A document whose run was stopped or withdrawn for
    /// another one, and that is rendered again, counts as not run, unless that run succeeded or turned up.
    ///
    /// An entry of the previous release is compared by the hash of its version, and keeps it. If it were rewritten,
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
        // The run was to make way for another document, and is wanted again.
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
