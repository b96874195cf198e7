//! Fields of a later release that the present one must keep.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use cartouche_controller::mutants::{LATER_FIELD, LATER_VALUE, LATER_WORDS};
use cartouche_tests::fixture::objects::text;
use serde_json::Value;

/// Returns true if these words are of the later release.
pub(super) fn is_later(status: &Value) -> bool {
    let conditions = status["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|it| text(&it["message"]).ends_with(LATER_WORDS))
}

/// Returns the numbers of the runs of a status, with true for each that has the unknown field.
fn runs(status: &Value) -> impl Iterator<Item = (i64, bool)> {
    let unfinished = status["unfinishedRuns"].as_array();
    let objects = unfinished.into_iter().flatten();
    let objects = objects.chain([&status["currentRun"]]).map(|run| {
        let number = run["sequence"].as_i64().unwrap_or_default();
        (number, run[LATER_FIELD] == LATER_VALUE)
    });
    let lines = status["history"].as_array();
    let lines = lines.into_iter().flatten().map(|line| {
        let (mut words, pair) = (
            text(line).split(' '),
            format!("{LATER_FIELD}={LATER_VALUE}"),
        );
        let number = words.next().unwrap_or_default();
        (
            number.parse().unwrap_or_default(),
            words.any(|it| it == pair),
        )
    });
    objects.chain(lines)
}

/// Checks that a field that one release has written, and the other does not know, stays in every later
/// status. Returns how many times the present one had to keep it.
pub(super) fn no_field_was_lost(name: &str, statuses: &[(u64, Value)]) -> Result<usize> {
    let (mut has, mut having, mut kept) = (false, BTreeSet::new(), 0);
    for (_, status) in statuses {
        kept += usize::from(has && !is_later(status));
        let now = status[LATER_FIELD] == LATER_VALUE;
        ensure!(now || !has, "{name} has lost its field: {status:#}");
        has = now;
        for (number, now) in runs(status) {
            let lost = !now && having.contains(&number);
            ensure!(!lost, "{name}: run {number} has lost its field: {status:#}");
            having.extend(now.then_some(number));
        }
    }
    Ok(kept)
}
