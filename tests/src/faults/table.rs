//! The table of plans and results.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use super::{
    campaign::Performed,
    minutes::Waited,
    plan::{Outcome, Plan},
};

/// Returns the results as a page of documentation. `all` is the number of plans.
#[must_use]
pub fn page(results: &[Performed], all: usize, long: &[Waited], took: Duration) -> String {
    let count =
        |wanted: fn(&Outcome) -> bool| results.iter().filter(|r| wanted(&r.outcome)).count();
    let mut page = format!(
        "# Fault plans\n\n\
         A fault plan breaks one request or one event of one scenario, in one way. For example, the plan\n\
         `deleted-run: get trials.lab.test #1: crash before` kills the controller before its first read of a\n\
         run that a user has deleted.\n\n\
         Each scenario plays once without faults, behind a proxy that records the requests of the controller.\n\
         Then it plays again for each request, each event that the controller receives, and each fault that\n\
         fits. A plan holds if the audit log and the objects end as they do without the fault: the same runs\n\
         created and deleted, and the same status. They must never show a number given twice, a run that no\n\
         ledger named before, or outputs that went back. [Exactly once](../concepts/exactly-once.md) has the\n\
         promises.\n\n\
         You write this page with `cargo faults run --docs docs/internals/fault-plans.md`. Each plan with its\n\
         result is in `target/faults/plans.json` then.\n\n\
         | | plans |\n|---|---:|\n\
         | carried out, of {all} | {} |\n| held: the API server's record is the same as without the fault | {} |\n\
         | undecidable, and listed below | {} |\n| not reached: the request did not occur | {} |\n\
         | failed | {} |\n\nIt took {} minutes.\n",
        results.len(),
        count(|o| *o == Outcome::Held),
        count(|o| matches!(o, Outcome::Undecidable(_))),
        count(|o| *o == Outcome::NotReached),
        count(|o| matches!(o, Outcome::Failed(_))),
        took.as_secs().div_ceil(60),
    );
    if !results.is_empty() {
        page.push_str("\n## Plans that held, of those reached\n");
        count_by(&mut page, "fault", results, |plan| {
            (plan.fault, plan.fault.name().to_owned())
        });
        count_by(&mut page, "scenario", results, |plan| {
            (plan.scenario, plan.scenario.name())
        });
    }
    lasting(&mut page, long);
    list_undecidable(&mut page, results);
    list_failed(&mut page, results);
    page
}

/// Writes, for each fault or each scenario, the number of plans that held, of those reached.
fn count_by<K: Ord>(
    page: &mut String,
    title: &str,
    results: &[Performed],
    row_of: fn(&Plan) -> (K, String),
) {
    let mut rows = BTreeMap::<(K, String), (usize, usize)>::new();
    for result in results {
        let row = rows.entry(row_of(&result.plan)).or_default();
        row.0 += usize::from(matches!(
            result.outcome,
            Outcome::Held | Outcome::Undecidable(_)
        ));
        row.1 += usize::from(result.outcome != Outcome::NotReached);
    }
    // Writing into a String cannot fail.
    let _ = write!(page, "\n| {title} | plans |\n|---|---:|\n");
    for ((_, name), (held, reached)) in rows {
        let _ = writeln!(page, "| {name} | {held}/{reached} |");
    }
}

/// Writes the faults that last minutes, one by one.
fn lasting(page: &mut String, long: &[Waited]) {
    if long.is_empty() {
        return;
    }
    page.push_str(
        "\n## Delays and partitions of minutes\n\n\
         A fault holds if every run is made once and in order, and its outputs are given.\n\n\
         | fault | |\n|---|---|\n",
    );
    for waited in long {
        let came = match &waited.outcome {
            Outcome::Failed(why) => why.lines().next().unwrap_or("failed"),
            _ => "held",
        };
        // Writing into a String cannot fail.
        let _ = writeln!(page, "| {} | {came} |", waited.what.told());
    }
}

/// Writes how many plans of each scenario end in each state that cannot be decided.
fn list_undecidable(page: &mut String, results: &[Performed]) {
    let mut ends = BTreeMap::<_, usize>::new();
    for result in results {
        if let Outcome::Undecidable(end) = &result.outcome {
            *ends.entry((result.plan.scenario, end)).or_default() += 1;
        }
    }
    if ends.is_empty() {
        return;
    }
    page.push_str("\n## Undecidable\n\n| scenario | end | plans |\n|---|---|---:|\n");
    for ((scenario, end), plans) in ends {
        // Writing into a String cannot fail.
        let _ = writeln!(page, "| {} | {end} | {plans} |", scenario.name());
    }
}

/// Writes the plans that failed, one by one.
fn list_failed(page: &mut String, results: &[Performed]) {
    let lines: Vec<String> = results
        .iter()
        .filter_map(|result| match &result.outcome {
            Outcome::Failed(why) => Some(format!("| {} | {} |", result.plan, why.lines().next()?)),
            _ => None,
        })
        .collect();
    if !lines.is_empty() {
        // Writing into a String cannot fail.
        let _ = write!(
            page,
            "\n## Failed\n\n| plan | |\n|---|---|\n{}\n",
            lines.join("\n")
        );
    }
}
