//! How often a Runnable has run lately: a line of text in the status.

use std::{fmt, str::FromStr};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::history::time;

/// Counts runs in a window of time, under one generation of the Runnable and of its template.
///
/// It is written as `<generation> <template's uid> <template's generation> <begin of the window> <runs>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// The Runnable's generation while the runs were counted.
    pub generation: i64,
    /// The template's uid while the runs were counted.
    pub template_uid: String,
    /// The template's generation while the runs were counted.
    pub template_generation: i64,
    /// When the count began.
    pub window_start: Time,
    /// Runs since then.
    pub runs: i64,
}

impl fmt::Display for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            generation,
            template_uid,
            template_generation,
            window_start,
            runs,
        } = self;
        let begin = time(window_start);
        write!(
            f,
            "{generation} {template_uid} {template_generation} {begin} {runs}"
        )
    }
}

/// A line that says nothing of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoBreaker;

impl FromStr for Breaker {
    type Err = NoBreaker;

    fn from_str(line: &str) -> Result<Self, NoBreaker> {
        let values: Vec<&str> = line.split(' ').collect();
        let [generation, uid, template_generation, begin, runs] = values[..] else {
            return Err(NoBreaker);
        };
        let number = |value: &str| value.parse::<i64>().map_err(|_| NoBreaker);
        Ok(Self {
            generation: number(generation)?,
            template_uid: uid.to_owned(),
            template_generation: number(template_generation)?,
            window_start: Time(begin.parse().map_err(|_| NoBreaker)?),
            runs: number(runs)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaker() -> Breaker {
        Breaker {
            generation: 3,
            template_uid: "a-uid".to_owned(),
            template_generation: 7,
            window_start: Time("2026-01-02T03:04:05Z".parse().unwrap()),
            runs: 12,
        }
    }

    #[test]
    fn a_breaker_is_one_line() {
        let line = "3 a-uid 7 2026-01-02T03:04:05Z 12";
        assert_eq!(breaker().to_string(), line);
        assert_eq!(line.parse(), Ok(breaker()));
    }

    #[test]
    fn a_line_with_anything_else_is_none() {
        for line in [
            "",
            "3 a-uid 7 2026-01-02T03:04:05Z",
            "3 a-uid 7 2026-01-02T03:04:05Z 12 1",
            "3 a-uid 7 yesterday 12",
            "x a-uid 7 2026-01-02T03:04:05Z 12",
            "3 a-uid 7 2026-01-02T03:04:05Z 99999999999999999999",
        ] {
            assert_eq!(line.parse::<Breaker>(), Err(NoBreaker), "{line}");
        }
    }
}
