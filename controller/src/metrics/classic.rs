//! Text format of Prometheus before OpenMetrics (0.0.4). Pure.
//!
//! Both have the same content for these metrics. The older one names a counter as its sample, and has no end mark and
//! no units.

use std::fmt::Write;

const COUNTER: &str = "counter";

/// Converts a text in the OpenMetrics format.
pub(super) fn from_open_metrics(text: &str) -> String {
    let counters: Vec<&str> = text.lines().filter_map(counter).collect();
    let mut classic = String::with_capacity(text.len());
    for line in text.lines() {
        let Some(comment) = line.strip_prefix("# ") else {
            classic.extend([line, "\n"]);
            continue;
        };
        let mut words = comment.splitn(3, ' ');
        let (Some(what @ ("HELP" | "TYPE")), Some(name), Some(rest)) =
            (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let suffix = if counters.contains(&name) {
            "_total"
        } else {
            ""
        };
        // Writing into a `String` cannot fail.
        let _ = writeln!(classic, "# {what} {name}{suffix} {rest}");
    }
    classic
}

/// Returns the name of the counter that this line declares.
fn counter(line: &str) -> Option<&str> {
    let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
    (kind == COUNTER).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_called_as_their_samples_and_nothing_else_differs() {
        let text = "\
# HELP runs Runs that were made.
# TYPE runs counter
runs_total{result=\"# TYPE x counter\"} 17
# HELP queue Waiting.
# TYPE queue gauge
# UNIT queue runs
queue 2
# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_sum 0.5
took_seconds_count 1
took_seconds_bucket{le=\"+Inf\"} 1
# EOF
";
        let classic = "\
# HELP runs_total Runs that were made.
# TYPE runs_total counter
runs_total{result=\"# TYPE x counter\"} 17
# HELP queue Waiting.
# TYPE queue gauge
queue 2
# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_sum 0.5
took_seconds_count 1
took_seconds_bucket{le=\"+Inf\"} 1
";
        assert_eq!(from_open_metrics(text), classic);
    }
}
