//! When something that failed is tried again: the schedules of this controller, and how they are spread so
//! that many that failed together do not come back together.

use std::time::Duration;

/// A step of a Runnable, or a status that the API server did not take.
pub const STEPS: Schedule = Schedule::new(Duration::from_secs(1), Duration::from_mins(5), FIFTH);
/// A step that something else has tried earlier than its time, again and again: in the end once a minute at most.
pub const FREED: Schedule = Schedule::new(Duration::from_secs(1), Duration::from_secs(67), TENTH);
/// A create after one that was refused, of the same run or another, while no person changes anything: three in the
/// first quarter of a minute, and then one a minute at most.
pub const REFUSALS: Schedule =
    Schedule::new(Duration::from_millis(1_250), Duration::from_secs(67), TENTH).growing(8);
/// A look at the pods of a run of which none runs: most soon do.
pub const PODS: Schedule = Schedule::new(Duration::from_secs(30), Duration::from_mins(5), FIFTH);
/// A watch that fails for another reason than a permission.
pub const WATCHES: Schedule =
    Schedule::new(Duration::from_millis(500), Duration::from_secs(20), FIFTH);
/// A watch of one object that fails for another reason than a permission. There may be many of them.
pub const OBJECT_WATCHES: Schedule =
    Schedule::new(Duration::from_secs(1), Duration::from_mins(1), FIFTH);
/// One that may not be had, while no change of permissions is heard of: others than the API server may give them.
pub const REFUSED_WATCHES: Schedule =
    Schedule::new(Duration::from_mins(1), Duration::from_mins(10), FIFTH);
/// A task that ended. There are few, and nobody is waited for.
pub const TASKS: Schedule = Schedule::new(
    Duration::from_secs(1),
    Duration::from_secs(30),
    Spread::NONE,
);
/// A read that is tried again within the same reconciliation.
pub const READS: Schedule = Schedule::new(
    Duration::from_millis(100),
    Duration::from_millis(200),
    Spread::NONE,
);

/// How long a watch or a discovery that is needed may be without success before that is reported, and its kind is polled.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Give or take a tenth: for what comes again and again in equal steps.
pub const TENTH: Spread = Spread { percent: 10 };
/// Give or take a fifth.
pub const FIFTH: Spread = Spread { percent: 20 };
/// Give or take a half: for those that met each other, so that they do not meet again.
pub const HALF: Spread = Spread { percent: 50 };

/// By how much a delay may be shorter or longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    percent: u8,
}

impl Spread {
    /// Not at all.
    const NONE: Self = Self { percent: 0 };

    /// A delay, shortened or lengthened at random.
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
    /// The longest delay.
    pub longest: Duration,
    /// By how much each delay is longer than the one before.
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

    /// The same, with delays that grow so many times.
    const fn growing(self, growth: u32) -> Self {
        Self { growth, ..self }
    }

    /// No delay is longer than this.
    #[must_use]
    pub fn latest(&self) -> Duration {
        self.longest
            .mul_f64(1.0 + f64::from(self.spread.percent) / 100.0)
    }

    /// The delay after a failure that so many `failures` in a row came before.
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

    /// No other file draws a delay, or doubles one.
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
