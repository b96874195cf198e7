//! The list of Runnables with `--watch`.

use std::{collections::BTreeMap, mem, pin::pin};

use anyhow::bail;
use cartouche_authoring::{foreign::in_one_line, yaml};
use cartouche_crds::Runnable;
use futures::StreamExt as _;
use kube::{
    ResourceExt as _,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};

use super::{AGE, GetArgs, Layout, ListFormat, name_line, nothing};
use crate::{
    cluster::{Cluster, as_json, explain_error},
    live::table::Columns,
    outcome::{Outcome, print, print_error},
};

/// Prints the Runnables and then each change, until the reader or the user ends it.
pub(super) async fn watch(
    args: &GetArgs,
    present: &[Runnable],
    cluster: &Cluster,
) -> anyhow::Result<Outcome> {
    let printer = Printer::with(Layout::from_args(args), args.output, present);
    let mut shown = Shown::default();
    let mut goes_on = print(&printer.header)?;
    for runnable in present {
        if shown.note_printed(runnable, &printer) {
            goes_on = goes_on && print(&printer.changed(runnable)?)?;
        }
    }
    print_error(&nothing(args, present.is_empty(), cluster))?;
    let api = cluster.runnable_api(args.all_namespaces);
    let mut events = pin!(watcher(api, configured(args)).default_backoff());
    let mut is_reported = false;
    while goes_on {
        let changes = match events.next().await {
            None => bail!("the watch has ended"),
            Some(Err(error)) => {
                interrupted(error, &mut is_reported)?;
                continue;
            }
            Some(Ok(event)) => {
                is_reported &= !is_back(&event);
                shown.take(event, |runnable| args.picks(runnable), &printer)
            }
        };
        for change in changes {
            let text = match &change {
                PrintedChange::Shown(runnable) => printer.changed(runnable)?,
                PrintedChange::Gone(runnable) => printer.gone(runnable),
            };
            goes_on = goes_on && print(&text)?;
        }
    }
    Ok(Outcome::default())
}

fn configured(args: &GetArgs) -> watcher::Config {
    let mut config = watcher::Config::default();
    if let Some(labels) = &args.selection.selector {
        config = config.labels(labels);
    }
    match args.names.as_slice() {
        [name] => config.fields(&format!("metadata.name={name}")),
        _ => config,
    }
}

/// Returns true once the API server answers again. A list that has only begun may fail as the one before did.
fn is_back(event: &Event<Runnable>) -> bool {
    !matches!(event, Event::Init | Event::InitApply(_))
}

/// Reports an interruption once; the watcher retries. Missing permissions are an error. A watch that is too old
/// restarts silently.
fn interrupted(error: watcher::Error, is_reported: &mut bool) -> anyhow::Result<()> {
    use watcher::Error;
    let error = match error {
        Error::WatchError(status) if status.code == 410 => return Ok(()),
        Error::InitialListFailed(error)
        | Error::WatchStartFailed(error)
        | Error::WatchFailed(error) => {
            let is_forbidden =
                matches!(&error, kube::Error::Api(status) if matches!(status.code, 401 | 403));
            let error = explain_error("watching Runnables", error);
            if is_forbidden {
                return Err(error);
            }
            error
        }
        error => error.into(),
    };
    if !mem::replace(is_reported, true) {
        let text = format!("{error:#}");
        let line = in_one_line(text.lines().next().unwrap_or_default());
        print_error(&format!("{line}; the command tries again\n"))?;
    }
    Ok(())
}

/// Writer of Runnables, one at a time.
struct Printer {
    layout: Layout,
    columns: Columns,
    header: String,
    output: ListFormat,
}

impl Printer {
    /// Makes a printer whose columns are wide enough for the Runnables present now.
    fn with(layout: Layout, output: ListFormat, present: &[Runnable]) -> Self {
        let rows: Vec<_> = present.iter().map(|it| layout.row(it)).collect();
        let columns = Columns::measure(&layout.header(), &rows);
        let header = match output {
            ListFormat::Table | ListFormat::Wide => columns.line(&layout.header()),
            ListFormat::Json | ListFormat::Yaml | ListFormat::Name => String::new(),
        };
        Self {
            layout,
            columns,
            header,
            output,
        }
    }

    fn changed(&self, runnable: &Runnable) -> anyhow::Result<String> {
        Ok(match self.output {
            ListFormat::Table | ListFormat::Wide => self.columns.line(&self.layout.row(runnable)),
            ListFormat::Json => format!("{}\n", as_json(runnable)?),
            ListFormat::Yaml => format!("---\n{}", yaml::text(&as_json(runnable)?)?),
            ListFormat::Name => name_line(runnable),
        })
    }

    /// Returns the row for a deleted Runnable; formats other than a table have none.
    fn gone(&self, runnable: &Runnable) -> String {
        if self.header.is_empty() {
            return String::new();
        }
        let header = self.layout.header();
        let row = self.layout.row(runnable).into_iter().zip(header);
        let cells = row.map(|(cell, column)| match column {
            "NAMESPACE" | "NAME" => cell,
            "REASON" => "Deleted".to_owned(),
            _ => String::new(),
        });
        self.columns.line(&cells.collect::<Vec<_>>())
    }

    /// Returns what has to differ for a Runnable to be printed again.
    fn mark(&self, runnable: &Runnable) -> Vec<String> {
        if self.header.is_empty() {
            return vec![runnable.resource_version().unwrap_or_default()];
        }
        let row = self.layout.row(runnable).into_iter();
        let row = row.zip(self.layout.header());
        row.filter(|(_, column)| *column != AGE)
            .map(|(cell, _)| cell)
            .collect()
    }
}

/// Change to print.
#[derive(Debug)]
enum PrintedChange {
    Shown(Box<Runnable>),
    Gone(Box<Runnable>),
}

type PrintedKey = (String, String);

fn key(runnable: &Runnable) -> PrintedKey {
    (
        runnable.namespace().unwrap_or_default(),
        runnable.name_any(),
    )
}

/// Last printed state of each Runnable.
#[derive(Default)]
struct Shown {
    printed: BTreeMap<PrintedKey, (Vec<String>, Runnable)>,
    /// While a new list arrives: the known Runnables that it has not contained yet.
    unseen: BTreeMap<PrintedKey, Runnable>,
}

impl Shown {
    /// Notes the Runnable, and returns true if it has to be printed.
    fn note_printed(&mut self, runnable: &Runnable, printer: &Printer) -> bool {
        let mark = printer.mark(runnable);
        let before = self
            .printed
            .insert(key(runnable), (mark.clone(), runnable.clone()));
        before.is_none_or(|(before, _)| before != mark)
    }

    fn take(
        &mut self,
        event: Event<Runnable>,
        picks: impl Fn(&Runnable) -> bool,
        printer: &Printer,
    ) -> Vec<PrintedChange> {
        match event {
            Event::Init => {
                let known = self.printed.iter();
                let known = known.map(|(key, (_, runnable))| (key.clone(), runnable.clone()));
                self.unseen = known.collect();
                Vec::new()
            }
            Event::InitApply(runnable) | Event::Apply(runnable) => {
                self.unseen.remove(&key(&runnable));
                self.changed(runnable, picks, printer).into_iter().collect()
            }
            Event::InitDone => {
                let gone = mem::take(&mut self.unseen).into_values();
                gone.filter_map(|runnable| self.gone(&runnable)).collect()
            }
            Event::Delete(runnable) => self.gone(&runnable).into_iter().collect(),
        }
    }

    fn changed(
        &mut self,
        runnable: Runnable,
        picks: impl Fn(&Runnable) -> bool,
        printer: &Printer,
    ) -> Option<PrintedChange> {
        let is_known = self.printed.contains_key(&key(&runnable));
        let is_picked = picks(&runnable);
        if !is_known && !is_picked {
            return None;
        }
        let is_news = self.note_printed(&runnable, printer);
        if !is_picked {
            // Printed once more, so that the user sees why it no longer matches.
            self.printed.remove(&key(&runnable));
        }
        is_news.then(|| PrintedChange::Shown(Box::new(runnable)))
    }

    fn gone(&mut self, runnable: &Runnable) -> Option<PrintedChange> {
        let (_, last) = self.printed.remove(&key(runnable))?;
        Some(PrintedChange::Gone(Box::new(last)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runnable(name: &str, ready: &str, version: &str) -> Runnable {
        serde_json::from_value(json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": name, "resourceVersion": version },
            "spec": { "runTemplateRef": { "name": "greet" } },
            "status": { "conditions": [{
                "type": "Ready", "status": ready, "reason": "R", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }] },
        }))
        .unwrap()
    }

    fn printer(output: ListFormat) -> Printer {
        let layout = Layout {
            namespaces: false,
            wide: false,
        };
        Printer::with(layout, output, &[])
    }

    /// Returns what is printed for some events, without colours and columns.
    fn printed(events: Vec<Event<Runnable>>, output: ListFormat, failed: bool) -> Vec<String> {
        let (printer, mut shown) = (printer(output), Shown::default());
        let picks = |runnable: &Runnable| !failed || super::super::ready(runnable).0 == "False";
        let mut lines = Vec::new();
        for event in events {
            for change in shown.take(event, picks, &printer) {
                let text = match &change {
                    PrintedChange::Shown(runnable) => printer.changed(runnable).unwrap(),
                    PrintedChange::Gone(runnable) => printer.gone(runnable),
                };
                let plain = anstream::adapter::strip_str(&text).to_string();
                let words: Vec<&str> = plain.split_whitespace().collect();
                lines.push(words.join(" "));
            }
        }
        lines
    }

    #[test]
    fn only_what_changes_a_row_is_printed() {
        let events = vec![
            Event::Apply(runnable("a", "Unknown", "1")),
            Event::Apply(runnable("a", "Unknown", "2")),
            Event::Apply(runnable("a", "True", "3")),
        ];
        let rows = printed(events.clone(), ListFormat::Table, false);
        assert_eq!(rows, ["a Unknown R", "a True R"]);
        let names = printed(events, ListFormat::Name, false);
        assert_eq!(names, ["runnable.carto.run/a"; 3]);
    }

    #[test]
    fn a_watch_that_begins_anew_tells_only_what_has_changed_meanwhile() {
        let events = vec![
            Event::Apply(runnable("a", "True", "1")),
            Event::Apply(runnable("b", "True", "2")),
            Event::Apply(runnable("c", "Unknown", "3")),
            Event::Init,
            Event::InitApply(runnable("a", "True", "1")),
            Event::InitApply(runnable("c", "True", "4")),
            Event::InitDone,
            Event::Delete(runnable("a", "True", "1")),
        ];
        let rows = printed(events, ListFormat::Table, false);
        let later = ["c True R", "b Deleted", "a Deleted"];
        assert_eq!(rows[3..], later);
    }

    #[test]
    fn one_that_is_no_longer_as_wanted_is_printed_once_more() {
        let events = ["True", "False", "Unknown", "True"]
            .into_iter()
            .zip(["1", "2", "3", "4"])
            .map(|(ready, version)| Event::Apply(runnable("a", ready, version)));
        let rows = printed(events.collect(), ListFormat::Table, true);
        assert_eq!(rows, ["a False R", "a Unknown R"]);
    }
}
