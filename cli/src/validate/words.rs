//! What problems of templates mean, in words that say what to do.
//!
//! The engine speaks as Cartographer does, so that runbooks and alerts still match. Here the same is
//! said to somebody who has the file open.

use cartouche_templating::{Problem, syntax};

use crate::nearest;

/// A problem for its author.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) message: String,
    pub(crate) label: String,
    pub(crate) help: Option<String>,
}

fn words(message: impl Into<String>, label: impl Into<String>, help: impl Into<String>) -> Words {
    Words {
        message: message.into(),
        label: label.into(),
        help: Some(help.into()),
    }
}

/// The roots of paths in tags.
const ROOTS: [&str; 2] = ["runnable", "selected"];

/// Translates a problem.
pub(crate) fn of(problem: &Problem) -> Words {
    let message = problem.message.as_str();
    match &problem.tag {
        Some(tag) => of_path(&format!("the tag $({tag})$"), tag, message),
        None => match message.split_once("failed to evaluate path [") {
            Some((_, rest)) => {
                let (path, reason) = rest.split_once("]: ").unwrap_or((rest, ""));
                of_path(&format!("the path '{path}'"), path, reason)
            }
            None => of_field(problem),
        },
    }
}

fn of_path(what: &str, path: &str, reason: &str) -> Words {
    let after = |marker: &str| reason.split_once(marker).map(|(_, rest)| rest);
    if reason.contains("empty jsonpath not allowed") {
        let help = "write a path between the markers, such as $(runnable.metadata.name)$ or, for an output, .status.phase";
        return words(format!("{what} is empty"), "no path here", help);
    }
    if let Some(unknown) = after("a tag reads runnable or selected, not '") {
        let unknown = unknown.trim_end_matches('\'');
        let help = match nearest::nearest(unknown, ROOTS) {
            Some(meant) => format!("did you mean '{meant}'?"),
            None if unknown == "inputs" => "inputs are at runnable.spec.inputs".to_owned(),
            None => "a tag reads runnable or, with a selector, selected; text that is no tag is written $('...')$".to_owned(),
        };
        return words(
            format!("{what} begins with '{unknown}', which does not exist"),
            "not known",
            help,
        );
    }
    if reason.contains("runnable.spec.suspend is not readable") {
        let help = "use an input of its own";
        let label = "suspending and resuming is no change of what is run";
        return words(format!("{what} must not be read"), label, help);
    }
    if reason.contains(" is not readable, because") {
        let help = "read spec, labels or annotations instead";
        let label = "changes with every run, so that a run would cause the next one";
        return words(format!("{what} must not be read"), label, help);
    }
    if reason.contains("tag must not point to nil value") {
        let help = format!(
            "give it a value, or make the tag the whole value: $({path})$ alone becomes null"
        );
        return words(
            format!("{what} is null, and null cannot be part of a text"),
            "null",
            help,
        );
    }
    if let Some(syntax) = after("failed to parse jsonpath '") {
        return of_syntax(
            what,
            syntax
                .split_once("': ")
                .map_or(syntax, |(_, reason)| reason),
        );
    }
    of_search(what, path, reason)
}

/// A path that cannot be read.
fn of_syntax(what: &str, reason: &str) -> Words {
    let help = match reason {
        _ if reason.contains("unterminated filter") => "a filter ends with )]: [?(@.name==\"x\")]",
        _ if reason.contains("unclosed array") => {
            "a filter ends with )] at once: [?(@.name==\"x\")]"
        }
        _ if reason.contains("unterminated array") => "close the bracket: [0] or ['name']",
        _ if reason.contains("invalid array index \"") => {
            "names in brackets stand in 'single quotes'"
        }
        _ if reason.contains("invalid array index") => {
            "in brackets stands a number, a name in 'single quotes', or a filter such as [?(@.name==\"x\")]"
        }
        _ if reason.contains("unterminated quoted string") || reason.contains("unquote string") => {
            "close the quotes"
        }
        _ if reason.contains("U+007B") => {
            "one pair of braces around the whole path is enough, or none"
        }
        _ if reason.contains("U+0028") => {
            "a filter has brackets around its parentheses: [?(@.name==\"x\")]"
        }
        _ if reason.contains("U+007C") => "there are no functions or pipes in paths",
        _ => "a path is made of names, [0] and [?(@.name==\"x\")]; a dot in a name is written \\.",
    };
    words(
        format!("{what} cannot be read: {reason}"),
        "not a path",
        help,
    )
}

/// What to write where a name has dots that end it.
pub(super) fn unescaped_dots(path: &str) -> Option<String> {
    let meant = syntax::with_escaped_dots(path)?;
    Some(format!(
        "a dot ends a name, in brackets too; within a name it is written \\.: {meant}"
    ))
}

/// A path that can be read, but leads to no value, or to several.
fn of_search(what: &str, path: &str, reason: &str) -> Words {
    let after = |marker: &str| reason.split_once(marker).map(|(_, rest)| rest);
    if reason.contains("jsonpath returned empty list") {
        let unescaped = unescaped_dots(path);
        let help = if let Some(help) = &unescaped {
            help
        } else if path.starts_with("selected.status") {
            "look for a misspelt name in the path; if the file lacks the status, give the object as it is on a cluster: kubectl get -o yaml"
        } else if path.starts_with("selected") {
            "look for a misspelt name in the path; `selected` needs a selector in the Runnable"
        } else {
            "look for a misspelt name in the path, or give it a value"
        };
        return words(
            format!("{what} leads to no value"),
            "nothing is there",
            help,
        );
    }
    if reason.contains("too many results for the query") {
        let help = "make it lead to exactly one: an index such as [0], or a filter that fits once";
        return words(
            format!("{what} leads to several values"),
            "more than one value",
            help,
        );
    }
    if let Some(word) = after("unrecognized identifier ") {
        let help =
            format!("there must be no blank before '{word}': blanks may only stand at the end");
        return words(
            format!("{what} has a blank where none may be"),
            "a blank",
            help,
        );
    }
    if let Some(operator) = after("unrecognized filter operator ") {
        let help = "filters compare with == != < <= > >=";
        return words(
            format!("{what} compares with '{operator}'"),
            "unknown comparison",
            help,
        );
    }
    if let Some(bounds) = after("array index out of bounds: ") {
        let help = "use a position that is there; [-1] is the last element";
        return words(
            format!("{what} goes beyond the list: {bounds}"),
            "beyond the end",
            help,
        );
    }
    if let Some(kind) =
        after("failed to find results: ").and_then(|rest| rest.split_once(" is not array or slice"))
    {
        let help = "brackets with a number or a filter are for lists; names are written .name";
        let message = format!("{what} takes an element of a {}, which is no list", kind.0);
        return words(message, "not a list", help);
    }
    if reason.contains("more queries than expected") {
        let help = "a path has one pair of braces around all of it, or none";
        return words(
            format!("{what} has text after its closing brace"),
            "one path only",
            help,
        );
    }
    Words {
        message: format!("{what}: {reason}"),
        label: "here".to_owned(),
        help: None,
    }
}

fn of_field(problem: &Problem) -> Words {
    let message = problem.message.as_str();
    let path = problem.path.as_str();
    match path {
        "metadata.namespace" => words(
            "a template cannot set metadata.namespace",
            "runs are in the namespace of their Runnable",
            "take this line out",
        ),
        "metadata" if message.contains("generateName") => words(
            "the runs have no name",
            "generateName is missing here",
            "add generateName: $(runnable.metadata.name)$-",
        ),
        "kind" if message.contains("a run cannot be") => words(
            message,
            "a Runnable that makes Runnables could go on for ever",
            "make the object that does the work: a Job, a Pod, a TaskRun, a Workflow",
        ),
        "apiVersion" | "kind" => words(
            format!("the template has no {path}"),
            "say here what kind of object to create",
            "add, for example, apiVersion: batch/v1 and kind: Job",
        ),
        path if path.starts_with("inputSchema")
            && message.starts_with("there is no such keyword") =>
        {
            of_keyword(path, message)
        }
        path if path.ends_with(".required") && message.starts_with("there is no property") => {
            of_required(path, message)
        }
        path if path.starts_with("inputSchema") && message.starts_with("there is no type") => {
            of_type(path, message)
        }
        "" => Words {
            message: message.to_owned(),
            ..Words::default()
        },
        _ => {
            let (message, help) = message.split_once(": ").unwrap_or((message, ""));
            Words {
                message: format!("{path}: {message}"),
                label: "here".to_owned(),
                help: Some(help)
                    .filter(|help| !help.is_empty())
                    .or_else(|| default_help(message))
                    .map(str::to_owned),
            }
        }
    }
}

/// A keyword that no schema has.
fn of_keyword(path: &str, message: &str) -> Words {
    let (parent, keyword) = path.rsplit_once('.').unwrap_or(("", path));
    let known = message.split_once("it has ").map_or("", |(_, known)| known);
    let help = nearest::nearest(keyword, known.split(", ")).map_or_else(
        || format!("the keywords are: {known}"),
        |meant| format!("did you mean '{meant}'?"),
    );
    words(
        format!("{parent}: there is no keyword '{keyword}' in a schema"),
        "not known",
        help,
    )
}

/// A type that no schema has.
fn of_type(path: &str, message: &str) -> Words {
    let (message, known) = message
        .split_once(": it has to be one of ")
        .unwrap_or((message, ""));
    let name = message.split('\'').nth(1).unwrap_or_default();
    let help = nearest::nearest(name, known.split(", ")).map_or_else(
        || format!("the types are: {known}"),
        |meant| format!("did you mean '{meant}'?"),
    );
    words(format!("{path}: {message}"), "no such type", help)
}

/// A required name that is no property.
fn of_required(path: &str, message: &str) -> Words {
    let (message, known) = message
        .split_once(": the properties are ")
        .unwrap_or((message, ""));
    let name = message.split('\'').nth(1).unwrap_or_default();
    let help = nearest::nearest(name, known.split(", ")).map_or_else(
        || format!("declare '{name}' under properties; there are: {known}"),
        |meant| format!("did you mean '{meant}'?"),
    );
    words(format!("{path}: {message}"), "not declared", help)
}

/// What to do about a message that does not say it.
fn default_help(message: &str) -> Option<&'static str> {
    if message.contains("exactly one of") {
        Some("keep one of them and take the others away")
    } else if message.contains("at least one of matchConditions") {
        Some("say which condition or which field decides")
    } else if message.contains("needs at least one value") {
        Some("add values: [...], or use Exists or DoesNotExist")
    } else if message.contains("more than") {
        Some("make it smaller: large texts are better kept in a ConfigMap that the run mounts")
    } else {
        None
    }
}
