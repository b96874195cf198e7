//! The report on each object, from manifests or a cluster. Nothing here asks a cluster.

use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use anyhow::bail;
use cartouche_authoring::{
    foreign::in_one_line,
    objects::{Objects, namespace_of},
    render,
    source::Document,
    template_file,
};
use cartouche_language::{Diagnostic, DiagnosticKind};
use cartouche_templating::Context;
use clap::ValueEnum;
use serde_json::{Value, json};

use super::remarks::{self, Level, Remark};
use crate::outcome::{FOUND, GOOD, Outcome};

/// The engine's word for a label of a run.
const LABEL: &str = "a label";

/// Format of the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormat {
    #[default]
    Text,
    Json,
}

/// Object, with the remarks on it.
pub(super) struct ObjectRemarks {
    pub(super) object: String,
    pub(super) remarks: Vec<Remark>,
}

/// Reports on manifests, without knowledge of runs.
pub(super) fn of_files(paths: &[PathBuf], format: ReportFormat) -> anyhow::Result<Outcome> {
    let objects = Objects::load_rest(paths)?;
    let mut entries = Vec::new();
    for document in &objects.templates {
        let remarks = match template_file::spec(document) {
            Some(spec) => remarks::of_template(&spec),
            None => vec![Remark::new(
                Level::Change,
                "it has no spec.template: nothing runs",
            )],
        };
        entries.push(ObjectRemarks {
            object: format!("ClusterRunTemplate {}", document.name()),
            remarks,
        });
    }
    for document in &objects.runnables {
        let mut found = remarks::of_runnable(&document.value);
        found.extend(lost_labels(&objects, document));
        if objects.template_of(document).is_none() {
            found.push(Remark::new(
                Level::Unknown,
                "its template is not among these files, so it was not checked",
            ));
        }
        entries.push(ObjectRemarks {
            object: format!("Runnable {}", document.name()),
            remarks: found,
        });
    }
    entries.extend(objects.others.iter().filter_map(|document| {
        let kind = remarks::not_served(document.api_version(), document.kind())?;
        Some(ObjectRemarks {
            object: format!("{} {}", document.kind(), document.name()),
            remarks: vec![kind],
        })
    }));
    if entries.is_empty() && objects.is_whole() {
        bail!("there are no objects of carto.run in these files");
    }
    Ok(report(&entries, format).with_unreadable(&objects))
}

pub(super) fn report(entries: &[ObjectRemarks], format: ReportFormat) -> Outcome {
    let count = |level: Level| {
        let remarks = entries.iter().flat_map(|entry| &entry.remarks);
        remarks.filter(|remark| remark.level == level).count()
    };
    let (changes, differences) = (count(Level::Change), count(Level::Differs));
    let unknown = match count(Level::Unknown) {
        0 => String::new(),
        unknown => format!(", {unknown} unknown"),
    };
    let out = match format {
        ReportFormat::Json => {
            let entries: Vec<_> = entries.iter().map(as_json).collect();
            format!("{:#}\n", json!(entries))
        }
        ReportFormat::Text => {
            let entries: String = entries.iter().map(as_text).collect();
            format!("{entries}{changes} to change, {differences} that differ{unknown}\n")
        }
    };
    Outcome {
        out,
        code: if changes > 0 { FOUND } else { GOOD },
        ..Outcome::default()
    }
}

/// Returns remarks on labels that a tag turns into something other than text. Cartographer then left out all labels.
fn lost_labels(objects: &Objects, runnable: &Document) -> Vec<Remark> {
    let draft = objects.template_of(runnable).and_then(template_file::draft);
    let prepared = render::prepare(&runnable.value, namespace_of(runnable));
    let (Some(draft), Ok(context)) = (draft, Context::new(&prepared, None)) else {
        return Vec::new();
    };
    let problems = draft.attempt(&context, &[]).problems;
    let is_label =
        |it: &&Diagnostic| matches!(it.kind, DiagnosticKind::NotAText { what: LABEL, .. });
    let lost = problems.iter().filter(is_label).map(|problem| {
        let text = format!(
            "nothing runs: {problem}; Cartographer made runs without any label of the template"
        );
        Remark::new(Level::Change, text)
    });
    lost.collect()
}

fn as_json(entry: &ObjectRemarks) -> Value {
    let remarks = entry.remarks.iter();
    let remarks =
        remarks.map(|remark| json!({ "level": remark.level.as_str(), "text": remark.text }));
    json!({ "object": entry.object, "remarks": remarks.collect::<Vec<_>>() })
}

fn as_text(entry: &ObjectRemarks) -> String {
    let line = |Remark { level, text }: &Remark| {
        let style = style(*level);
        format!(
            "  {style}{:<8}{style:#} {}\n",
            level.as_str(),
            in_one_line(text)
        )
    };
    let lines: String = match entry.remarks.as_slice() {
        [] => line(&Remark::new(Level::Same, "works as before")),
        remarks => remarks.iter().map(line).collect(),
    };
    format!("{}\n{lines}", in_one_line(&entry.object))
}

fn style(level: Level) -> Style {
    match level {
        Level::Same => AnsiColor::Green.on_default(),
        Level::Differs => AnsiColor::Yellow.on_default(),
        Level::Change => AnsiColor::Red.on_default(),
        Level::Unknown => AnsiColor::Cyan.on_default(),
    }
}
