//! Sources of other generators (ytt, Helm, envsubst) where what these make of them was to be given.

use std::ops::Range;

use crate::{
    finding::{Finding, Rule},
    source::{self, Content, Document, Node, Segment, SourceSpan},
};

/// What ytt reads begins so. For YAML it is a comment.
const YTT: &str = "#@";
/// The same within a text.
const YTT_IN_TEXT: &str = "(@";
/// Tags of Helm, and of many other tools.
const BRACES: (&str, &str) = ("{{", "}}");
/// So many characters of an expression are shown, at most.
const SHOWN: usize = 40;

const OUTPUT_OF_YTT: &str = "for example: ytt -f FOLDER | cartouche validate -";
const OUTPUT_OF_HELM: &str = "for example: helm template CHART | cartouche validate -";
const OUTPUT_OF_ENVSUBST: &str =
    "for example: envsubst < FILE | cartouche validate -; of Flux: flux build kustomization";

/// Words that tags of Helm begin with, and those of hardly another tool.
const OF_HELM: [&str; 23] = [
    "and", "block", "coalesce", "default", "define", "else", "end", "fail", "if", "include",
    "lookup", "not", "or", "printf", "quote", "range", "required", "template", "toJson",
    "toString", "toYaml", "tpl", "with",
];

/// What is said of a file that cannot be read: if a generator was to read it first, that.
pub(crate) fn explained(finding: Finding) -> Finding {
    let Some(place) = finding.place.clone() else {
        return finding;
    };
    if let Some(tag) = braces_near(&place) {
        if is_of_helm(tag.text()) {
            return of_helm("this is a Helm template").at(tag);
        }
        return finding.help(
            "put the text with {{ }} in quotes; if another tool fills it in, give the output of that tool",
        );
    }
    if place.source.text.lines().any(begins_with_ytt) {
        return of_ytt("this is a ytt template").at(place);
    }
    let (_, line) = line_of(&place);
    match variable(line) {
        Some(variable) if finding.rule == Rule::Yaml => finding.help(format!(
            "put it in quotes; if envsubst fills in `{variable}`, give its output"
        )),
        _ => finding,
    }
}

/// What shows that an object is as its generator was to read it: a null with an expression of ytt behind it, or a name that
/// is none.
pub(crate) fn check(document: &Document) -> Option<Finding> {
    null_of_ytt(document).or_else(|| name_of_generator(document))
}

fn of_ytt(what: &str) -> Finding {
    Finding::error(Rule::Manifest, format!("{what}: give the output of ytt")).help(OUTPUT_OF_YTT)
}

fn of_helm(what: &str) -> Finding {
    let message = format!("{what}: give the output of helm template");
    Finding::error(Rule::Manifest, message).help(OUTPUT_OF_HELM)
}

fn begins_with_ytt(line: &str) -> bool {
    line.trim_start().starts_with(YTT)
}

/// Where the line of a place begins, and the line.
fn line_of(place: &SourceSpan) -> (usize, &str) {
    let text = &place.source.text;
    let at = place.span.start.min(text.len());
    let start = text.get(..at).and_then(|before| before.rfind('\n'));
    let start = start.map_or(0, |end| end + 1);
    let rest = text.get(start..).unwrap_or_default();
    (start, rest.lines().next().unwrap_or_default())
}

/// The tag in braces that made a file unreadable: on the line where it cannot be read, or on the one before, of which the
/// parser knows only at the next one that it was none.
fn braces_near(place: &SourceSpan) -> Option<SourceSpan> {
    let (start, line) = line_of(place);
    let before = place.source.text.get(..start).unwrap_or_default();
    let before = before.trim_end();
    let last = before.rfind('\n').map_or(0, |end| end + 1);
    let last_line = before.get(last..).unwrap_or_default();
    let first_line = place.source.text.lines().next().unwrap_or_default();
    let stands_alone = |line: &str| line.trim_start().starts_with(BRACES.0);
    let found = [
        (start, line, true),
        (last, last_line, stands_alone(last_line)),
        (0, first_line, stands_alone(first_line)),
    ];
    let (start, line, _) = found
        .into_iter()
        .find(|(_, line, may)| *may && line.contains(BRACES.0))?;
    let at = line.find(BRACES.0)?;
    let tag = line.get(at..).unwrap_or_default();
    let length = tag
        .find(BRACES.1)
        .map_or(tag.len(), |end| end + BRACES.1.len());
    Some(SourceSpan {
        source: place.source.clone(),
        span: start + at..start + at + length,
    })
}

/// Whether a tag in braces is one of Helm, by how it begins.
fn is_of_helm(tag: &str) -> bool {
    let inner = tag.trim_start_matches(BRACES.0);
    let inner = inner.trim_start_matches('-').trim_start();
    let word = inner.split(|it: char| !it.is_ascii_alphanumeric()).next();
    inner.starts_with(['.', '$', '(', '"'])
        || inner.starts_with("/*")
        || word.is_some_and(|word| OF_HELM.contains(&word))
}

fn null_of_ytt(document: &Document) -> Option<Finding> {
    let text = &document.source.text;
    // Most files have none.
    if !text.contains(YTT) {
        return None;
    }
    let (at, place, ytt) = first_null_of_ytt(document, &document.root, &mut Vec::new())?;
    let what = format!(
        "{} is null: `{}` is ytt, which was not run",
        source::shown(&at),
        shortened(ytt.text())
    );
    Some(of_ytt(&what).at(place).label("this has no value"))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The first null with ytt on its line, the place of its key (in a list, of the expression), and the expression.
fn first_null_of_ytt(
    document: &Document,
    node: &Node,
    at: &mut Vec<Segment>,
) -> Option<(Vec<Segment>, SourceSpan, SourceSpan)> {
    let mut below = |step: Segment, node: &Node, key: Option<&Range<usize>>| {
        at.push(step);
        let is_null = matches!(&node.content, Content::Scalar(value) if value.is_null());
        let found = if is_null {
            let place = document.place(key.unwrap_or(&node.span));
            let ytt = ytt_beside(&place);
            ytt.map(|ytt| (at.clone(), key.map_or(ytt.clone(), |_| place), ytt))
        } else {
            first_null_of_ytt(document, node, at)
        };
        at.pop();
        found
    };
    match &node.content {
        Content::Scalar(_) => None,
        Content::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(index, item)| below(Segment::Index(index), item, None))
        }
        Content::Object(entries) => entries.iter().find_map(|entry| {
            let step = entry.key.as_str().into();
            below(step, &entry.value, Some(&entry.key_span))
        }),
    }
}

/// Where ytt stands on the line of a place.
fn ytt_beside(place: &SourceSpan) -> Option<SourceSpan> {
    let (start, line) = line_of(place);
    let at = line.find(YTT)?;
    Some(SourceSpan {
        source: place.source.clone(),
        span: start + at..start + line.trim_end().len(),
    })
}

/// A name or label that holds what a generator was to fill in.
fn name_of_generator(document: &Document) -> Option<Finding> {
    let mut names = Vec::new();
    for above in [&[][..], &["spec", "template"]] {
        let at = |keys: &[&'static str]| Segment::keys([above, keys].concat());
        names.extend(["name", "generateName", "namespace"].map(|key| at(&["metadata", key])));
        let labels = document.root.at(&[above, &["metadata", "labels"]].concat());
        for label in labels.map(Node::entries).unwrap_or_default() {
            let mut label_at = at(&["metadata", "labels"]);
            label_at.push(label.key.as_str().into());
            names.push(label_at);
        }
    }
    names.push(Segment::keys(["spec", "runTemplateRef", "name"]));
    names.push(Segment::keys(["spec", "serviceAccountName"]));
    names.extend(names_of_sources(document));
    names.iter().find_map(|at| unfilled(document, at))
}

/// The steps to the names in `inputsFrom`.
fn names_of_sources(document: &Document) -> Vec<Vec<Segment>> {
    let mut found = Vec::new();
    let sources = document.root.at(&["spec", "inputsFrom"]);
    for (index, source) in sources
        .map(Node::items)
        .unwrap_or_default()
        .iter()
        .enumerate()
    {
        for reference in source.entries() {
            let above = [
                "spec".into(),
                "inputsFrom".into(),
                Segment::Index(index),
                reference.key.as_str().into(),
            ];
            let name = |key: &str| [&above[..], &[key.into()]].concat();
            found.extend(["name", "namespace"].map(name));
        }
    }
    found
}

fn unfilled(document: &Document, at: &[Segment]) -> Option<Finding> {
    let (node, _, taken) = document.root.follow(at);
    let text = node.text().filter(|_| taken == at.len())?;
    let name = source::shown(at);
    let holds = |what: &str| format!("{name} holds `{}`", shortened(what));
    let finding = if let Some(tag) = between(text, BRACES) {
        if is_of_helm(tag) {
            of_helm(&format!("{}, as a Helm template does", holds(tag)))
        } else {
            let message = format!("{}, which another tool was to fill in", holds(tag));
            Finding::error(Rule::Manifest, message).help("give the output of that tool")
        }
    } else if let Some(expression) = between(text, (YTT_IN_TEXT, "@)")) {
        of_ytt(&format!("{}, and ytt was not run", holds(expression)))
    } else {
        let variable = variable(text)?;
        let message = format!(
            "{}, which was not filled in: give the output of envsubst",
            holds(variable)
        );
        Finding::error(Rule::Manifest, message).help(OUTPUT_OF_ENVSUBST)
    };
    Some(
        finding
            .at(document.place(&node.span))
            .label("this is no name"),
    )
}

/// The first part of a text from one mark to another.
fn between<'a>(text: &'a str, (open, close): (&str, &str)) -> Option<&'a str> {
    let from = text.get(text.find(open)?..)?;
    from.get(..from.find(close)? + close.len())
}

/// The first `${X}` of a text.
fn variable(text: &str) -> Option<&str> {
    let found = between(text, ("${", "}"))?;
    let first = found.trim_start_matches("${").chars().next()?;
    (first.is_ascii_alphabetic() || first == '_').then_some(found)
}
