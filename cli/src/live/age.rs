//! Times as people read them.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

/// `5s`, `3m`, `2h`, `4d`: between two times.
pub(crate) fn span(from: Timestamp, to: Timestamp) -> String {
    let seconds = (to.as_second() - from.as_second()).max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How long ago; empty if that is not known.
pub(crate) fn ago(time: Option<&Time>) -> String {
    time.map_or_else(String::new, |time| span(time.0, Timestamp::now()))
}

/// How long something took; empty while it goes on.
pub(crate) fn took(start: Option<&Time>, end: Option<&Time>) -> String {
    start
        .zip(end)
        .map_or_else(String::new, |(start, end)| span(start.0, end.0))
}

#[cfg(test)]
mod tests {
    use super::*;

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
