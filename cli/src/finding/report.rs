//! Findings as a whole: in order, counted, and in the format that is asked for.

use std::{collections::HashSet, fmt::Write as _};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::{Finding, Severity, sarif, text};

/// How findings are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people, with the source lines
    #[default]
    Text,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

/// Sorted by severity, file and line; what is said twice is said once.
pub(crate) fn in_order(mut findings: Vec<Finding>) -> Vec<Finding> {
    let mut seen = HashSet::new();
    findings.retain(|finding| seen.insert(finding.identity()));
    findings.sort_by_key(|finding| {
        let place = finding.place.as_ref();
        let place = place.map(|place| (place.source.name.clone(), place.span.start));
        (finding.severity == Severity::Note, place, finding.severity)
    });
    findings
}

/// How many there are of a severity.
pub(crate) fn count(findings: &[Finding], severity: Severity) -> usize {
    findings
        .iter()
        .filter(|finding| finding.severity == severity)
        .count()
}

/// `2 errors and 1 warning`.
pub(crate) fn counts(findings: &[Finding]) -> String {
    let counted = |severity: Severity| match count(findings, severity) {
        0 => None,
        1 => Some(format!("1 {}", severity.as_str())),
        many => Some(format!("{many} {}s", severity.as_str())),
    };
    let parts: Vec<_> = [Severity::Error, Severity::Warning]
        .into_iter()
        .filter_map(counted)
        .collect();
    if parts.is_empty() {
        "no errors".to_owned()
    } else {
        parts.join(" and ")
    }
}

/// The findings in a format.
pub(crate) fn write(findings: &[Finding], format: Format) -> String {
    match format {
        Format::Text => text::render(findings),
        Format::Json => {
            pretty(&json!({ "findings": findings.iter().map(as_json).collect::<Vec<_>>() }))
        }
        Format::Sarif => pretty(&sarif::document(findings)),
        Format::Github => findings.iter().map(annotation).collect(),
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn as_json(finding: &Finding) -> Value {
    let mut json = json!({
        "severity": finding.severity.as_str(),
        "rule": finding.rule.id(),
        "message": finding.message,
    });
    let mut set = |key: &str, value: Value| {
        if let Some(fields) = json.as_object_mut() {
            fields.insert(key.to_owned(), value);
        }
    };
    if let Some(place) = &finding.place {
        let (line, column) = place.line_and_column();
        set("file", place.source.name.as_str().into());
        set("line", line.into());
        set("column", column.into());
    }
    for (key, text) in [("label", &finding.label), ("help", &finding.help)] {
        if let Some(text) = text {
            set(key, text.as_str().into());
        }
    }
    if !finding.notes.is_empty() {
        set("notes", finding.notes.clone().into());
    }
    if !finding.related.is_empty() {
        let related = finding.related.iter().map(|(place, label)| {
            let (line, column) = place.line_and_column();
            json!({ "file": place.source.name, "line": line, "column": column, "message": label })
        });
        set("related", related.collect());
    }
    json
}

/// `::error file=...,line=...::message`, as GitHub Actions reads it from a log.
fn annotation(finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::Note => "notice",
        other => other.as_str(),
    };
    let mut out = format!("::{level} title=cartouche {}", finding.rule.id());
    if let Some(place) = &finding.place {
        let (line, column) = place.line_and_column();
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            ",file={},line={line},col={column}",
            property(&place.source.name)
        );
    }
    let _ = writeln!(out, "::{}", data(&finding.one_line()));
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

impl Finding {
    /// Message, label and help in one line, for formats that show nothing else.
    pub(crate) fn one_line(&self) -> String {
        let mut text = self.message.clone();
        for more in [&self.label, &self.help].into_iter().flatten() {
            text.push_str("; ");
            text.push_str(more);
        }
        text
    }
}
