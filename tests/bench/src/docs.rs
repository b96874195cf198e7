//! Writes measurements into `docs/internals/performance.md`, between its markers, and the plots beside it.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use cartouche_tests::repository;

use crate::{
    measure::{Measured, Row, Subject, float},
    plot::{Line, Plot},
    report,
};

/// Puts everything in these files, which `--json` wrote, into the documentation.
pub(crate) fn write(files: &[PathBuf]) -> Result<()> {
    let mut all = Measured::default();
    for file in files {
        let reading = || format!("reading {}", file.display());
        let text = fs::read_to_string(file).with_context(reading)?;
        let one: Measured = serde_json::from_str(&text).with_context(reading)?;
        all.machine = one.machine;
        all.idle_mib = one.idle_mib.or(all.idle_mib);
        all.rows.extend(one.rows);
        all.starts.extend(one.starts);
        all.edits.extend(one.edits);
        all.held.extend(one.held);
        all.chains.extend(one.chains);
        all.idle.extend(one.idle);
        all.shapes.extend(one.shapes);
        all.attacks.extend(one.attacks);
    }
    let page = repository().join("docs/internals/performance.md");
    let mut text =
        fs::read_to_string(&page).with_context(|| format!("reading {}", page.display()))?;
    for (name, content) in sections(&all) {
        if !content.is_empty() {
            text = filled(&text, name, &content)
                .with_context(|| format!("{} has no place for {name}", page.display()))?;
        }
    }
    fs::write(&page, text).with_context(|| format!("writing {}", page.display()))?;
    let folder = repository().join("docs/internals/performance");
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    for (name, plot) in plots(&all) {
        if plot.lines.iter().any(|line| line.points.len() > 1) {
            let file = folder.join(format!("{name}.svg"));
            fs::write(&file, plot.svg()).with_context(|| format!("writing {}", file.display()))?;
        }
    }
    Ok(())
}

fn sections(all: &Measured) -> [(&'static str, String); 10] {
    let machine = match all.idle_mib {
        _ if all.rows.is_empty() => String::new(),
        Some(idle) => format!(
            "Measured on {}. Memory of the controller before any Runnable: {idle:.1} MiB.\n",
            all.machine
        ),
        None => format!("Measured on {}.\n", all.machine),
    };
    let hundred = all
        .rows
        .iter()
        .find(|row| row.subject == Subject::Controller && row.scenario == "together");
    let requests = hundred.map_or(String::new(), |row| {
        report::requests("controller", row.runs, &row.requests)
    });
    let edits: String = all.edits.iter().map(report::edited).collect();
    let held: String = all.held.iter().map(report::held).collect();
    let chains: String = all.chains.iter().map(report::chained).collect();
    let attacks = report::attacked(&all.attacks);
    let attacks = match attacks.as_str() {
        "" => attacks,
        _ => format!("Measured on {}.\n{attacks}", all.machine),
    };
    let idle: String = all.idle.iter().map(report::left_alone).collect();
    [
        ("machine", machine),
        ("compared", report::compared(&all.rows)),
        ("requests", requests),
        (
            "growth",
            report::growth(&all.rows) + &report::starts(&all.starts),
        ),
        ("template-edit", edits),
        ("lifecycle", held),
        ("chain", chains),
        ("idle", idle),
        ("shapes", report::shapes(&all.shapes)),
        ("attacks", attacks),
    ]
}

/// Returns the page with new content between the markers of a name.
fn filled(page: &str, name: &str, content: &str) -> Option<String> {
    let begin = format!("<!-- bench-cluster {name} -->\n");
    let end = format!("<!-- /bench-cluster {name} -->");
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!(
        "{before}{begin}{}\n\n{end}{after}",
        content.trim_matches('\n')
    ))
}

fn plots(all: &Measured) -> [(&'static str, Plot); 3] {
    let subjects = [
        Subject::Controller,
        Subject::Blind,
        Subject::WithConditions,
        Subject::TwoWrites,
    ];
    let loaded = |row: &&Row| matches!(row.scenario.as_str(), "load" | "alone" | "together");
    let latency = subjects.map(|subject| {
        let rows = all.rows.iter().filter(loaded);
        let rows = rows.filter(|row| row.subject == subject);
        line(
            subject.title(),
            rows.map(|row| (float(row.runnables as u64), row.change_to_run.p50)),
        )
    });
    let memory = ["peak", "settled"].map(|which| {
        let starts = all.starts.iter();
        line(
            which,
            starts.map(|start| {
                let objects = float((start.runnables * (1 + start.runs_each)) as u64);
                let memory = if which == "peak" {
                    start.memory.peak
                } else {
                    start.memory.settled
                };
                (objects, memory)
            }),
        )
    });
    let cpu = |scenario: &str, name: &str, x: fn(&Row) -> usize| {
        let rows = all.rows.iter().filter(|row| row.scenario == scenario);
        line(name, rows.map(|row| (float(x(row) as u64), row.cpu.own)))
    };
    let cost = vec![
        cpu("scale", "by Runnables and finished runs", |row| {
            row.runnables * (1 + row.runs_each)
        }),
        cpu("kinds", "by kinds", |row| row.kinds),
    ];
    [
        (
            "latency-load",
            plot(
                "Change to run (median)",
                "Runnables changing together",
                "ms",
                latency.into(),
            ),
        ),
        (
            "memory-objects",
            plot(
                "Memory of the controller",
                "Runnables and runs in the cluster",
                "MiB",
                memory.into(),
            ),
        ),
        (
            "cost-growth",
            plot(
                "CPU time of the controller for a run",
                "objects, or kinds",
                "ms",
                cost,
            ),
        ),
    ]
}

fn plot(title: &str, x: &str, y: &str, mut lines: Vec<Line>) -> Plot {
    lines.retain(|line| !line.points.is_empty());
    Plot {
        title: title.to_owned(),
        x: x.to_owned(),
        y: y.to_owned(),
        lines,
    }
}

fn line(name: &str, points: impl Iterator<Item = (f64, f64)>) -> Line {
    let mut points: Vec<(f64, f64)> = points.collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points.dedup_by(|later, earlier| (later.0 - earlier.0).abs() < f64::EPSILON);
    Line {
        name: name.to_owned(),
        points,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_markers_is_replaced() {
        let page = "a\n<!-- bench-cluster x -->\nold\n<!-- /bench-cluster x -->\nb\n";
        let filled = filled(page, "x", "\nnew\n").unwrap();
        assert_eq!(
            filled,
            "a\n<!-- bench-cluster x -->\nnew\n\n<!-- /bench-cluster x -->\nb\n"
        );
        assert_eq!(super::filled(page, "y", "new"), None);
    }
}
