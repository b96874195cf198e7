//! Schedules of retries, and their spread: steps that failed together do not come back together.

use std::time::Duration;

/// Steps of a Runnable, and writes of a status that the API server refused.
pub const STEPS: Schedule = Schedule::new(Duration::from_secs(1), Duration::from_mins(5), FIFTH);
/// Steps that changes elsewhere free again and again before their time: in the end once a minute at most.
pub const FREED: Schedule = Schedule::new(Duration::from_secs(1), Duration::from_secs(67), TENTH);
/// Creates after one that was refused, of the same run or another, while no user changes anything: three in the first
/// quarter of a minute, and then one a minute at most.
pub const REFUSALS: Schedule =
    Schedule::new(Duration::from_millis(1_250), Duration::from_secs(67), TENTH).growing(8);
/// Looks at the pods of a run of which none runs: most soon do.
pub const PODS: Schedule = Schedule::new(Duration::from_secs(30), Duration::from_mins(5), FIFTH);
/// Watches that fail for another reason than a permission.
pub const WATCHES: Schedule =
    Schedule::new(Duration::from_millis(500), Duration::from_secs(20), FIFTH);
/// Watches of one object that fail for another reason than a permission. There may be many of them.
pub const OBJECT_WATCHES: Schedule =
    Schedule::new(Duration::from_secs(1), Duration::from_mins(1), FIFTH);
/// Refused watches while no change of permissions is seen: authorizers other than the API server's may grant them.
pub const REFUSED_WATCHES: Schedule =
    Schedule::new(Duration::from_mins(1), Duration::from_mins(10), FIFTH);
/// Tasks that ended. There are few, and none waits for another.
pub const TASKS: Schedule = Schedule::new(
    Duration::from_secs(1),
    Duration::from_secs(30),
    Spread::NONE,
);
/// Reads that are retried within the same reconciliation.
pub const READS: Schedule = Schedule::new(
    Duration::from_millis(100),
    Duration::from_millis(200),
    Spread::NONE,
);

/// Time without success after which a watch or a discovery that is needed is reported, and its kind polled.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A tenth more or less: for delays that repeat in equal steps.
pub const TENTH: Spread = Spread { percent: 10 };
/// A fifth more or less.
pub const FIFTH: Spread = Spread { percent: 20 };
/// A half more or less: for retries that collided, so that they do not collide again.
pub const HALF: Spread = Spread { percent: 50 };

/// Share of a delay by which it may be shorter or longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    percent: u8,
}

impl Spread {
    /// No spread.
    const NONE: Self = Self { percent: 0 };

    /// Shortens or lengthens a delay at random.
    #[must_use]
    pub fn over(self, delay: Duration) -> Duration {
        if self == Self::NONE {
            return delay;
        }
        let part = f64::from(self.percent) / 100.0;
        delay.mul_f64((1.0 - part) + 2.0 * part * fastrand::f64())
    }
}

/// Delays that grow, as a rule twofold.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// The delay after the first failure.
    pub first: Duration,
    /// The longest delay, before its spread.
    pub longest: Duration,
    /// Factor between one delay and the next.
    growth: u32,
    spread: Spread,
}

impl Schedule {
    const fn new(first: Duration, longest: Duration, spread: Spread) -> Self {
        Self {
            first,
            longest,
            growth: 2,
            spread,
        }
    }

    /// Returns the schedule with another factor of growth.
    const fn growing(self, growth: u32) -> Self {
        Self { growth, ..self }
    }

    /// Returns the upper bound of all delays.
    #[must_use]
    pub fn latest(&self) -> Duration {
        self.longest
            .mul_f64(1.0 + f64::from(self.spread.percent) / 100.0)
    }

    /// Returns the delay after a failure that followed `failures` others in a row.
    #[must_use]
    pub fn delay(&self, failures: u32) -> Duration {
        let delay = self
            .first
            .saturating_mul(self.growth.saturating_pow(failures.min(16)));
        self.spread.over(delay.min(self.longest))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    use super::*;

    #[test]
    fn delays_grow_up_to_the_longest_and_are_spread_by_no_more_than_was_asked_for() {
        for schedule in [
            STEPS,
            FREED,
            REFUSALS,
            WATCHES,
            OBJECT_WATCHES,
            REFUSED_WATCHES,
            TASKS,
            READS,
        ] {
            let mut exact = schedule.first;
            for failures in 0..40 {
                let (delay, part) = (
                    schedule.delay(failures),
                    f64::from(schedule.spread.percent) / 100.0,
                );
                let range = exact.mul_f64(1.0 - part)..=exact.mul_f64(1.0 + part);
                assert!(range.contains(&delay), "{schedule:?} {failures} {delay:?}");
                exact = (exact * schedule.growth).min(schedule.longest);
            }
        }
    }

    #[test]
    fn a_spread_delay_uses_its_whole_range() {
        fastrand::seed(1);
        let second = Duration::from_secs(1);
        for (spread, part) in [(TENTH, 0.1), (FIFTH, 0.2), (HALF, 0.5)] {
            let drawn: Vec<f64> = (0..1_000)
                .map(|_| spread.over(second).as_secs_f64())
                .collect();
            let (least, most) = (
                drawn.iter().copied().fold(f64::MAX, f64::min),
                drawn.iter().copied().fold(f64::MIN, f64::max),
            );
            assert!(
                (1.0 - part..1.0 - 0.95 * part).contains(&least),
                "{spread:?} {least}"
            );
            assert!(
                (1.0 + 0.95 * part..1.0 + part).contains(&most),
                "{spread:?} {most}"
            );
        }
    }

    /// No other file draws a random delay, or doubles one.
    #[test]
    fn every_delay_is_drawn_here() -> std::io::Result<()> {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut folders = vec![src.clone()];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path != src.join("backoff.rs") {
                    let text = fs::read_to_string(&path)?;
                    let own = ["fastrand::f64", "* 2).min("];
                    if own.iter().any(|own| text.contains(own)) {
                        found.push(path);
                    }
                }
            }
        }
        assert_eq!(
            found,
            Vec::<PathBuf>::new(),
            "use a schedule or a spread of this file"
        );
        Ok(())
    }
}
