//! Explanations of template problems, with advice.
//!
//! Diagnostics use the words of Cartographer, so that runbooks and alerts still match. This module explains them
//! to users, in conditions and in `cartouche validate`.

use crate::{
    diagnostic::{Diagnostic, DiagnosticKind, Segment, field_path},
    path::{PathError, SearchError, SyntaxError},
    roots::ROOTS,
    suggestion, syntax, tag,
    tag_error::{TagError, UnreadableField},
};

mod cures;

pub use cures::{beside_status, unescaped_dots};

/// Explanation of a problem for its author.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Explained {
    /// The problem, with the tag or path that it is about.
    pub text: String,
    /// The same in a word or two, for display beside its place.
    pub label: String,
    /// Advice for a correction.
    pub help: Option<String>,
}

fn explained(
    text: impl Into<String>,
    label: impl Into<String>,
    help: impl Into<String>,
) -> Explained {
    Explained {
        text: text.into(),
        label: label.into(),
        help: Some(help.into()),
    }
}

/// Explains a diagnostic.
#[must_use]
pub fn explain(diagnostic: &Diagnostic) -> Explained {
    let tag = diagnostic.tag.as_deref().unwrap_or_default();
    let what = format!("the tag $({tag})$");
    match &diagnostic.kind {
        DiagnosticKind::WholeValue { error, .. } | DiagnosticKind::InText(error)
            if let (Some(hint), true) = (&diagnostic.hint, has_no_value(diagnostic)) =>
        {
            let said = of_tag(&what, tag, error, "");
            Explained {
                help: Some(hint.clone()),
                ..said
            }
        }
        DiagnosticKind::WholeValue { error, .. } | DiagnosticKind::InText(error) => {
            of_tag(&what, tag, error, &diagnostic.message())
        }
        DiagnosticKind::NullInText(path) => explained(
            format!("{what} is null, and null cannot be part of a string"),
            "null",
            format!(
                "give it a value, or make the tag the whole value: $({path})$ alone becomes null"
            ),
        ),
        DiagnosticKind::Path {
            path,
            error: PathError::Syntax { .. },
        } if path.starts_with(tag::START) => of_tag_for_path(path),
        DiagnosticKind::Path { path, error } => of_path(
            &format!("the path '{path}'"),
            path,
            error,
            &error.to_string(),
        ),
        kind => of_field(diagnostic, kind),
    }
}

/// Returns true if a tag leads to no value.
#[must_use]
pub fn has_no_value(diagnostic: &Diagnostic) -> bool {
    matches!(
        &diagnostic.kind,
        DiagnosticKind::WholeValue { error, .. } | DiagnosticKind::InText(error)
            if matches!(error, TagError::Path(PathError::Missing(_)))
    )
}

fn of_tag(what: &str, path: &str, error: &TagError, said: &str) -> Explained {
    match error {
        TagError::Path(error) => of_path(what, path, error, said),
        TagError::UnknownRoot { root, .. } => {
            let help = match suggestion::nearest(root, ROOTS) {
                Some(meant) => format!("did you mean '{meant}'?"),
                None if root == "inputs" => "inputs are at runnable.spec.inputs".to_owned(),
                None if ["metadata", "spec"].contains(&root.as_str()) => {
                    format!("did you mean 'runnable.{root}'?")
                }
                None => format!(
                    "a tag reads runnable, run, profile.values or, with a selector, selected; for text that is not a tag, write {} instead of $(",
                    syntax::ESCAPE
                ),
            };
            explained(
                format!("{what} begins with '{root}', which does not exist"),
                "not known",
                help,
            )
        }
        TagError::UnreadableField(
            UnreadableField::WhenToRun(_) | UnreadableField::Annotation(_),
        ) => explained(
            format!("{what} must not be read"),
            "this says when or how to run, not what to run",
            "use an input of its own",
        ),
        TagError::UnreadableField(UnreadableField::InputsFrom) => explained(
            format!("{what} must not be read"),
            "this is the origin of a value, not the value",
            "read runnable.spec.inputs.<name>",
        ),
        TagError::UnreadableField(UnreadableField::OutputsTo) => explained(
            format!("{what} must not be read"),
            "this says where outputs go, not what to run",
            "use an input of its own",
        ),
        TagError::UnreadableField(UnreadableField::Status | UnreadableField::Volatile { .. }) => {
            explained(
                format!("{what} must not be read"),
                "changes with every run, so that a run would cause the next one",
                "read spec, labels or annotations instead",
            )
        }
        TagError::Open(error) => {
            let (label, help) = error.advice();
            explained(format!("{what}: {error}"), label, help)
        }
        TagError::TooLarge | TagError::TooHeavy => explained(
            format!("with {what}, {error}"),
            "too large with this",
            "give fewer or smaller inputs, or let the run read large data from a ConfigMap or an artifact",
        ),
    }
}

/// Repeats a message that needs no other text.
fn as_said(what: &str, said: &str) -> Explained {
    Explained {
        text: format!("{what}: {said}"),
        label: "here".to_owned(),
        help: None,
    }
}

fn of_path(what: &str, path: &str, error: &PathError, said: &str) -> Explained {
    match error {
        PathError::Empty => explained(
            format!("{what} is empty"),
            "no path here",
            "write a path between the markers, such as $(runnable.metadata.name)$ or, for an output, .status.phase",
        ),
        PathError::Syntax { error, .. } => of_syntax(what, error),
        PathError::Missing(_) => of_missing(what, path),
        PathError::TooMany(_) => explained(
            format!("{what} leads to several values"),
            "more than one value",
            "make it lead to exactly one: an index such as [0], or a filter that fits once",
        ),
        PathError::ManyQueries { .. } => explained(
            format!("{what} has text after its closing brace"),
            "one path only",
            "a path has one pair of braces around all of it, or none",
        ),
        PathError::Find(error) => of_search(what, error, said),
        PathError::TooLong(_) | PathError::Exhausted(_) => as_said(what, said),
    }
}

/// Explains a tag in place of a path, in an output or a health rule.
fn of_tag_for_path(path: &str) -> Explained {
    let inner = path.strip_prefix(tag::START).unwrap_or_default();
    let inner = inner.trim_end_matches(['$', ')', '.']);
    let help = if inner.starts_with('.') {
        format!("write a path here and no tag: {inner}")
    } else {
        "write a path in the run here and no tag, for example .metadata.name".to_owned()
    };
    explained(format!("'{path}' is a tag"), "no tag here", help)
}

/// Explains a path that cannot be parsed.
fn of_syntax(what: &str, error: &SyntaxError) -> Explained {
    let with_dots;
    let help = match error {
        SyntaxError::Index(text) if text.starts_with('"') && text.contains('.') => {
            let name = syntax::escape_name(text.trim_matches('"'));
            with_dots = format!("a name with dots is written without brackets: .{name}");
            &with_dots
        }
        SyntaxError::OpenFilter => "a filter ends with )]: [?(@.name==\"x\")]",
        SyntaxError::FilterWithoutBracket => "a filter ends with )] at once: [?(@.name==\"x\")]",
        SyntaxError::OpenBracket => "close the bracket: [0] or ['name']",
        SyntaxError::Index(text) if text.starts_with('"') => {
            "put names in brackets in 'single quotes'"
        }
        SyntaxError::Index(_) => {
            "write a number, a name in 'single quotes', or a filter in the brackets, such as [?(@.name==\"x\")]"
        }
        SyntaxError::OpenQuote | SyntaxError::Quoted(_) => "close the quotes",
        SyntaxError::Character('{') => {
            "one pair of braces around the whole path is enough, or none"
        }
        SyntaxError::Character('(') => {
            "a filter has brackets around its parentheses: [?(@.name==\"x\")]"
        }
        SyntaxError::Character('|') => "there are no functions or pipes in paths",
        SyntaxError::Character(_)
        | SyntaxError::Unclosed
        | SyntaxError::TooDeep
        | SyntaxError::Descent
        | SyntaxError::Number(_)
        | SyntaxError::IndexNumber(_) => {
            "a path is made of names, [0] and [?(@.name==\"x\")]; a dot in a name is written \\."
        }
    };
    explained(
        format!("{what} cannot be read: {error}"),
        "not a path",
        help,
    )
}

fn of_missing(what: &str, path: &str) -> Explained {
    let help = unescaped_dots(path, None).unwrap_or_else(|| {
        let steps = syntax::steps(path);
        let help = if syntax::below(&steps, &["selected", "status"]).is_some() {
            "look for a misspelt name in the path, or wait until the selected object has it"
        } else if syntax::below(&steps, &["selected"]).is_some() {
            "look for a misspelt name in the path; `selected` needs a selector in the Runnable"
        } else {
            "look for a misspelt name in the path, or give it a value"
        };
        help.to_owned()
    });
    explained(
        format!("{what} leads to no value"),
        "nothing is there",
        help,
    )
}

/// Explains a path that can be parsed, but not followed.
fn of_search(what: &str, error: &SearchError, said: &str) -> Explained {
    match error {
        SearchError::Word(word) => explained(
            format!("{what} has a space where none may be"),
            "a space",
            format!("there must be no space before '{word}': spaces are only allowed at the end"),
        ),
        SearchError::NoText(word) => explained(
            format!("{what} compares with {word}, which has no quotes"),
            "no quotes",
            format!("put a text to compare with in quotes: \"{word}\""),
        ),
        SearchError::Operator(operator) => explained(
            format!("{what} compares with '{operator}'"),
            "unknown comparison",
            "filters compare with == != < <= > >=",
        ),
        SearchError::OutOfBounds { index, length } => explained(
            format!("{what} goes beyond the list: index {index}, length {length}"),
            "beyond the end",
            "use an existing position; [-1] is the last element",
        ),
        SearchError::NotAnArray { kind, .. } => explained(
            format!("{what} takes an element of a {kind}, which is no list"),
            "not an array",
            "brackets with a number or a filter are for lists; names are written .name",
        ),
        SearchError::Backwards { .. }
        | SearchError::Step
        | SearchError::Several
        | SearchError::Comparison(_) => as_said(what, said),
    }
}

fn of_field(diagnostic: &Diagnostic, kind: &DiagnosticKind) -> Explained {
    let path = diagnostic.path();
    if let Some(said) = of_schema(diagnostic, kind, &path) {
        return said;
    }
    match kind {
        DiagnosticKind::Namespace => explained(
            "a template cannot set metadata.namespace",
            "runs are in the namespace of their Runnable",
            "remove this line",
        ),
        DiagnosticKind::NoName => explained(
            "the runs have no name",
            "generateName is missing here",
            "add generateName: $(runnable.metadata.name)$-",
        ),
        DiagnosticKind::OwnKind(_) => explained(
            kind.to_string(),
            "a Runnable that makes Runnables could go on for ever",
            "make the object that does the work: a Job, a Pod, a TaskRun, a Workflow",
        ),
        DiagnosticKind::NoKind { field, is_pod } => explained(
            format!("the template has no {field}"),
            "say here what kind of object to create",
            if *is_pod {
                "this is a pod: write apiVersion: v1 and kind: Pod, or put it below spec.template of a Job"
            } else {
                "add, for example, apiVersion: batch/v1 and kind: Job"
            },
        ),
        _ if path.is_empty() => Explained {
            text: diagnostic.message(),
            ..Explained::default()
        },
        _ => Explained {
            text: format!("{path}: {kind}"),
            label: "here".to_owned(),
            help: kind
                .cure()
                .or_else(|| default_help(kind).map(str::to_owned)),
        },
    }
}

/// Explains a keyword that no schema has, or a property that a schema does not declare.
fn of_schema(diagnostic: &Diagnostic, kind: &DiagnosticKind, path: &str) -> Option<Explained> {
    let nearest_or = |name: &str, known: &[&str], otherwise: String| {
        suggestion::nearest(name, known.iter().copied())
            .map_or(otherwise, |meant| format!("did you mean '{meant}'?"))
    };
    match kind {
        DiagnosticKind::UnknownKeyword { known } => {
            let (last, parent) = diagnostic.at.split_last()?;
            let Segment::Key(keyword) = last else {
                return None;
            };
            let parent = field_path(parent);
            Some(explained(
                format!("{parent}: there is no keyword '{keyword}' in a schema"),
                "not known",
                nearest_or(
                    keyword,
                    known,
                    format!("the keywords are: {}", listed(known)),
                ),
            ))
        }
        DiagnosticKind::UnknownType { name, known } => Some(explained(
            format!("{path}: there is no type '{name}'"),
            "no such type",
            nearest_or(name, known, format!("the types are: {}", listed(known))),
        )),
        DiagnosticKind::UnknownProperty { name, known } => {
            let names: Vec<&str> = known.iter().map(String::as_str).collect();
            let listed = listed(known);
            Some(explained(
                format!("{path}: there is no property '{name}' beside it"),
                "not declared",
                nearest_or(
                    name,
                    &names,
                    format!("declare '{name}' under properties; there are: {listed}"),
                ),
            ))
        }
        _ => None,
    }
}

/// Returns advice for kinds without advice of their own.
fn default_help(kind: &DiagnosticKind) -> Option<&'static str> {
    match kind {
        DiagnosticKind::NotOneRule => Some("keep one of them and remove the others"),
        DiagnosticKind::NothingMatched => Some("say which condition or which field decides"),
        DiagnosticKind::NoValues(_) => Some("add values: [...], or use Exists or DoesNotExist"),
        DiagnosticKind::Limit(_) => {
            Some("make it smaller: large texts are better kept in a ConfigMap that the run mounts")
        }
        _ => None,
    }
}

/// Lists some names of a list that may be long.
fn listed(names: &[impl AsRef<str>]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests;
