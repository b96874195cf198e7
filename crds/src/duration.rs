//! Durations in the notation of Go, as everywhere in Kubernetes.

use std::{str::FromStr, time::Duration};

/// Minimum duration of a field.
pub const SHORTEST_DURATION: &str = "1s";
/// Maximum duration of a field: a year.
pub const LONGEST_DURATION: &str = "8760h";
/// Maximum length in characters. The library panics at a number that overflows a duration, which takes more
/// characters.
const MAX_CHARACTERS: usize = 16;

/// Parses a duration such as `30s` or `1h30m`, from one second to 8760 hours. Returns `None` for any other text.
///
/// The definitions accept any text: a tool such as Flux with `force` deletes an object that the API server refuses
/// as invalid.
#[must_use]
pub fn duration(text: &str) -> Option<Duration> {
    let duration = parsed(text)?;
    let (shortest, longest) = (parsed(SHORTEST_DURATION)?, parsed(LONGEST_DURATION)?);
    (shortest..=longest).contains(&duration).then_some(duration)
}

fn parsed(text: &str) -> Option<Duration> {
    // A sign within the text makes the library panic, too.
    let is_plain = text
        .bytes()
        .all(|it| it.is_ascii_alphanumeric() || it == b'.');
    if text.len() > MAX_CHARACTERS || !is_plain {
        return None;
    }
    kube::core::Duration::from_str(text)
        .ok()
        .map(Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        let seconds = |text| duration(text).map(|duration| duration.as_secs_f64());
        assert_eq!(seconds("1s"), Some(1.0));
        assert_eq!(seconds("1m30s"), Some(90.0));
        assert_eq!(seconds("1.5h"), Some(5400.0));
        assert_eq!(seconds("8760h"), Some(31_536_000.0));
    }

    #[test]
    fn what_is_none_or_too_short_or_too_long_is_not_taken() {
        let short = [
            "", "10", "s", "-10s", "999ms", "0s", "8761h", "1d", "1 m", "\u{661}s", "1e9h", "NaNs",
            "infh",
        ];
        for text in short {
            assert_eq!(duration(text), None, "{text}");
        }
        for digits in 1..400 {
            let huge = "9".repeat(digits.max(5)) + "h";
            assert_eq!(duration(&huge), None, "{huge}");
        }
    }
}
