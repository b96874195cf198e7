//! The fate of requests while there is trouble.

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use http::Method;

use crate::requests::{Call, Target};

/// The fate of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// It is served.
    Served,
    /// It never arrives, and is never answered.
    Lost,
    /// It is refused with this status, and has no effect.
    Refused(u16),
    /// It takes effect after this time.
    Late(Duration),
    /// It takes effect; the answer comes after this time.
    Slow(Duration),
    /// It takes effect; no answer ever comes.
    Unanswered,
    /// It takes effect, and is still answered with this status.
    Belied(u16),
    /// It takes effect; the connection ends without an answer.
    Reset,
    /// It takes effect; the connection ends in the middle of the answer.
    Truncated,
}

/// The fate of an open watch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WatchFate {
    /// Delay of every event.
    pub lag: Duration,
    /// Time after which it is silent, and for how long.
    pub stall: Option<(Duration, Duration)>,
    /// Time after which the connection ends.
    pub cut: Option<Duration>,
    /// True if it reports at once that its history is gone.
    pub expired: bool,
}

/// Source of faults.
pub struct Faults {
    random: fastrand::Rng,
    /// Probability that a request meets one.
    pub chance: f64,
    /// True if the accounts may create no runs.
    pub forbidden: bool,
    /// True if a watch of runs fails for one of the controllers, for good.
    pub deaf: bool,
    /// Number of faults of each kind.
    pub counts: Counts,
}

/// Counts by name.
pub type Counts = BTreeMap<String, usize>;

/// Counts a fault by its kind.
pub fn count(counts: &mut Counts, fault: &impl Debug) {
    let name = format!("{fault:?}");
    let kind = name.trim_matches('"').split('(').next().unwrap_or_default();
    *counts.entry(kind.to_owned()).or_default() += 1;
}

/// Answers that reveal nothing of the effect.
const FAILURES: [u16; 4] = [429, 500, 503, 504];

impl Faults {
    /// Returns faults of this probability.
    #[must_use]
    pub fn new(random: fastrand::Rng, chance: f64) -> Self {
        Self {
            random,
            chance,
            forbidden: false,
            deaf: false,
            counts: Counts::new(),
        }
    }

    fn seconds(&mut self, most: f64) -> Duration {
        Duration::from_secs_f64(0.05 + self.random.f64() * most)
    }

    fn strikes(&mut self) -> bool {
        self.random.f64() < self.chance
    }

    /// Returns the fate of a request that is no watch.
    pub fn fate(&mut self, call: &Call) -> Fate {
        if !self.strikes() {
            return Fate::Served;
        }
        let fate = self.draw(call);
        count(&mut self.counts, &fate);
        fate
    }

    fn draw(&mut self, call: &Call) -> Fate {
        let failure = FAILURES[self.random.usize(..FAILURES.len())];
        if call.method == Method::GET {
            return match self.random.u8(..5) {
                0 => Fate::Lost,
                1 => Fate::Refused(failure),
                2 => Fate::Truncated,
                3 => Fate::Slow(self.seconds(5.0)),
                _ => Fate::Reset,
            };
        }
        match self.random.u8(..9) {
            0 => Fate::Lost,
            1 => Fate::Refused(failure),
            2 if call.is_create() => Fate::Refused(409),
            // The API server gives up a create after ten seconds.
            2 | 3 => Fate::Late(self.seconds(9.0)),
            4 => Fate::Slow(self.seconds(20.0)),
            5 => Fate::Unanswered,
            6 => Fate::Belied(failure),
            7 => Fate::Reset,
            _ => Fate::Truncated,
        }
    }

    /// Returns the number of versions that a list of a whole cluster is behind. The protocol's consistent
    /// reads are by name, or in one namespace.
    pub fn behind(&mut self, call: &Call) -> u64 {
        let everywhere = matches!(call.target(), Target::All(resource, namespace) if namespace.is_empty() && resource.is_namespaced());
        if everywhere && self.strikes() {
            count(&mut self.counts, &"StaleList");
            self.random.u64(..40)
        } else {
            0
        }
    }

    /// Returns the fate of a watch.
    pub fn watch_fate(&mut self) -> WatchFate {
        let mut fate = WatchFate::default();
        if self.chance == 0.0 {
            return fate;
        }
        if self.strikes() {
            fate.lag = self.seconds(3.0);
        }
        if self.strikes() {
            fate.stall = Some((self.seconds(20.0), self.seconds(60.0)));
        }
        if self.strikes() {
            fate.cut = Some(self.seconds(30.0));
        }
        fate.expired = self.strikes() && self.random.bool();
        let kinds = [
            ("WatchLags", !fate.lag.is_zero()),
            ("WatchStalls", fate.stall.is_some()),
            ("WatchCut", fate.cut.is_some()),
            ("WatchExpired", fate.expired),
        ];
        for (kind, _) in kinds.iter().filter(|(_, happens)| *happens) {
            count(&mut self.counts, kind);
        }
        fate
    }
}
