//! The table of plans and results.

use std::{collections::BTreeMap, fmt::Write};

use super::{campaign::Performed, plan::Outcome};

/// The results as a page of documentation.
#[must_use]
pub fn page(results: &[Performed], seconds: f64) -> String {
    let count =
        |wanted: fn(&Outcome) -> bool| results.iter().filter(|r| wanted(&r.outcome)).count();
    let mut page = format!(
        "# Fault plans\n\n\
         Written by `cargo faults run --docs docs/fault-plans.md`; every plan with its result is in\n\
         `target/faults/plans.json` afterwards. What a plan is and what it proves is told in\n\
         [Reliability](reliability.md).\n\n\
         | | plans |\n|---|---|\n\
         | carried out | {} |\n| held: the API server's record is that of the time without the fault | {} |\n\
         | undecidable, and listed below | {} |\n| not reached: the request did not come up in that run | {} |\n\
         | failed | {} |\n\nIt took {:.0} minutes.\n",
        results.len(),
        count(|o| *o == Outcome::Held),
        count(|o| matches!(o, Outcome::Undecidable(_))),
        count(|o| *o == Outcome::NotReached),
        count(|o| matches!(o, Outcome::Failed(_))),
        (seconds / 60.0).ceil(),
    );
    by_scenario(&mut page, results);
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

/// Faults down, scenarios across, and in each field how many plans held of how many were reached.
fn by_scenario(page: &mut String, results: &[Performed]) {
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
