//! Findings as a whole: in order, counted, and in the format that is asked for.

use std::{collections::HashSet, fmt::Write as _};

use serde_json::{Value, json};

use super::{
    Finding, Severity,
    listed::{LeftOut, select},
    sarif, text,
};
use crate::foreign::{OF_THIS_COMMAND, in_lines};

/// Format of the findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Format {
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

/// Sorts findings by file, position and severity, with the notes last. Drops repeated findings.
#[must_use]
pub fn in_order(mut findings: Vec<Finding>) -> Vec<Finding> {
    let mut seen = HashSet::new();
    findings.retain(|finding| seen.insert(finding.identity()));
    findings.sort_by_key(|finding| {
        let place = finding.place.as_ref();
        let place = place.map(|place| (place.source.name.clone(), place.span.start));
        (finding.severity == Severity::Note, place, finding.severity)
    });
    findings
}

/// Counts the findings of a severity.
#[must_use]
pub fn count(findings: &[Finding], severity: Severity) -> usize {
    findings
        .iter()
        .filter(|finding| finding.severity == severity)
        .count()
}

/// Returns `2 errors and 1 warning`.
#[must_use]
pub fn counts(findings: &[Finding]) -> String {
    let parts = [Severity::Error, Severity::Warning];
    let parts = parts.into_iter().filter_map(|it| describe(findings, it));
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() {
        "no errors".to_owned()
    } else {
        parts.join(" and ")
    }
}

/// Returns `2 errors`, or `None` if there are none.
#[must_use]
pub fn describe(findings: &[Finding], severity: Severity) -> Option<String> {
    match count(findings, severity) {
        0 => None,
        1 => Some(format!("1 {}", severity.as_str())),
        many => Some(format!("{many} {}s", severity.as_str())),
    }
}

/// Writes the findings in a format.
#[must_use]
pub fn write(findings: &[Finding], format: Format) -> String {
    let (listed, left_out) = select(findings);
    match format {
        Format::Text => text::render(&listed, &left_out),
        Format::Json => pretty(&json_document(&listed, &left_out)),
        Format::Sarif => pretty(&sarif::document(&listed, &left_out)),
        Format::Github => {
            let findings = listed.into_iter().map(annotation);
            findings.chain(left_out.iter().map(notice)).collect()
        }
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn json_document(findings: &[&Finding], left_out: &[LeftOut<'_>]) -> Value {
    let findings = findings.iter().map(|finding| as_json(finding));
    let mut document = json!({ "findings": findings.collect::<Vec<_>>() });
    if !left_out.is_empty() {
        let left_out = left_out
            .iter()
            .map(|LeftOut { file, count }| json!({ "file": file, "count": count }));
        document["leftOut"] = left_out.collect();
    }
    document
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

/// Returns `::error file=...,line=...::message`, as GitHub Actions reads it from a log.
fn annotation(finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::Note => "notice",
        other => other.as_str(),
    };
    let mut out = format!("::{level}{OF_THIS_COMMAND} {}", finding.rule.id());
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

/// Returns the annotation for the findings that are left out.
fn notice(left_out: &LeftOut<'_>) -> String {
    let file = left_out.file.map(property);
    let file = file.map_or_else(String::new, |file| format!(",file={file}"));
    format!(
        "::notice{OF_THIS_COMMAND}{file}::{}\n",
        data(&left_out.to_string())
    )
}

fn data(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D");
    in_lines(&text.replace('\n', "%0A"))
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

impl Finding {
    /// Returns an error for commands that cannot continue.
    #[must_use]
    pub fn as_error(&self) -> anyhow::Error {
        let text = write(std::slice::from_ref(self), Format::Text);
        // Colours of a report are no part of an error: they would be shown as escapes.
        let text = anstream::adapter::strip_str(text.trim_end());
        anyhow::anyhow!("{text}")
    }

    /// Returns message, label and help in one line, for formats that show nothing else.
    #[must_use]
    pub fn one_line(&self) -> String {
        let mut text = self.message.clone();
        for more in [&self.label, &self.help].into_iter().flatten() {
            text.push_str("; ");
            text.push_str(more);
        }
        text
    }
}
