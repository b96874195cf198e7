//! Times in words for people.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

/// Returns the time between two instants, such as `5s`, `3m`, `2h`, `4d`.
pub(crate) fn span(from: Timestamp, to: Timestamp) -> String {
    let seconds = (to.as_second() - from.as_second()).max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Returns the time since an instant, or an empty text if it is unknown.
pub(crate) fn ago(time: Option<&Time>) -> String {
    time.map_or_else(String::new, |time| span(time.0, Timestamp::now()))
}

/// Returns the duration of a run, or an empty text while it is running. It ended at `end`, if known. The controller
/// saw the end at `seen`, which may be much later, for example after a lost status. Without `end` the result is
/// therefore an upper bound.
pub(crate) fn format_duration(
    start: Option<&Time>,
    end: Option<&Time>,
    seen: Option<&Time>,
) -> String {
    let Some((start, seen)) = start.zip(seen) else {
        return String::new();
    };
    // A time after `seen` is another end, and a time before the start comes from another clock.
    match end.filter(|end| start.0 <= end.0 && end.0 <= seen.0) {
        Some(end) => span(start.0, end.0),
        None => format!("<={}", span(start.0, seen.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_at_an_unknown_time_took_at_most_until_it_was_seen() {
        let at = |second: i64| Time(Timestamp::from_second(second).unwrap());
        let took = |end: Option<i64>, seen: Option<i64>| {
            let (end, seen) = (end.map(at), seen.map(at));
            format_duration(Some(&at(1_000)), end.as_ref(), seen.as_ref())
        };
        assert_eq!(took(Some(1_001), Some(1_090)), "1s");
        assert_eq!(took(None, Some(1_090)), "<=90s");
        assert_eq!(took(Some(1_200), Some(1_090)), "<=90s");
        assert_eq!(took(Some(900), Some(1_090)), "<=90s");
        assert_eq!(took(Some(1_001), None), "");
    }

    #[test]
    fn spans_have_one_unit() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (7_200, "2h"),
            (172_800, "2d"),
            (-5, "0s"),
        ] {
            assert_eq!(span(at(1_000), at(1_000 + seconds)), text);
        }
    }
}
