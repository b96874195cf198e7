//! How often the API server was asked of late what it makes of what waits for a person.

use std::time::Duration;

/// Dry runs of what waits for a person, at most within a minute. What is rendered may change again and again.
pub const MOST_DRY_RUNS: u32 = 6;
/// That minute.
const DRY_RUN_WINDOW: Duration = Duration::from_mins(1);

/// The dry runs of a while.
#[derive(Debug, Default)]
pub struct DryRuns {
    since: Duration,
    asked: u32,
}

impl DryRuns {
    /// Whether one more may be asked for, which counts as asked.
    pub fn may_ask(&mut self, now: Duration) -> bool {
        if self.asked == 0 || now.saturating_sub(self.since) >= DRY_RUN_WINDOW {
            (self.since, self.asked) = (now, 0);
        }
        self.asked += 1;
        self.asked <= MOST_DRY_RUNS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_asked_a_few_times_a_minute_about_what_waits_for_a_person() {
        let mut runs = DryRuns::default();
        let mut asked = |seconds| runs.may_ask(Duration::from_secs(seconds));
        let within: Vec<bool> = (0..10).map(&mut asked).collect();
        assert_eq!(within.iter().filter(|may| **may).count(), 6);
        assert!(!asked(59));
        assert!(asked(61));
    }
}
