//! Sources of other generators (ytt, Helm, envsubst) that are given in place of their output.

use std::ops::Range;

use crate::{
    finding::{Finding, Rule},
    source::{
        self, Content, Document, Node, Segment, SourceSpan,
        ytt::{YTT, Ytt, begins_with_ytt},
    },
};

/// The mark of ytt behind something else on its line.
const YTT_BEHIND: &str = " #@";
/// The same within a text.
const YTT_IN_TEXT: &str = "(@";
/// Tags of Helm, and of many other tools.
const BRACES: (&str, &str) = ("{{", "}}");
/// Most characters of an expression that are shown.
const SHOWN: usize = 40;
/// Most characters between a null and its expression: many aliases may stand for one null.
const WIDEST_GAP: usize = 1024;

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

/// Returns the finding about a file that cannot be read. It names the generator that should have read the file first.
/// If that is only a guess, the message of the parser stays and the guess is added.
pub(crate) fn name_generator(finding: Finding) -> Finding {
    let Some(place) = finding.place.clone() else {
        return finding;
    };
    if let Some(tag) = unreadable_tag(&place) {
        if is_of_helm(tag.text()) {
            return of_helm("this is a Helm template").at(tag);
        }
        return finding.help(
            "put the text with {{ }} in quotes; if another tool fills it in, give the output of that tool",
        );
    }
    let (start, line) = line_of(&place);
    if begins_with_ytt(line) || unquoted(line, YTT_BEHIND).is_some() {
        return of_ytt("this is a ytt template").at(place);
    }
    let text = &place.source.text;
    if holds_tag_of_helm(line) || may_be_helm_before(text, start) {
        return guessed(
            finding,
            "perhaps this is a Helm template: give the output of helm template",
            OUTPUT_OF_HELM,
        );
    }
    if place.source.ytt() == Ytt::AtLineStart {
        return guessed(
            finding,
            "perhaps this is a ytt template: give the output of ytt",
            OUTPUT_OF_YTT,
        );
    }
    match variable(line) {
        Some(variable) if finding.rule == Rule::Yaml => finding.help(format!(
            "put it in quotes; if envsubst fills in `{variable}`, give its output"
        )),
        _ => finding,
    }
}

/// Adds a guess, with an example of the cure, behind the help of a finding.
fn guessed(finding: Finding, guess: &str, example: &str) -> Finding {
    let help = match &finding.help {
        Some(help) => format!("{help}; {guess}, {example}"),
        None => format!("{guess}, {example}"),
    };
    finding.help(help)
}

/// Returns the finding about an object that its generator has not read: it has a null with an expression of ytt behind
/// it, or an invalid name.
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

/// Returns the start of the line of a place, and the line.
fn line_of(place: &SourceSpan) -> (usize, &str) {
    let text = &place.source.text;
    let at = place.span.start.min(text.len());
    let start = text.get(..at).and_then(|before| before.rfind('\n'));
    let start = start.map_or(0, |end| end + 1);
    let rest = text.get(start..).unwrap_or_default();
    (start, rest.lines().next().unwrap_or_default())
}

/// Returns the first position of a mark on a line, outside of quotes and comments. A quote begins only where a value
/// may.
fn unquoted(line: &str, mark: &str) -> Option<usize> {
    let (mut quote, mut is_escaped, mut may_begin) = (None, false, true);
    for (at, it) in line.char_indices() {
        let is_mark = || line.get(at..).is_some_and(|rest| rest.starts_with(mark));
        match quote {
            _ if is_escaped => is_escaped = false,
            Some('"') if it == '\\' => is_escaped = true,
            Some(open) if open == it => quote = None,
            None if is_mark() => return Some(at),
            None if may_begin && it == '#' => return None,
            None if may_begin && matches!(it, '"' | '\'') => quote = Some(it),
            _ => {}
        }
        // In single quotes, two of these are one.
        may_begin = it.is_whitespace() || matches!(it, '[' | '{' | ',' | ':' | '\'');
    }
    None
}

/// Returns the tag in braces that made a file unreadable: on the line of the error, or at the beginning of the file,
/// where such a tag is never YAML.
fn unreadable_tag(place: &SourceSpan) -> Option<SourceSpan> {
    let (start, line) = line_of(place);
    let here = unquoted(line, BRACES.0);
    let here = here.map(|at| (start + at, line.get(at..).unwrap_or_default()));
    let first_line = place.source.text.lines().next().unwrap_or_default();
    let begin = first_line.trim_start();
    let first = (first_line.len() - begin.len(), begin);
    let (at, tag) = here.or_else(|| begin.starts_with(BRACES.0).then_some(first))?;
    let length = tag
        .find(BRACES.1)
        .map_or(tag.len(), |end| end + BRACES.1.len());
    Some(SourceSpan {
        source: place.source.clone(),
        span: at..at + length,
    })
}

/// Returns true if the line before some byte is a tag of Helm: the parser refuses some only at the next line. It may be
/// a part of a text as well.
fn may_be_helm_before(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default().trim_end();
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.trim_start().starts_with(BRACES.0) && holds_tag_of_helm(line)
}

fn holds_tag_of_helm(line: &str) -> bool {
    let tag = line.find(BRACES.0).and_then(|at| line.get(at..));
    tag.is_some_and(is_of_helm)
}

/// Returns true if a tag in braces is one of Helm, by its beginning.
fn is_of_helm(tag: &str) -> bool {
    let inner = tag.trim_start_matches(BRACES.0);
    let inner = inner.trim_start_matches('-').trim_start();
    let word = inner.split(|it: char| !it.is_ascii_alphanumeric()).next();
    inner.starts_with(['.', '$', '(', '"'])
        || inner.starts_with("/*")
        || word.is_some_and(|word| OF_HELM.contains(&word))
}

fn null_of_ytt(document: &Document) -> Option<Finding> {
    // Most files have none.
    if document.source.ytt() == Ytt::Nowhere {
        return None;
    }
    let (at, place, ytt) = first_null_of_ytt(document, &document.root, &mut Vec::new())?;
    let what = format!(
        "{} is null: `{}` is ytt, which was not run",
        source::field_path(&at),
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

/// Returns the first null with ytt behind it, the place of its key (in a list, of the expression), and the expression.
fn first_null_of_ytt(
    document: &Document,
    node: &Node,
    at: &mut Vec<Segment>,
) -> Option<(Vec<Segment>, SourceSpan, SourceSpan)> {
    let mut below = |step: Segment, node: &Node, key: Option<&Range<usize>>| {
        at.push(step);
        let is_null = matches!(&node.content, Content::Scalar(value) if value.is_null());
        let found = if is_null {
            ytt_behind(document, node.span.end).map(|ytt| {
                let place = key.map_or_else(|| ytt.clone(), |key| document.place(key));
                (at.clone(), place, ytt)
            })
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

/// Returns the place of ytt behind some byte, with only blanks and ends of lists and objects before it.
fn ytt_behind(document: &Document, end: usize) -> Option<SourceSpan> {
    let text = &document.source.text;
    let gap = text.get(end..)?.bytes().take(WIDEST_GAP);
    let gap = gap.take_while(|it| matches!(it, b' ' | b'\t' | b',' | b']' | b'}'));
    let at = end + gap.count();
    let rest = text.get(at..).filter(|rest| rest.starts_with(YTT))?;
    let expression = rest.lines().next().unwrap_or_default().trim_end();
    Some(document.place(&(at..at + expression.len())))
}

/// Finds a name or label with a placeholder of a generator.
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

/// Returns the steps to the names in `inputsFrom`.
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
    let name = source::field_path(at);
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

/// Returns the first part of a text from one mark to another.
fn between<'a>(text: &'a str, (open, close): (&str, &str)) -> Option<&'a str> {
    let from = text.get(text.find(open)?..)?;
    from.get(..from.find(close)? + close.len())
}

/// Returns the first `${X}` of a text.
fn variable(text: &str) -> Option<&str> {
    let found = between(text, ("${", "}"))?;
    let first = found.trim_start_matches("${").chars().next()?;
    (first.is_ascii_alphabetic() || first == '_').then_some(found)
}
