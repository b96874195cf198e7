use std::ffi::OsString;

use super::*;
use crate::command_line;

fn place(words: &[&str]) -> (Option<String>, Option<String>) {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let place = names::place(&words);
    (place.namespace, place.context)
}

#[test]
fn the_typed_words_say_where_to_look() {
    let namespace = |name: &str| (Some(name.to_owned()), None);
    assert_eq!(
        place(&["cartouche", "why", "-n", "shop", ""]),
        namespace("shop")
    );
    assert_eq!(
        place(&["cartouche", "why", "-nshop", ""]),
        namespace("shop")
    );
    assert_eq!(
        place(&["cartouche", "why", "--namespace=shop"]),
        namespace("shop")
    );
    let both = place(&[
        "cartouche",
        "--context",
        "east",
        "why",
        "--namespace",
        "shop",
    ]);
    assert_eq!(both, (Some("shop".to_owned()), Some("east".to_owned())));
    assert_eq!(place(&["cartouche", "why", "-n"]), (None, None));
    assert_eq!(place(&["cartouche", "why", "-n", ""]), (None, None));
}

#[test]
fn only_what_comes_after_the_dashes_is_typed() {
    let arguments = ["cartouche", "--", "cartouche", "why"].map(OsString::from);
    assert_eq!(words(&arguments), ["cartouche", "why"]);
    assert!(words(&arguments[..1]).is_empty());
}

/// Returns the commands, with their arguments that are completed from the cluster.
fn completed() -> Vec<(String, Vec<String>)> {
    let command = command_line::build("cartouche");
    let named = command.get_subcommands().map(|subcommand| {
        let args = subcommand
            .get_arguments()
            .filter(|arg| meant_by(arg).is_some());
        let ids = args.map(|arg| arg.get_id().to_string()).collect();
        (subcommand.get_name().to_owned(), ids)
    });
    named.collect()
}

#[test]
fn every_command_that_takes_a_runnable_completes_it() {
    let completed = completed();
    let ids = |command: &str| {
        let found = completed.iter().find(|(name, _)| name == command);
        found.map(|(_, ids)| ids.clone()).unwrap_or_default()
    };
    for command in [
        "get", "why", "history", "tree", "graph", "outputs", "wait", "diff", "approve", "rerun",
        "suspend", "resume", "cancel", "logs",
    ] {
        let ids = ids(command);
        let is_there = |wanted: &str| ids.iter().any(|id| id == wanted);
        assert!(is_there("name") || is_there("names"), "{command}: {ids:?}");
        assert!(is_there("namespace"), "{command}: {ids:?}");
    }
    assert_eq!(ids("explain"), ["template", "namespace"]);
    assert_eq!(
        ids("rbac"),
        ["templates", "runnables", "account", "namespace"]
    );
}
