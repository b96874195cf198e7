//! The table of plans and results.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use super::{campaign::Performed, minutes::Waited, plan::Outcome};

/// Returns the results as a page of documentation. `all` is the number of plans.
#[must_use]
pub fn page(results: &[Performed], all: usize, long: &[Waited], took: Duration) -> String {
    let count =
        |wanted: fn(&Outcome) -> bool| results.iter().filter(|r| wanted(&r.outcome)).count();
    let mut page = format!(
        "# Fault plans\n\n\
         Each scenario plays once without faults, behind a proxy that records the requests of the controller.\n\
         Then it plays again for each of these requests, each event that the controller receives, and each\n\
         fault that fits. The request is lost, late, refused, or carried out without an answer. Or the\n\
         controller is killed before the request, when it was carried out, or when it was answered.\n\n\
         A plan holds if the API server's own record ends as it does without the fault: the same runs\n\
         created and deleted, and the same status. The record must also never show a number given twice, a\n\
         run that no ledger named before, or outputs that went back.\n\
         [Exactly once](../concepts/exactly-once.md) has the promises.\n\n\
         `cargo faults run --docs docs/internals/fault-plans.md` writes this page, and each plan with its\n\
         result into `target/faults/plans.json`.\n\n\
         | | plans |\n|---|---|\n\
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
    by_scenario(&mut page, results);
    lasting(&mut page, long);
    listed(&mut page, "Undecidable", results, |outcome| match outcome {
        Outcome::Undecidable(name) => Some(name.as_str()),
        _ => None,
    });
    listed(&mut page, "Failed", results, |outcome| match outcome {
        Outcome::Failed(why) => why.lines().next(),
        _ => None,
    });
    page
}

/// Writes faults down, scenarios across, and in each field the number of plans that held, of those reached.
fn by_scenario(page: &mut String, results: &[Performed]) {
    if results.is_empty() {
        return;
    }
    let mut scenarios: Vec<_> = results.iter().map(|r| r.plan.scenario).collect();
    scenarios.dedup();
    let mut fields = BTreeMap::<_, BTreeMap<_, (usize, usize)>>::new();
    for result in results {
        let row = fields.entry(result.plan.fault).or_default();
        let field = row.entry(result.plan.scenario).or_default();
        field.1 += usize::from(result.outcome != Outcome::NotReached);
        field.0 += usize::from(matches!(
            result.outcome,
            Outcome::Held | Outcome::Undecidable(_)
        ));
    }
    // Writing into a String cannot fail.
    let _ = write!(page, "\n## Plans that held, of those reached\n\n| |");
    for scenario in &scenarios {
        let _ = write!(page, " {} |", scenario.name());
    }
    let _ = write!(page, "\n|---|{}\n", "---|".repeat(scenarios.len()));
    for (fault, row) in fields {
        let _ = write!(page, "| {} |", fault.name());
        for scenario in &scenarios {
            let _ = match row.get(scenario) {
                None => write!(page, " |"),
                Some((held, reached)) => write!(page, " {held}/{reached} |"),
            };
        }
        page.push('\n');
    }
}

/// Writes the faults that last minutes, one by one.
fn lasting(page: &mut String, long: &[Waited]) {
    if long.is_empty() {
        return;
    }
    page.push_str("\n## Delays and partitions of minutes\n\n| | |\n|---|---|\n");
    for waited in long {
        let came = match &waited.outcome {
            Outcome::Failed(why) => why.lines().next().unwrap_or("failed"),
            _ => "every run made once, in order, and its outputs given",
        };
        // Writing into a String cannot fail.
        let _ = writeln!(page, "| {} | {came} |", waited.what.told());
    }
}

fn listed<'a>(
    page: &mut String,
    title: &str,
    results: &'a [Performed],
    why: impl Fn(&'a Outcome) -> Option<&'a str>,
) {
    let lines: Vec<String> = results
        .iter()
        .filter_map(|r| Some(format!("| {} | {} |", r.plan, why(&r.outcome)?)))
        .collect();
    if !lines.is_empty() {
        let _ = write!(
            page,
            "\n## {title}\n\n| plan | |\n|---|---|\n{}\n",
            lines.join("\n")
        );
    }
}
