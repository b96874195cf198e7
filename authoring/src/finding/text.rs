//! Findings for people: the source line, a marker, and the cure.

use std::fmt::Write as _;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::{Finding, Severity, listed::LeftOut};
use crate::{
    foreign::{has_commands, in_lines, in_one_line},
    source::SourceSpan,
};

/// Renders findings with escape codes for colours. The caller removes these where there is no terminal.
pub(super) fn render(findings: &[&Finding], left_out: &[LeftOut<'_>]) -> String {
    let renderer = Renderer::styled();
    let mut out = String::new();
    for finding in findings {
        out.push_str(&renderer.render(&[group(&escaped(finding))]));
        out.push_str("\n\n");
    }
    for left_out in left_out {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{left_out}\n");
    }
    out
}

/// Returns a finding with its texts escaped, and without places that would show a value of a Secret. The library
/// escapes the lines of the source.
fn escaped(finding: &Finding) -> Finding {
    let place = finding.place.as_ref();
    let hidden = place.filter(|it| it.is_beside_secret());
    let hidden = hidden.map(|place| format!("it is in {}", place.describe()));
    let notes = hidden.iter().chain(&finding.notes);
    Finding {
        message: in_lines(&finding.message),
        place: place.filter(|_| hidden.is_none()).map(escaped_place),
        label: finding.label.as_deref().map(in_lines),
        related: finding
            .related
            .iter()
            .filter(|(place, _)| !place.is_beside_secret())
            .map(|(place, label)| (escaped_place(place), in_lines(label)))
            .collect(),
        notes: notes.map(|note| in_lines(note)).collect(),
        help: finding.help.as_deref().map(in_lines),
        ..*finding
    }
}

fn escaped_place(place: &SourceSpan) -> SourceSpan {
    if !has_commands(&place.source.name) {
        return place.clone();
    }
    SourceSpan {
        source: place.source.with_name(in_one_line(&place.source.name)),
        span: place.span.clone(),
    }
}

fn group(finding: &Finding) -> Group<'_> {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut group = Group::with_title(level.primary_title(&finding.message).id(finding.rule.id()));
    if let Some(place) = &finding.place {
        let label = finding.label.as_deref();
        let mut snippet =
            snippet(place).annotation(AnnotationKind::Primary.span(mark(place)).label(label));
        for (other, label) in related_in_same_file(finding, place) {
            snippet = snippet.annotation(AnnotationKind::Context.span(mark(other)).label(label));
        }
        group = group.element(snippet);
    }
    for (other, label) in &finding.related {
        let same = |place: &SourceSpan| place.source.name == other.source.name;
        if !finding.place.as_ref().is_some_and(same) {
            let mark = AnnotationKind::Context
                .span(mark(other))
                .label(label.as_str());
            group = group.element(snippet(other).annotation(mark));
        }
    }
    for note in &finding.notes {
        group = group.element(Level::NOTE.message(note));
    }
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(help));
    }
    group
}

fn related_in_same_file<'a>(
    finding: &'a Finding,
    place: &'a SourceSpan,
) -> impl Iterator<Item = (&'a SourceSpan, &'a str)> {
    finding
        .related
        .iter()
        .filter(|(other, _)| other.source.name == place.source.name)
        .map(|(other, label)| (other, label.as_str()))
}

fn snippet(place: &SourceSpan) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
    Snippet::source(place.source.text.as_str())
        .path(place.source.name.as_str())
        .fold(true)
}

/// Returns at least one character, at most to the end of the line: a marker over many lines hides more than it shows.
fn mark(place: &SourceSpan) -> std::ops::Range<usize> {
    let text = &place.source.text;
    let start = place.span.start.min(text.len());
    let rest = text.get(start..).unwrap_or_default();
    let line = rest.find('\n').unwrap_or(rest.len());
    let length = (place.span.end.max(start) - start).min(line);
    let first = rest.chars().next().map_or(0, char::len_utf8).min(line);
    start..start + length.max(first)
}
