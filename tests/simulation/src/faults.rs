//! What becomes of requests while there is trouble.

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use http::Method;

use crate::requests::{Call, Target};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// It is served.
    Served,
    /// It never arrives, and is never answered.
    Lost,
    /// It is refused with this status, and has no effect.
    Refused(u16),
    /// It has its effect after this time.
    Late(Duration),
    /// It has its effect; the answer comes after this time.
    Slow(Duration),
    /// It has its effect; no answer ever comes.
    Unanswered,
    /// It has its effect, and is answered with this status all the same.
    Belied(u16),
    /// It has its effect; the connection ends without an answer.
    Reset,
    /// It has its effect; the connection ends in the middle of the answer.
    Truncated,
}

/// What becomes of a watch that was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WatchFate {
    /// How late every event is.
    pub lag: Duration,
    /// After this time nothing is told for a while.
    pub stall: Option<(Duration, Duration)>,
    /// The connection ends after this time.
    pub cut: Option<Duration>,
    /// It says at once that its history is gone.
    pub expired: bool,
}

/// How much goes wrong.
pub struct Faults {
    random: fastrand::Rng,
    /// How likely a request meets one.
    pub chance: f64,
    /// Whether the accounts may create no runs.
    pub forbidden: bool,
    /// True if a watch of runs fails for one of the controllers, for good.
    pub deaf: bool,
    /// How often there was which.
    pub counts: Counts,
}

/// How often there was what.
pub type Counts = BTreeMap<String, usize>;

/// Counts a fault by its kind.
pub fn count(counts: &mut Counts, fault: &impl Debug) {
    let name = format!("{fault:?}");
    let kind = name.trim_matches('"').split('(').next().unwrap_or_default();
    *counts.entry(kind.to_owned()).or_default() += 1;
}

/// Answers that say nothing of the effect.
const FAILURES: [u16; 4] = [429, 500, 503, 504];

impl Faults {
    /// As many as `chance` says.
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

    /// What becomes of a request that is no watch.
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

    /// How many versions a list of a whole cluster is behind. What the protocol reads consistently
    /// is read by name, or in one namespace.
    pub fn behind(&mut self, call: &Call) -> u64 {
        let everywhere = matches!(call.target(), Target::All(resource, namespace) if namespace.is_empty() && resource.is_namespaced());
        if everywhere && self.strikes() {
            count(&mut self.counts, &"StaleList");
            self.random.u64(..40)
        } else {
            0
        }
    }

    /// What becomes of a watch.
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
