//! Counter of a Runnable's recent runs: a line of text in the status.

use std::{fmt, str::FromStr};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::line::time;

/// Counts runs in a window of time, under one generation of the Runnable and of its template.
///
/// It is written as `<generation> <template's uid> <template's generation> <begin of the window> <runs>`, and
/// ` <ancestors>` if its inputs come from other Runnables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// The Runnable's generation while the runs were counted.
    pub generation: i64,
    /// The template's uid while the runs were counted.
    pub template_uid: String,
    /// The template's generation while the runs were counted.
    pub template_generation: i64,
    /// Begin of the window.
    pub window_start: Time,
    /// Number of runs since then.
    pub runs: i64,
    /// Hash of the generations of the Runnables that its inputs derive from, while the runs were counted.
    pub ancestors: Option<String>,
}

impl fmt::Display for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            generation,
            template_uid,
            template_generation,
            window_start,
            runs,
            ancestors,
        } = self;
        let begin = time(window_start);
        write!(
            f,
            "{generation} {template_uid} {template_generation} {begin} {runs}"
        )?;
        let mut ancestors = ancestors.iter();
        ancestors.try_for_each(|ancestors| write!(f, " {ancestors}"))
    }
}

/// The error for a line that is not a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoBreaker;

impl FromStr for Breaker {
    type Err = NoBreaker;

    fn from_str(line: &str) -> Result<Self, NoBreaker> {
        let values: Vec<&str> = line.split(' ').collect();
        let (values, ancestors) = match values[..] {
            [.., ""] => return Err(NoBreaker),
            [_, _, _, _, _, ancestors] => (&values[..5], Some(ancestors)),
            _ => (&values[..], None),
        };
        let &[generation, uid, template_generation, begin, runs] = values else {
            return Err(NoBreaker);
        };
        let number = |value: &str| value.parse::<i64>().map_err(|_| NoBreaker);
        Ok(Self {
            generation: number(generation)?,
            template_uid: uid.to_owned(),
            template_generation: number(template_generation)?,
            window_start: Time(begin.parse().map_err(|_| NoBreaker)?),
            runs: number(runs)?,
            ancestors: ancestors.map(str::to_owned),
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
            ancestors: None,
        }
    }

    #[test]
    fn a_breaker_is_one_line() {
        let line = "3 a-uid 7 2026-01-02T03:04:05Z 12";
        assert_eq!(breaker().to_string(), line);
        assert_eq!(line.parse(), Ok(breaker()));
        let of_chain = Breaker {
            ancestors: Some("a1b2".to_owned()),
            ..breaker()
        };
        assert_eq!(of_chain.to_string(), format!("{line} a1b2"));
        assert_eq!(of_chain.to_string().parse(), Ok(of_chain));
    }

    #[test]
    fn a_line_with_anything_else_is_none() {
        for line in [
            "",
            "3 a-uid 7 2026-01-02T03:04:05Z",
            "3 a-uid 7 2026-01-02T03:04:05Z 12 1 2",
            "3 a-uid 7 2026-01-02T03:04:05Z 12 ",
            "3 a-uid 7 yesterday 12",
            "x a-uid 7 2026-01-02T03:04:05Z 12",
            "3 a-uid 7 2026-01-02T03:04:05Z 99999999999999999999",
        ] {
            assert_eq!(line.parse::<Breaker>(), Err(NoBreaker), "{line}");
        }
    }
}
