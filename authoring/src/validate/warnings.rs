//! Warnings of the engine about a template or a profile, at their places.

use std::ops::Range;

use cartouche_engines::kinds::has_tags_of_tekton;
use cartouche_language::{
    Consequence, Unmet, Warning, WarningKind, foreign_tag,
    syntax::{self, ESCAPE, UnclosedTag},
};

use serde_json::Value;

use super::shape;
use crate::{
    finding::{Finding, Rule},
    source::{Document, SourceSpan},
    template_file,
};

/// Finds tags without an end. The engine leaves them in the text, as Cartographer does, which is a mistake of the
/// author.
pub(super) fn find_unclosed(document: &Document, warnings: &[Warning]) -> Vec<Finding> {
    let find = |text: &str| {
        let tags = syntax::unclosed_tags(text).into_iter();
        let placed = tags.map(|UnclosedTag { path, span }| (path, span));
        placed.collect::<Vec<_>>()
    };
    let texts = warnings.iter();
    let texts = texts.filter(|warning| warning.kind == WarningKind::UnclosedTag);
    let tags = texts.flat_map(|warning| template_file::in_text(document, warning, find));
    let findings = tags.map(|(path, place)| {
        let close = match syntax::whole_steps(&path) {
            Some(_) => format!("write $({path})$"),
            None => "close it with )$".to_owned(),
        };
        Finding::error(Rule::Tag, format!("the tag $({path} is not closed"))
            .at(place)
            .label("tags end with )$")
            .help(format!("{close}; text that is no tag is written $('...')$"))
    });
    findings.collect()
}

/// Returns the findings about templates that work, but hardly as the author expects.
pub(super) fn surprises(document: &Document, warnings: &[Warning]) -> Vec<Finding> {
    let findings = warnings.iter().flat_map(|warning| {
        let help = match &warning.kind {
            // An error reports it.
            WarningKind::UnclosedTag => return Vec::new(),
            WarningKind::LeftAlone(_) => return left_alone(document, warning),
            WarningKind::Unmet(it) => return vec![unmet(document, warning, it)],
            WarningKind::FixedName => "use generateName instead of name",
            WarningKind::ForeignTag(cure) => cure
                .as_deref()
                .unwrap_or("write the tag that reads it, such as $(runnable.spec.inputs.NAME)$"),
            WarningKind::TagInKey => "write the key as it is to be: only values can hold tags",
            WarningKind::NoTimeout => {
                "give spec.runner.timeout, or \"0s\" if there is no limit and no such runner"
            }
            WarningKind::NoLabels => "put every value in quotes, or remove it",
            WarningKind::Removed | WarningKind::Overwritten(_) | WarningKind::OutputsOfSecret => {
                "remove it from the template"
            }
        };
        vec![surprise(document, warning, help)]
    });
    findings.collect()
}

/// Returns the finding about a healthRule, or a missing one, by which no run is ever judged.
fn unmet(document: &Document, warning: &Warning, unmet: &Unmet) -> Finding {
    let finding: fn(Rule, String) -> Finding = match unmet.so {
        Consequence::NeverReady => Finding::error,
        Consequence::NeverMatches => Finding::warning,
    };
    let root = template_file::node_of(document, warning.root);
    finding(Rule::HealthRule, unmet.what.clone())
        .at(shape::place(document, root, &warning.at, false))
        .label(unmet.so.to_string())
        .help(unmet.cure.clone())
}

fn surprise(document: &Document, warning: &Warning, help: &str) -> Finding {
    let text = match &warning.kind {
        WarningKind::ForeignTag(_) => WarningKind::ForeignTag(None).to_string(),
        WarningKind::TagInKey => warning.kind.to_string(),
        _ => warning.to_string(),
    };
    let root = template_file::node_of(document, warning.root);
    let place = shape::place(document, root, &warning.at, true);
    Finding::warning(Rule::Surprise, text).at(place).help(help)
}

/// Returns findings about texts with the markers of a tag that are none, each at its place.
fn left_alone(document: &Document, warning: &Warning) -> Vec<Finding> {
    let find = |text: &str| {
        let shown = |span: Range<usize>| (syntax::in_short(&text[span.clone()]), span);
        let found = syntax::left_alone(text).into_iter().map(shown);
        found.collect::<Vec<_>>()
    };
    let texts = template_file::in_text(document, warning, find);
    let version = document.value.pointer("/spec/template/apiVersion");
    let version = version.and_then(Value::as_str).unwrap_or_default();
    // It has tags of its own.
    let is_of_tekton = has_tags_of_tekton(version);
    let finding = |(text, place): (String, SourceSpan)| {
        let message = format!("{text} is not a tag and is not replaced");
        let begin = "a tag begins with runnable, selected, run or profile";
        let help = match foreign_tag::translate(&text).filter(|_| !is_of_tekton) {
            Some(tag) => {
                format!("did you mean {tag}? {begin}; if it is text, write {ESCAPE} for its $(")
            }
            None => {
                format!("if it is text, write {ESCAPE} for its $(: the run is the same; {begin}")
            }
        };
        Finding::warning(Rule::Surprise, message)
            .at(place)
            .label("this is not the path of a tag")
            .help(help)
    };
    texts.into_iter().map(finding).collect()
}
