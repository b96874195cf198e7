//! Results of one scenario: a heading, and a figure on each line.

use std::fmt::{Display, Write};

use super::{number, requests, starts};
use crate::measure::{Attacked, Chained, Edit, Held, Idle, Quantiles};

/// A heading, and a table of names and values.
struct Figures(String);

impl Figures {
    fn of(title: &str) -> Self {
        Self(format!("\n### {title}\n\n| | |\n|---|---:|\n"))
    }

    fn line(&mut self, title: &str, value: impl Display) {
        let _ = writeln!(self.0, "| {title} | {value} |");
    }
}

fn ms(value: f64) -> String {
    format!("{} ms", number(value))
}

fn mib(value: f64) -> String {
    format!("{} MiB", number(value))
}

fn seconds(value: f64) -> String {
    format!("{value:.1} s")
}

/// Returns the figures of Runnables whose runs wait, or are retried.
pub(crate) fn held(held: &Held) -> String {
    let mut figures = Figures::of(&format!("{} Runnables, {}", held.runnables, held.what));
    let (run, output) = (&held.others_change_to_run, &held.others_change_to_output);
    figures.line("changes", held.changes);
    figures.line("runs", held.runs);
    figures.line(
        "runs of one Runnable at work at once, at most",
        held.at_once,
    );
    figures.line(
        "without the outputs of their last change at the end",
        held.losses,
    );
    figures.line(
        "from the first change to the last output",
        seconds(held.seconds),
    );
    figures.line("other Runnables meanwhile, change to run, p50", ms(run.p50));
    figures.line("p99", ms(run.p99));
    figures.line("max", ms(run.max));
    figures.line(
        "other Runnables meanwhile, change to output, max",
        ms(output.max),
    );
    figures.line("CPU a run", ms(held.cpu_ms_per_run));
    figures.line("memory before", mib(held.memory_before));
    figures.line("memory at most", mib(held.memory_peak));
    figures.0 + &requests("controller", held.all_runs, &held.requests)
}

/// Returns the figures of chains of Runnables.
pub(crate) fn chained(chained: &Chained) -> String {
    let Chained {
        chains, links, way, ..
    } = chained;
    let mut figures = Figures::of(&format!("{chains} chains of {links}, by {way}"));
    let output = &chained.change_to_last_output;
    figures.line("changes of heads", chained.changes);
    figures.line("runs", chained.runs);
    figures.line("seconds", format!("{:.1}", chained.seconds));
    figures.line("change to the output of the last link, p50", ms(output.p50));
    figures.line("max", ms(output.max));
    figures.line("CPU a run", ms(chained.cpu_ms_per_run));
    figures.0 + &requests("controller", chained.runs, &chained.requests)
}

/// Returns the figures of attacks, one line each.
pub(crate) fn attacked(attacks: &[Attacked]) -> String {
    if attacks.is_empty() {
        return String::new();
    }
    let mut text = "\n| attack | memory at most | requests a second at rest | status writes a second | others' change to run before, p50 (p95) | \
                    while it is made | at rest | p50 to before |\n|---|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let both = |it: &Quantiles| format!("{} ({}) ms", number(it.p50), number(it.p95));
    for it in attacks {
        let unserved = it.unserved.as_ref();
        let unserved = unserved.map(|it| format!("; {} unserved", both(it)));
        let _ = writeln!(
            text,
            "| {} | {} | {:.1} | {:.1} | {} | {}{} | {} | {:.2}, {:.2} |",
            it.attack,
            mib(it.memory_peak),
            it.requests,
            it.status_writes,
            both(&it.before),
            both(&it.beginning),
            unserved.unwrap_or_default(),
            both(&it.at_rest),
            it.beginning.p50 / it.before.p50,
            it.at_rest.p50 / it.before.p50,
        );
    }
    text
}

/// Returns the figures of one template edited under many Runnables.
pub(crate) fn edited(edit: &Edit) -> String {
    let title = format!("One template edited under {} Runnables", edit.runnables);
    let mut figures = Figures::of(&title);
    figures.line("until all have their new outputs", seconds(edit.seconds));
    figures.line(
        "runs a second, of this template",
        number(edit.runs_per_second),
    );
    figures.line(
        "runs a second, with those of other templates",
        number(edit.all_runs_per_second),
    );
    figures.line(
        "other Runnables meanwhile, change to run, p50",
        ms(edit.others_change_to_run.p50),
    );
    figures.line("p99", ms(edit.others_change_to_run.p99));
    figures.line("max", ms(edit.others_change_to_run.max));
    figures.line(
        "other Runnables meanwhile, change to output, max",
        ms(edit.others_change_to_output.max),
    );
    figures.line("CPU a run", ms(edit.cpu_ms_per_run));
    figures.line("memory before", mib(edit.memory_before));
    figures.line("memory, peak", mib(edit.memory_peak));
    figures.line("duplicates", edit.duplicates);
    figures.line("losses", edit.losses);
    figures.0 + &requests("controller", edit.runnables, &edit.requests)
}

/// Returns the figures of a controller without work.
pub(crate) fn left_alone(idle: &Idle) -> String {
    let text = format!(
        "\n### {} Runnables with {} finished runs left alone for {:.0} s\n\n\
         Writes: {} (events too). CPU: {:.2} s.\n",
        idle.runnables,
        idle.runnables * idle.runs_each,
        idle.seconds,
        idle.writes,
        idle.cpu_seconds
    );
    let text = text + &requests("controller", 0, &idle.requests);
    text + "\nStarted again:\n" + &starts(std::slice::from_ref(&idle.restart))
}
