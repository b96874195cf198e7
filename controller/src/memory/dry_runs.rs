//! Limit of the dry runs of what waits for approval.

use std::time::Duration;

use cartouche_protocol::facts::DryRun;

/// Maximum number of dry runs of a Runnable within a minute. What is rendered may change again and again.
pub const MOST_DRY_RUNS: u32 = 6;
/// Window of that limit.
const DRY_RUN_WINDOW: Duration = Duration::from_mins(1);

/// Recent dry runs.
#[derive(Debug, Default)]
pub struct DryRuns {
    since: Duration,
    asked: u32,
    /// Digest of the last question, and its answer: the status may not have it yet.
    last: Option<(u64, DryRun)>,
}

impl DryRuns {
    /// Counts a request for a dry run. Returns true if it is allowed.
    pub fn try_ask(&mut self, now: Duration) -> bool {
        if self.asked == 0 || now.saturating_sub(self.since) >= DRY_RUN_WINDOW {
            (self.since, self.asked) = (now, 0);
        }
        self.asked += 1;
        self.asked <= MOST_DRY_RUNS
    }

    /// Returns the answer to this question, if it is the last one.
    #[must_use]
    pub fn answer(&self, about: u64) -> Option<DryRun> {
        let last = self.last.as_ref().filter(|(last, _)| *last == about);
        last.map(|(_, answer)| answer.clone())
    }

    /// Keeps the server's answer to this question.
    pub fn keep_answer(&mut self, about: u64, answer: &DryRun) {
        self.last = Some((about, answer.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_kept_until_another_is_asked_for() {
        let mut runs = DryRuns::default();
        runs.keep_answer(1, &DryRun::Accepted);
        assert!(runs.answer(1).is_some() && runs.answer(2).is_none());
        runs.keep_answer(2, &DryRun::Unknown(String::new()));
        assert!(runs.answer(1).is_none());
    }

    #[test]
    fn the_server_is_asked_a_few_times_a_minute_about_what_waits_for_a_person() {
        let mut runs = DryRuns::default();
        let mut asked = |seconds| runs.try_ask(Duration::from_secs(seconds));
        let within: Vec<bool> = (0..10).map(&mut asked).collect();
        assert_eq!(within.iter().filter(|may| **may).count(), 6);
        assert!(!asked(59));
        assert!(asked(61));
    }
}
