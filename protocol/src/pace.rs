//! The pace of status writes: the time at which a status that differs from the stored one is
//! written. Pure; the time is an argument.
//!
//! Facts are written at once: the ledger, outputs, and the status and reason of a condition.
//! Messages may wait: two processes may word the same fact differently, and what a run waits for
//! may change many times a second. So may all that the status says about a waiting run.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use cartouche_crds::{
    PendingRun, RunnableStatus,
    conditions::{STAMPED_OBJECT_CONDITION, WATCH_UNAVAILABLE},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::{category::Category, ledger::contested::digest_of, messages::format};

/// Minimum time between two writes of one process that change messages only, or what they say about
/// the same waiting run.
pub const WORDS_APART: Duration = Duration::from_secs(10);
/// Minimum time from a write of messages to the next look at the Runnables that a waiting Runnable
/// reads, and between two events that ask for approval of one number. Two Runnables that feed each
/// other make ten requests each time, and one a second is allowed.
pub const LOOKS_APART: Duration = Duration::from_secs(20);
/// Changes of conditions that one process may write at once while no run waits, or for edits of the
/// Runnable; after these, one each [`WORDS_APART`]. The inputs of a Runnable may change its
/// conditions without end, its own status among them.
const TURNS_AT_ONCE: u32 = 6;
/// Time for which the messages of another process stay.
pub const OTHERS_STAND: Duration = Duration::from_secs(30);
/// Time for which messages stay that another process has put in place of the same messages of this
/// one. Processes that disagree make few writes in the long run: three of them one in ten minutes.
pub const REPEATED_AFTER: Duration = Duration::from_mins(30);

/// The extent to which a status is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum News {
    /// Nothing.
    Nothing,
    /// The text of a message, the hash of the pending run and its approval, or the failure of a
    /// watch.
    Words,
    /// The status or reason of a condition, or the generation of the pending change.
    Conditions,
    /// The objects that the same outputs are written to.
    Sinks,
    /// The ledger, outputs, or the generation that it is about.
    Ledger,
}

/// A status that is to replace the stored one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusChange {
    /// The extent to which it is new.
    pub news: News,
    /// True if the pending run or its approval differs: a person may need to know that.
    has_other_pending: bool,
    /// True if it is about another generation than the stored one.
    is_of_other_generation: bool,
    /// The number of the run that waits, or waits no more.
    waits: Option<i64>,
    /// Digest of the stored messages.
    before: u64,
    /// Digest of the new messages.
    after: u64,
    /// Digest of the new state of the objects that outputs are written to, if nothing above it is
    /// new.
    sinks: Option<u64>,
}

impl StatusChange {
    /// Compares two statuses of a Runnable.
    #[must_use]
    pub fn of_runnable(stored: &RunnableStatus, next: &RunnableStatus) -> Self {
        let words = |status: &RunnableStatus| digest(&status.conditions, status.pending.as_ref());
        let news = news_of_runnable(stored, next);
        Self {
            news,
            has_other_pending: stored.pending != next.pending,
            is_of_other_generation: stored.observed_generation != next.observed_generation,
            waits: next
                .pending
                .as_ref()
                .or(stored.pending.as_ref())
                .map(|it| it.sequence),
            before: words(stored),
            after: words(next),
            sinks: (news == News::Sinks).then(|| digest_of_sinks(next)),
        }
    }

    /// Compares the conditions of an object whose status has nothing else.
    #[must_use]
    pub fn of_conditions(stored: &[Condition], next: &[Condition]) -> Self {
        let news = if stored == next {
            News::Nothing
        } else if strip_messages(stored).eq(strip_messages(next)) {
            News::Words
        } else {
            News::Conditions
        };
        Self {
            news,
            has_other_pending: false,
            is_of_other_generation: false,
            waits: None,
            before: digest(stored, None),
            after: digest(next, None),
            sinks: None,
        }
    }
}

fn news_of_runnable(stored: &RunnableStatus, next: &RunnableStatus) -> News {
    if stored == next {
        return News::Nothing;
    }
    let mut with_words_of_stored = RunnableStatus {
        conditions: stored.conditions.clone(),
        pending: stored.pending.clone(),
        ..next.clone()
    };
    // The pending change may differ without end, and no run comes of it. The conditions have the
    // generation too.
    if stored.pending.is_some() && next.pending.is_some() {
        with_words_of_stored.observed_generation = stored.observed_generation;
    }
    if *stored != with_words_of_stored {
        let is_of_sinks = *stored == with_sinks_of(with_words_of_stored, stored);
        return if is_of_sinks {
            News::Sinks
        } else {
            News::Ledger
        };
    }
    // The source that a run waits for, and its failure, may change with each step of the sources.
    let is_held = is_of_dependencies(stored) && is_of_dependencies(next);
    let conditions = |status: &RunnableStatus| {
        let all = strip_messages(&status.conditions);
        let kept = all.filter(|it| !is_held || it.0 == STAMPED_OBJECT_CONDITION);
        kept.map(|(name, status, reason, generation)| {
            (
                name.to_owned(),
                status.to_owned(),
                reason.to_owned(),
                generation,
            )
        })
        .collect::<Vec<_>>()
    };
    let waits = |status: &RunnableStatus| {
        let pending = status.pending.as_ref()?;
        let reason = (!is_held).then(|| pending.reason.clone());
        Some((pending.sequence, reason))
    };
    if conditions(stored) == conditions(next) && waits(stored) == waits(next) {
        News::Words
    } else {
        News::Conditions
    }
}

/// Returns true if the pending run waits for the sources of its inputs.
fn is_of_dependencies(status: &RunnableStatus) -> bool {
    let reason = status.pending.as_ref().map(|it| it.reason.as_str());
    reason
        .and_then(Category::parse)
        .is_some_and(Category::is_of_dependencies)
}

/// Conditions without messages. Watches may fail for one process only.
fn strip_messages(
    conditions: &[Condition],
) -> impl Iterator<Item = (&str, &str, &str, Option<i64>)> {
    let all = conditions.iter();
    all.filter(|it| it.type_ != WATCH_UNAVAILABLE).map(|it| {
        let (name, status, reason) = (&*it.type_, &*it.status, &*it.reason);
        (name, status, reason, it.observed_generation)
    })
}

/// Returns the status with the sinks of another one.
#[must_use]
pub fn with_sinks_of(status: RunnableStatus, of: &RunnableStatus) -> RunnableStatus {
    RunnableStatus {
        sinks: of.sinks.clone(),
        sensitive_outputs: of.sensitive_outputs.clone(),
        ..status
    }
}

/// Digest of the sinks of these outputs.
fn digest_of_sinks(status: &RunnableStatus) -> u64 {
    let sinks = (&status.sinks, &status.sensitive_outputs);
    digest_of((sinks, &status.outputs_from))
}

/// Digest of all that people read. The number of tries is left out: it grows while all else stays.
fn digest(conditions: &[Condition], pending: Option<&PendingRun>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for condition in conditions {
        let message = format::without_tries(&condition.message);
        (&condition.type_, &condition.status, &condition.reason).hash(&mut hasher);
        message.hash(&mut hasher);
    }
    if let Some(pending) = pending {
        (pending.sequence, &pending.input_hash, &pending.reason).hash(&mut hasher);
        (&pending.approval, &pending.dry_run).hash(&mut hasher);
    }
    hasher.finish()
}

/// The time at which a status is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteTime {
    /// Not at all.
    Never,
    /// Now.
    Now,
    /// After this time, if it still differs then.
    After(Duration),
}

/// A process's memory of its writes of one status. Times are of a clock that runs while the machine
/// sleeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusPace {
    /// Digest of the messages that this process wrote last, and the time of that write.
    written: Option<(u64, Duration)>,
    /// Time of the last write of messages only.
    words_at: Option<Duration>,
    /// The number of the waiting run, and the time of the last write about it.
    waits_at: Option<(i64, Duration)>,
    /// Time since which it would word the message of another process differently.
    differs_since: Option<Duration>,
    /// Number of times in a row that it has repeated what another process had replaced.
    repeats: u32,
    /// Time at which its budget of condition changes is restored.
    turns_until: Duration,
    /// Pace of writes if another controller sees the objects of the outputs differently.
    sinks: ContestedPace,
}

impl StatusPace {
    /// Returns the time at which this change is to be written.
    pub fn due(&mut self, change: &StatusChange, now: Duration) -> WriteTime {
        let is_again = self.is_again(change);
        let written_at = self.written.map_or(now, |(_, at)| at);
        let until = match change.news {
            News::Nothing => {
                self.differs_since = None;
                return WriteTime::Never;
            }
            News::Conditions if is_again => written_at + self.repeated(WORDS_APART),
            // An input may change them fifty times a second. An edit of the Runnable is answered at
            // once.
            News::Conditions if change.waits.is_some() && !change.is_of_other_generation => {
                self.may_tell_of(change).unwrap_or(now)
            }
            News::Conditions => self
                .turns_until
                .saturating_sub(WORDS_APART * (TURNS_AT_ONCE - 1)),
            News::Sinks | News::Ledger => now,
            News::Words if self.has_written(change.before) => {
                let words = self.words_at.map(|at| at + WORDS_APART);
                words.max(self.may_tell_of(change)).unwrap_or(now)
            }
            News::Words if is_again && change.has_other_pending => {
                written_at + self.repeated(OTHERS_STAND)
            }
            News::Words if is_again => written_at + REPEATED_AFTER,
            News::Words => *self.differs_since.get_or_insert(now) + OTHERS_STAND,
        };
        match until.checked_sub(now).filter(|left| !left.is_zero()) {
            Some(left) => WriteTime::After(left),
            None => WriteTime::Now,
        }
    }

    /// Returns the time for which the stored state of the sinks stays, if another controller sees
    /// them differently. All else is written meanwhile.
    #[must_use]
    pub fn holds_sinks(&self, change: &StatusChange, now: Duration) -> Option<Duration> {
        self.sinks.time_left(change.sinks?, now)
    }

    /// Records that this change was written.
    pub fn record_write(&mut self, change: &StatusChange, now: Duration) {
        self.repeats = if self.is_again(change) {
            self.repeats.saturating_add(1)
        } else {
            0
        };
        match change.news {
            News::Words => self.words_at = Some(now),
            News::Conditions => self.turns_until = self.turns_until.max(now) + WORDS_APART,
            // Another run or another spec starts afresh.
            News::Ledger => self.sinks = ContestedPace::default(),
            News::Nothing | News::Sinks => {}
        }
        if let Some(sinks) = change.sinks {
            self.sinks.record_write(sinks, now);
        }
        self.waits_at = change.waits.map(|waits| (waits, now)).or(self.waits_at);
        self.written = Some((change.after, now));
        self.differs_since = None;
    }

    /// Returns the time from which the status may change again for the waiting run.
    fn may_tell_of(&self, change: &StatusChange) -> Option<Duration> {
        let last = self
            .waits_at
            .filter(|(number, _)| change.waits == Some(*number));
        last.map(|(_, at)| at + WORDS_APART)
    }

    /// Returns the time for which a waiting Runnable leaves its source Runnables alone, if this
    /// process has just written messages.
    #[must_use]
    pub fn looks_after(&self, now: Duration) -> Option<Duration> {
        let left = (self.words_at? + LOOKS_APART).checked_sub(now);
        left.filter(|left| !left.is_zero())
    }

    /// Returns the time of the last use.
    #[must_use]
    pub fn last(&self) -> Option<Duration> {
        self.written.map(|(_, at)| at).max(self.differs_since)
    }

    /// Returns the pause before a replaced message is written again, longer each time.
    fn repeated(&self, first: Duration) -> Duration {
        let pause = first.saturating_mul(1 << self.repeats.min(16));
        pause.min(REPEATED_AFTER)
    }

    fn has_written(&self, words: u64) -> bool {
        self.written.is_some_and(|(written, _)| written == words)
    }

    /// Returns true if another process has put its messages in place of just these.
    fn is_again(&self, change: &StatusChange) -> bool {
        let is_replaced = self.has_written(change.after) && !self.has_written(change.before);
        is_replaced && !change.is_of_other_generation
    }
}

/// The pace at which a process rewrites what another release or controller writes differently: the
/// hash of a ledger, the sources of a run, the record of its end, or the state of the sinks. Each
/// process restores its own version: after half a minute, as the other may be about to end, and
/// then every half an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContestedPace {
    /// Digest of the last write, its time, and its number of repetitions.
    last: Option<(u64, Duration, u32)>,
}

impl ContestedPace {
    /// Returns the time until this may be written, if it equals the last write and that is recent.
    #[must_use]
    pub fn time_left(&self, what: u64, now: Duration) -> Option<Duration> {
        let (_, at, times) = self.last.filter(|(last, ..)| *last == what)?;
        let pause = if times == 0 {
            OTHERS_STAND
        } else {
            REPEATED_AFTER
        };
        (at + pause).checked_sub(now).filter(|left| !left.is_zero())
    }

    /// Returns true if the same was written twice in a row. A single write may have another cause.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.last.is_some_and(|(_, _, times)| times > 0)
    }

    /// Records a write.
    pub fn record_write(&mut self, what: u64, now: Duration) {
        let is_recent = |at: Duration| at + 2 * REPEATED_AFTER > now;
        let again = self
            .last
            .filter(|(last, at, _)| *last == what && is_recent(*at));
        let times = again.map_or(0, |(_, _, times)| times.saturating_add(1));
        self.last = Some((what, now, times));
    }
}

#[cfg(test)]
mod tests;
