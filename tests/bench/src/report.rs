//! Measurements as Markdown: on the terminal and in the documentation.

mod figures;

use std::fmt::Write;

use crate::measure::{Measured, Quantiles, RequestCount, Row, Shape, Start, Subject, float};

pub(crate) use figures::{attacked, chained, edited, held, left_alone};

/// Returns all tables.
pub(crate) fn tables(measured: &Measured) -> String {
    let mut text = format!("\nMeasured on {}.\n", measured.machine);
    if let Some(idle) = measured.idle_mib {
        let _ = writeln!(
            text,
            "\nMemory of the controller before any Runnable: {idle:.1} MiB."
        );
    }
    text += &compared(&measured.rows);
    for row in &measured.rows {
        text += &requests(row.subject.title(), row.runs, &row.requests);
    }
    text += &growth(&measured.rows);
    text += &starts(&measured.starts);
    text += &shapes(&measured.shapes);
    measured.edits.iter().for_each(|edit| text += &edited(edit));
    measured.held.iter().for_each(|one| text += &held(one));
    measured.chains.iter().for_each(|one| text += &chained(one));
    text += &attacked(&measured.attacks);
    measured
        .idle
        .iter()
        .for_each(|idle| text += &left_alone(idle));
    text
}

/// Returns one table for each load of several subjects.
pub(crate) fn compared(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut rest = rows;
    while let Some(first) = rest.first() {
        let same = |row: &Row| row.scenario == first.scenario && row.runnables == first.runnables;
        let end = rest.iter().position(|row| !same(row)).unwrap_or(rest.len());
        let (group, others) = rest.split_at(end);
        if !is_growth(first) {
            text += &table(group);
        }
        rest = others;
    }
    text
}

fn is_growth(row: &Row) -> bool {
    matches!(row.scenario.as_str(), "scale" | "kinds")
}

struct Line {
    title: &'static str,
    cells: Vec<f64>,
    unit: &'static str,
}

fn table(group: &[Row]) -> String {
    let Some(first) = group.first() else {
        return String::new();
    };
    let plural = if first.runnables == 1 { "" } else { "s" };
    let heading = format!("{}: {} Runnable{plural}", first.scenario, first.runnables);
    let mut text = format!("\n### {heading}\n\n| |");
    for row in group {
        let _ = write!(text, " {} |", row.subject.title());
    }
    let ratios = ratio_columns(group);
    for (title, _) in &ratios {
        let _ = write!(text, " {title} |");
    }
    text += "\n|---|";
    text += &"---:|".repeat(group.len() + ratios.len());
    text += "\n";
    for line in lines(group) {
        let _ = write!(text, "| {} |", line.title);
        for cell in &line.cells {
            let _ = write!(text, " {}{} |", number(*cell), line.unit);
        }
        for (_, reference) in &ratios {
            let _ = write!(text, " {} |", ratio(group, &line, *reference));
        }
        text.push('\n');
    }
    text
}

/// Returns the columns that compare the controller with a reference.
fn ratio_columns(group: &[Row]) -> Vec<(&'static str, Subject)> {
    let there = |subject| group.iter().any(|row| row.subject == subject);
    let mut columns = vec![
        ("controller / two writes", Subject::TwoWrites),
        ("/ with conditions", Subject::WithConditions),
        ("controller / blind", Subject::Blind),
    ];
    columns.retain(|(_, subject)| there(*subject) && there(Subject::Controller));
    columns
}

fn ratio(group: &[Row], line: &Line, reference: Subject) -> String {
    let cell = |subject| {
        let column = group.iter().position(|row| row.subject == subject)?;
        line.cells.get(column).copied()
    };
    match (cell(Subject::Controller), cell(reference)) {
        (Some(own), Some(other)) if other > 0.0 => format!("{:.2}", own / other),
        _ => String::new(),
    }
}

fn lines(group: &[Row]) -> Vec<Line> {
    let line = |title, unit, cell: &dyn Fn(&Row) -> f64| Line {
        title,
        unit,
        cells: group.iter().map(cell).collect(),
    };
    let mut lines = vec![
        line("runs", "", &|row| float(row.runs as u64)),
        line("runs a second", "", &|row| row.runs_per_second),
    ];
    let titles = [
        [
            "change to run, p50",
            "change to run, p95",
            "change to run, p99",
            "change to run, max",
        ],
        [
            "success to output, p50",
            "success to output, p95",
            "success to output, p99",
            "success to output, max",
        ],
    ];
    let latencies: [fn(&Row) -> Quantiles; 2] =
        [|row| row.change_to_run, |row| row.success_to_output];
    for ([p50, p95, p99, max], of) in titles.into_iter().zip(latencies) {
        lines.extend([
            line(p50, " ms", &|row| of(row).p50),
            line(p95, " ms", &|row| of(row).p95),
            line(p99, " ms", &|row| of(row).p99),
            line(max, " ms", &|row| of(row).max),
        ]);
    }
    lines.extend([
        line("change to output, p50", " ms", &|row| {
            row.change_to_output.p50
        }),
        line("CPU a run", " ms", &|row| row.cpu.own),
        line("CPU a run, API server", " ms", &|row| {
            row.cpu.api_server.unwrap_or(0.0)
        }),
        line("CPU a run, etcd", " ms", &|row| row.cpu.etcd.unwrap_or(0.0)),
        line("CPU a run, load generator", " ms", &|row| row.cpu.generator),
        line("allocated a run, API server", " KiB", &|row| {
            row.cpu.allocated.unwrap_or(0.0)
        }),
        line("memory, peak", " MiB", &|row| row.memory.peak),
        line("memory, settled", " MiB", &|row| row.memory.settled),
        line("writes a run", "", &Row::writes),
        line("reads a run", "", &Row::reads),
        line("duplicates", "", &|row| float(row.duplicates)),
        line("losses", "", &|row| float(row.losses)),
    ]);
    lines
}

/// Returns the requests of a subject for this many runs.
pub(crate) fn requests(whose: &str, runs: usize, requests: &[RequestCount]) -> String {
    if requests.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\nRequests of the {whose} for {runs} runs:\n\n| verb | resource | as | total | refused | a run |\n|---|---|---|---:|---:|---:|\n"
    );
    for request in requests {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {:.3} |",
            request.verb,
            request.resource,
            request.acting_as,
            request.total,
            request.refused,
            request.per_run
        );
    }
    text
}

/// Returns the growth of cost.
pub(crate) fn growth(rows: &[Row]) -> String {
    let rows: Vec<&Row> = rows.iter().filter(|row| is_growth(row)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n### Cost as it grows\n\n\
         | Runnables | runs each | kinds | runs a second | change to run, p50 | p99 | CPU a run | memory before | peak | settled | writes a run | reads a run | duplicates | losses |\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} ms | {} ms | {} ms | {} MiB | {} MiB | {} MiB | {} | {} | {} | {} |",
            row.runnables,
            row.runs_each,
            row.kinds,
            number(row.runs_per_second),
            number(row.change_to_run.p50),
            number(row.change_to_run.p99),
            number(row.cpu.own),
            number(row.memory.before),
            number(row.memory.peak),
            number(row.memory.settled),
            number(row.writes()),
            number(row.reads()),
            row.duplicates,
            row.losses
        );
    }
    text
}

/// Returns the starts on a cluster that has everything already.
pub(crate) fn starts(starts: &[Start]) -> String {
    if starts.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n### Starts on a cluster that has everything already\n\n\
         | Runnables | finished runs | until quiet | CPU | memory, peak | settled | writes | runs made | LISTs | GETs |\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for start in starts {
        text += &start_line(start);
    }
    text
}

fn start_line(start: &Start) -> String {
    format!(
        "| {} | {} | {:.1} s | {:.1} s | {} MiB | {} MiB | {} | {} | {} | {} |\n",
        start.runnables,
        start.runnables * start.runs_each,
        start.seconds,
        start.cpu_seconds,
        number(start.memory.peak),
        number(start.memory.settled),
        start.writes,
        start.creates,
        start.lists,
        start.reads
    )
}

/// Returns the cost of each sort of request for the API server.
pub(crate) fn shapes(shapes: &[Shape]) -> String {
    if shapes.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n#### By request\n\n| request | allocated | CPU | p50 |\n|---|---:|---:|---:|\n",
    );
    for shape in shapes {
        let _ = writeln!(
            text,
            "| {} | {:.0} KiB | {:.2} ms | {:.1} ms |",
            shape.request, shape.kib, shape.cpu, shape.latency.p50
        );
    }
    text
}

/// Formats a number with its significant digits.
pub(crate) fn number(value: f64) -> String {
    // The sum of nothing is -0.
    let value = value + 0.0;
    match value.abs() {
        v if v >= 100.0 || v.fract().abs() < f64::EPSILON => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_have_decimals_and_large_ones_none() {
        let numbers = [0.0, 3.0, 4.256, 42.42, 1234.5].map(number);
        assert_eq!(numbers, ["0", "3", "4.26", "42.4", "1234"]);
    }
}
