//! The pace of status writes: when a status that differs from the stored one is written. Pure; the time is an argument.
//!
//! What has happened is written at once: the ledger, outputs, and the status and reason of a condition. Words come with
//! patience: two processes may put the same thing differently, and what a run waits for may change many times a second.
//! So does all that is said of a run that waits.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use cartouche_crds::{PendingRun, RunnableStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::{
    category::Category,
    conditions::{STAMPED_OBJECT_CONDITION, WATCH_UNAVAILABLE},
    ledger::contested::digest_of,
    told,
};

/// The least time between two writes of one process that bring words only, or what they say of the same run that waits.
pub const WORDS_APART: Duration = Duration::from_secs(10);
/// The least time from a write of words to the next look at the Runnables that a waiting Runnable reads, and between two events that ask a
/// person about one number. Two that feed each other make ten requests each time, and one a second is allowed.
pub const LOOKS_APART: Duration = Duration::from_secs(20);
/// Conditions that one process may turn at once while no run waits, or for edits of the Runnable; after these, one each [`WORDS_APART`]. What a Runnable
/// reads may turn them without end, its own status among it.
const TURNS_AT_ONCE: u32 = 6;
/// How long the words of another process stand.
pub const OTHERS_STAND: Duration = Duration::from_secs(30);
/// How long messages stand that another process has put in place of the same messages of this one. Processes that
/// disagree make few writes in the long run: three of them one in ten minutes.
pub const REPEATED_AFTER: Duration = Duration::from_mins(30);

/// How much of a status is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum News {
    /// Nothing.
    Nothing,
    /// The text of a message, the hash of what waits and what approves it, or that a watch fails.
    Words,
    /// The status or reason of a condition, or the generation of what waits.
    Conditions,
    /// The objects that the same outputs are written to.
    Sinks,
    /// The ledger, outputs, or the generation that it is about.
    Ledger,
}

/// A status that is to follow the stored one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// How much is new.
    pub news: News,
    /// What waits, or what approves it, is another: a person may need to know that.
    has_other_pending: bool,
    /// It is about another generation than the stored one.
    is_of_other_generation: bool,
    /// The number of the run that waits, or waits no more.
    waits: Option<i64>,
    /// A digest of the words that are stored.
    before: u64,
    /// A digest of the words that are to follow.
    after: u64,
    /// A digest of what is to follow of the objects that outputs are written to, if nothing above it is new.
    sinks: Option<u64>,
}

impl Change {
    /// The status of a Runnable.
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

    /// The conditions of an object whose status has nothing else.
    #[must_use]
    pub fn of_conditions(stored: &[Condition], next: &[Condition]) -> Self {
        let news = if stored == next {
            News::Nothing
        } else if shown(stored).eq(shown(next)) {
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
    // What waits may change without end, and nothing is made of that. The conditions tell the generation too.
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
    // For which of its sources a run waits, and whether that one has failed, may change with each step of theirs.
    let is_held = is_of_dependencies(stored) && is_of_dependencies(next);
    let conditions = |status: &RunnableStatus| {
        let all = shown(&status.conditions);
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

/// Whether what waits does so for what its inputs come from.
fn is_of_dependencies(status: &RunnableStatus) -> bool {
    let reason = status.pending.as_ref().map(|it| it.reason.as_str());
    reason
        .and_then(Category::parse)
        .is_some_and(Category::is_of_dependencies)
}

/// Conditions without words. Watches fail for one process, and not for another.
fn shown(conditions: &[Condition]) -> impl Iterator<Item = (&str, &str, &str, Option<i64>)> {
    let all = conditions.iter();
    all.filter(|it| it.type_ != WATCH_UNAVAILABLE).map(|it| {
        let (name, status, reason) = (&*it.type_, &*it.status, &*it.reason);
        (name, status, reason, it.observed_generation)
    })
}

/// A status with what another one says of the objects that outputs are written to.
#[must_use]
pub fn with_sinks_of(status: RunnableStatus, of: &RunnableStatus) -> RunnableStatus {
    RunnableStatus {
        sinks: of.sinks.clone(),
        sensitive_outputs: of.sensitive_outputs.clone(),
        ..status
    }
}

/// A digest of what is said of the objects that these outputs are written to.
fn digest_of_sinks(status: &RunnableStatus) -> u64 {
    let sinks = (&status.sinks, &status.sensitive_outputs);
    digest_of((sinks, &status.outputs_from))
}

/// A digest of all that people read. The number of tries counts on while all else stays.
fn digest(conditions: &[Condition], pending: Option<&PendingRun>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for condition in conditions {
        let message = told::without_tries(&condition.message);
        (&condition.type_, &condition.status, &condition.reason).hash(&mut hasher);
        message.hash(&mut hasher);
    }
    if let Some(pending) = pending {
        (pending.sequence, &pending.input_hash, &pending.reason).hash(&mut hasher);
        (&pending.approval, &pending.dry_run).hash(&mut hasher);
    }
    hasher.finish()
}

/// When a status is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Not at all.
    Never,
    /// Now.
    Now,
    /// After this time, if it still differs then.
    After(Duration),
}

/// What a process remembers of its writes of one status. Times are of a clock that goes on while the machine sleeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusPace {
    /// A digest of the words that this process wrote last, and when that was.
    told: Option<(u64, Duration)>,
    /// When it last wrote nothing but words.
    words_at: Option<Duration>,
    /// The number of the run that waits, and the time at which something of it was written last.
    waits_at: Option<(i64, Duration)>,
    /// Since when it would put the words of another process differently.
    differs_since: Option<Duration>,
    /// How often in a row it has written what another process had replaced.
    repeats: u32,
    /// When all turns of conditions that it wrote are made up for.
    turns_until: Duration,
    /// The pace of writes where another controller sees the objects that outputs are written to otherwise.
    sinks: ContestedPace,
}

impl StatusPace {
    /// When this change is to be written.
    pub fn due(&mut self, change: &Change, now: Duration) -> Due {
        let is_again = self.is_again(change);
        let told_at = self.told.map_or(now, |(_, at)| at);
        let until = match change.news {
            News::Nothing => {
                self.differs_since = None;
                return Due::Never;
            }
            News::Conditions if is_again => told_at + self.repeated(WORDS_APART),
            // An input may turn them fifty times a second. A person who edits the Runnable is answered.
            News::Conditions if change.waits.is_some() && !change.is_of_other_generation => {
                self.may_tell_of(change).unwrap_or(now)
            }
            News::Conditions => self
                .turns_until
                .saturating_sub(WORDS_APART * (TURNS_AT_ONCE - 1)),
            News::Sinks | News::Ledger => now,
            News::Words if self.has_told(change.before) => {
                let words = self.words_at.map(|at| at + WORDS_APART);
                words.max(self.may_tell_of(change)).unwrap_or(now)
            }
            News::Words if is_again && change.has_other_pending => {
                told_at + self.repeated(OTHERS_STAND)
            }
            News::Words if is_again => told_at + REPEATED_AFTER,
            News::Words => *self.differs_since.get_or_insert(now) + OTHERS_STAND,
        };
        match until.checked_sub(now).filter(|left| !left.is_zero()) {
            Some(left) => Due::After(left),
            None => Due::Now,
        }
    }

    /// How long what is said of the objects that outputs are written to stands as it is stored, if another controller sees them otherwise.
    /// All else is written meanwhile.
    #[must_use]
    pub fn holds_sinks(&self, change: &Change, now: Duration) -> Option<Duration> {
        self.sinks.left(change.sinks?, now)
    }

    /// This change was written.
    pub fn wrote(&mut self, change: &Change, now: Duration) {
        self.repeats = if self.is_again(change) {
            self.repeats.saturating_add(1)
        } else {
            0
        };
        match change.news {
            News::Words => self.words_at = Some(now),
            News::Conditions => self.turns_until = self.turns_until.max(now) + WORDS_APART,
            // Another run, or another spec, is another matter.
            News::Ledger => self.sinks = ContestedPace::default(),
            News::Nothing | News::Sinks => {}
        }
        if let Some(sinks) = change.sinks {
            self.sinks.wrote(sinks, now);
        }
        self.waits_at = change.waits.map(|waits| (waits, now)).or(self.waits_at);
        self.told = Some((change.after, now));
        self.differs_since = None;
    }

    /// The time from which something may be written again of the run that waits.
    fn may_tell_of(&self, change: &Change) -> Option<Duration> {
        let last = self
            .waits_at
            .filter(|(number, _)| change.waits == Some(*number));
        last.map(|(_, at)| at + WORDS_APART)
    }

    /// How long a waiting Runnable leaves the Runnables alone that it reads, if this process wrote words a moment ago.
    #[must_use]
    pub fn looks_after(&self, now: Duration) -> Option<Duration> {
        let left = (self.words_at? + LOOKS_APART).checked_sub(now);
        left.filter(|left| !left.is_zero())
    }

    /// When it was last of use.
    #[must_use]
    pub fn last(&self) -> Option<Duration> {
        self.told.map(|(_, at)| at).max(self.differs_since)
    }

    /// The pause before what another process has replaced is written again, longer each time.
    fn repeated(&self, first: Duration) -> Duration {
        let pause = first.saturating_mul(1 << self.repeats.min(16));
        pause.min(REPEATED_AFTER)
    }

    fn has_told(&self, words: u64) -> bool {
        self.told.is_some_and(|(told, _)| told == words)
    }

    /// Whether another process has put its words in place of just these.
    fn is_again(&self, change: &Change) -> bool {
        let is_told = self.has_told(change.after) && !self.has_told(change.before);
        is_told && !change.is_of_other_generation
    }
}

/// The pace at which a process writes once more what another release has put otherwise: the hash of a ledger, the sources of a
/// run, the record of its end; or what another controller sees otherwise of the objects that outputs are written to. Each puts
/// back its own: after half a minute, as the other may be about to end, and then every half an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContestedPace {
    /// A digest of what was written last, when that was, and how often in a row it was the same.
    last: Option<(u64, Duration, u32)>,
}

impl ContestedPace {
    /// The time until this may be written, if it is what was written last and that is not long ago.
    #[must_use]
    pub fn left(&self, what: u64, now: Duration) -> Option<Duration> {
        let (_, at, times) = self.last.filter(|(last, ..)| *last == what)?;
        let pause = if times == 0 {
            OTHERS_STAND
        } else {
            REPEATED_AFTER
        };
        (at + pause).checked_sub(now).filter(|left| !left.is_zero())
    }

    /// True if the same was written twice in a row. Once may be another matter.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.last.is_some_and(|(_, _, times)| times > 0)
    }

    /// It was written.
    pub fn wrote(&mut self, what: u64, now: Duration) {
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
