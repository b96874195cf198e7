//! Faults of one request, or of one event of a watch.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Time that an event is held back, and that a watch has nothing but bookmarks.
pub const HELD: Duration = Duration::from_secs(3);
/// Time that a late create is on its way: longer than the controllers of the plans wait.
pub const LATE: Duration = Duration::from_millis(2500);
/// Time that nothing goes through while the network is split.
pub const SPLIT: Duration = Duration::from_secs(4);

/// Duration of the faults that last minutes: longer than any deadline of a request, and than any silence that
/// a watch may have.
pub const MINUTES: Duration = Duration::from_mins(3);

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The controller dies before the request is sent.
    CrashBefore,
    /// The controller dies after the API server has carried the request out.
    CrashSent,
    /// The controller dies after it has read the answer, before its next request.
    CrashAnswered,
    /// The request is lost on its way and is never answered.
    Drop,
    /// The request is carried out and is never answered.
    LostReply,
    /// The request arrives and is carried out after the controller has given it up.
    Late,
    /// The connection breaks before the request is sent on.
    Reset,
    /// The connection breaks after the request was carried out.
    ResetAnswered,
    /// The request is carried out, and the answer is 504.
    TimeoutAnswered,
    /// 409 without effect: a conflict.
    Conflict,
    /// 429 with Retry-After, without effect.
    TooMany,
    /// 500 without effect.
    Internal,
    /// 503 without effect.
    Unavailable,
    /// The request is carried out, and the answer breaks off in the middle.
    Truncated,
    /// Nothing goes through for [`SPLIT`], neither requests nor events.
    Partition,
    /// The answer to a list is the one from before the scenario, as from an API server that lags.
    StaleList,
    /// This event and all later ones arrive [`HELD`] later.
    Delay,
    /// This event and all later ones wait for [`super::FaultProxy::let_pass`].
    Gate,
    /// The event is lost, and the watch ends with 410 Gone.
    Gone,
    /// The watch ends before the event.
    End,
    /// The event arrives twice.
    Twice,
    /// For [`HELD`] the watch has only bookmarks; then it ends.
    Bookmarks,
    /// For [`MINUTES`] the watch is silent, even about its end by the server; then it ends before the event.
    Silence,
}

impl Fault {
    /// Faults of requests that change something.
    pub const OF_WRITES: [Self; 13] = [
        Self::CrashBefore,
        Self::CrashSent,
        Self::CrashAnswered,
        Self::Drop,
        Self::LostReply,
        Self::Late,
        Self::Reset,
        Self::TimeoutAnswered,
        Self::Conflict,
        Self::TooMany,
        Self::Internal,
        Self::Unavailable,
        Self::Truncated,
    ];
    /// Faults of requests that read. A drop and a lost answer are the same here.
    pub const OF_READS: [Self; 9] = [
        Self::CrashBefore,
        Self::CrashSent,
        Self::CrashAnswered,
        Self::Drop,
        Self::Reset,
        Self::TooMany,
        Self::Internal,
        Self::Unavailable,
        Self::Truncated,
    ];
    /// Faults of the beginning of a watch.
    pub const OF_WATCHES: [Self; 4] = [
        Self::CrashBefore,
        Self::CrashAnswered,
        Self::Reset,
        Self::Unavailable,
    ];
    /// Faults of an event of a watch.
    pub const OF_EVENTS: [Self; 7] = [
        Self::CrashBefore,
        Self::Delay,
        Self::Gone,
        Self::End,
        Self::Twice,
        Self::Bookmarks,
        Self::Partition,
    ];

    /// Returns true if the controller dies of it.
    #[must_use]
    pub fn kills(self) -> bool {
        matches!(
            self,
            Self::CrashBefore | Self::CrashSent | Self::CrashAnswered
        )
    }

    /// Returns its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CrashBefore => "crash before",
            Self::CrashSent => "crash when sent",
            Self::CrashAnswered => "crash when answered",
            Self::Drop => "drop",
            Self::LostReply => "reply lost",
            Self::Late => "late",
            Self::Reset => "reset",
            Self::ResetAnswered => "reset when applied",
            Self::TimeoutAnswered => "applied, 504",
            Self::Conflict => "409",
            Self::TooMany => "429",
            Self::Internal => "500",
            Self::Unavailable => "503",
            Self::Truncated => "truncated",
            Self::Partition => "partition",
            Self::StaleList => "stale list",
            Self::Delay => "delay",
            Self::Gate => "gate",
            Self::Gone => "lost, then 410",
            Self::End => "end of stream",
            Self::Twice => "twice",
            Self::Bookmarks => "bookmarks only",
            Self::Silence => "silence",
        }
    }
}
